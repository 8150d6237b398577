// Writes protobuf messages field by field: the wire format alone, without schemas or generated code.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace octet {

/// One message under construction. Fields are named by their number in the schema, from 1, and are written in the order
/// of the calls. Source: protobuf.dev, "Encoding".
class ProtobufMessage {
 public:
  /// int32, int64 and enum fields: negative values take ten bytes.
  void add_integer(int field, std::int64_t value);
  void add_double(int field, double value);
  void add_float(int field, float value);
  /// string and bytes fields.
  void add_text(int field, std::string_view text);
  void add_message(int field, const ProtobufMessage& message) { add_text(field, message.bytes_); }
  /// A packed `repeated double` field.
  void add_doubles(int field, std::span<const double> values);

  /// The encoded message.
  [[nodiscard]] std::string_view bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

}  // namespace octet
