#include "sim/elf/msgpack.h"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace octet::sim {
namespace {

using Json = nlohmann::json;

/// Looks at the nesting alone: the library's reader recurses without an end, and a damaged file must not exhaust the
/// stack.
class DepthLimit : public nlohmann::json_sax<Json> {
 public:
  bool null() override { return true; }
  bool boolean(bool /*value*/) override { return true; }
  bool number_integer(number_integer_t /*value*/) override { return true; }
  bool number_unsigned(number_unsigned_t /*value*/) override { return true; }
  bool number_float(number_float_t /*value*/, const string_t& /*text*/) override { return true; }
  bool string(string_t& /*value*/) override { return true; }
  bool binary(binary_t& /*value*/) override { return true; }
  bool key(string_t& /*value*/) override { return true; }
  bool start_object(std::size_t /*elements*/) override { return deeper(); }
  bool start_array(std::size_t /*elements*/) override { return deeper(); }
  bool end_object() override { return shallower(); }
  bool end_array() override { return shallower(); }
  bool parse_error(std::size_t /*position*/, const std::string& /*token*/, const Json::exception& /*error*/) override {
    return false;
  }

 private:
  static constexpr int kDeepest = 16;
  bool deeper() { return ++depth_ <= kDeepest; }
  bool shallower() {
    --depth_;
    return true;
  }
  int depth_ = 0;
};

}  // namespace

nlohmann::json read_msgpack(std::span<const std::byte> bytes) {
  const auto* begin = reinterpret_cast<const std::uint8_t*>(bytes.data());
  const auto* end = begin + bytes.size();
  DepthLimit limit;
  if (!Json::sax_parse(begin, end, &limit, Json::input_format_t::msgpack)) {
    throw Json::other_error::create(501, "no MessagePack of reasonable depth", nullptr);
  }
  return Json::from_msgpack(begin, end);
}

}  // namespace octet::sim
