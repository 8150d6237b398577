// Tags, varints and values in little-endian order.
#include "io/protobuf.h"

#include <bit>

namespace octet {
namespace {

static_assert(std::endian::native == std::endian::little, "values are written as they lie in memory");

enum class WireType : std::uint32_t { varint = 0, fixed64 = 1, length_delimited = 2, fixed32 = 5 };

/// Seven bits a byte, the lowest first; the eighth says that more follow.
void append_varint(std::string& bytes, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7U) bytes += static_cast<char>((value & 0x7FU) | 0x80U);
  bytes += static_cast<char>(value);
}

void append_tag(std::string& bytes, int field, WireType type) {
  append_varint(bytes, (static_cast<std::uint64_t>(field) << 3U) | static_cast<std::uint64_t>(type));
}

template <typename T>
void append_values(std::string& bytes, std::span<const T> values) {
  bytes.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
}

}  // namespace

void ProtobufMessage::add_integer(int field, std::int64_t value) {
  append_tag(bytes_, field, WireType::varint);
  append_varint(bytes_, static_cast<std::uint64_t>(value));
}

void ProtobufMessage::add_double(int field, double value) {
  append_tag(bytes_, field, WireType::fixed64);
  append_values(bytes_, std::span<const double>(&value, 1));
}

void ProtobufMessage::add_float(int field, float value) {
  append_tag(bytes_, field, WireType::fixed32);
  append_values(bytes_, std::span<const float>(&value, 1));
}

void ProtobufMessage::add_text(int field, std::string_view text) {
  append_tag(bytes_, field, WireType::length_delimited);
  append_varint(bytes_, text.size());
  bytes_ += text;
}

void ProtobufMessage::add_doubles(int field, std::span<const double> values) {
  append_tag(bytes_, field, WireType::length_delimited);
  append_varint(bytes_, values.size_bytes());
  append_values(bytes_, values);
}

}  // namespace octet
