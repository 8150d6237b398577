#include "sim/decode/hardware_registers.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace octet::sim {
namespace {

struct NamedRegister {
  std::string_view name;
  std::uint32_t id;
};
constexpr std::array<NamedRegister, 3> kNames{
    {{"HW_REG_MODE", kModeRegister}, {"HW_REG_HW_ID", kHardwareIdRegister}, {"HW_REG_XCC_ID", kXccIdRegister}}};

std::optional<std::uint32_t> number_up_to(std::string_view text, std::uint32_t most) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value > most) return std::nullopt;
  return value;
}

std::optional<std::uint32_t> register_id(std::string_view text) {
  for (const NamedRegister& named : kNames) {
    if (text == named.name) return named.id;
  }
  return number_up_to(text, 63);
}

/// Takes what stands before the next comma off the front, and the blank behind that.
std::string_view next_argument(std::string_view& text) {
  const std::size_t comma = std::min(text.find(','), text.size());
  const std::string_view argument = text.substr(0, comma);
  text.remove_prefix(std::min(comma + 1, text.size()));
  if (text.starts_with(' ')) text.remove_prefix(1);
  return argument;
}

}  // namespace

std::optional<std::uint64_t> parse_hardware_register(std::string_view text) {
  constexpr std::string_view kBegin = "hwreg(";
  if (!text.starts_with(kBegin) || !text.ends_with(')')) return std::nullopt;
  text = text.substr(kBegin.size(), text.size() - kBegin.size() - 1);
  const auto id = register_id(next_argument(text));
  const bool whole = text.empty();
  const auto offset = whole ? std::optional(0U) : number_up_to(next_argument(text), 31);
  const auto size = whole ? std::optional(32U) : number_up_to(text, 32);
  if (!id || !offset || !size || *size == 0) return std::nullopt;
  return *id | *offset << 6 | (*size - 1) << 11;
}

}  // namespace octet::sim
