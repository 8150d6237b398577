// Formats figures without regard to the locale: the same run gives the same report everywhere.
#include "io/report_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace octet::io {
namespace {

/// Every byte of UTF-8 but the continuation bytes starts a character.
bool starts_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U;
}

bool is_control(char byte) {
  const auto code = static_cast<unsigned char>(byte);
  return code < 0x20 || code == 0x7F;
}

std::string not_finite(double value) {
  if (std::isnan(value)) return "NaN";
  return value > 0 ? "∞" : "-∞";
}

}  // namespace

std::string decimal(double value, int digits) {
  return std::isfinite(value) ? fmt::format("{:.{}f}", value, digits) : not_finite(value);
}

std::string decimal(const std::optional<double>& value, int digits) {
  return value ? decimal(*value, digits) : std::string(kNotMeasured);
}

std::string signed_decimal(const std::optional<double>& value, int digits) {
  if (!value) return std::string(kNotMeasured);
  return std::isfinite(*value) ? fmt::format("{:+.{}f}", *value, digits) : not_finite(*value);
}

std::string grouped(std::int64_t value) {
  std::string digits = fmt::format("{}", value);
  const std::ptrdiff_t first = value < 0 ? 1 : 0;
  for (auto place = std::ssize(digits) - 3; place > first; place -= 3) {
    digits.insert(static_cast<std::size_t>(place), 1, ',');
  }
  return digits;
}

std::string grouped(double value) {
  constexpr double exact = 9e15;  // beyond it a double no longer holds every whole number
  if (!std::isfinite(value)) return not_finite(value);
  return std::abs(value) < exact ? grouped(static_cast<std::int64_t>(std::llround(value)))
                                 : fmt::format("{:.3e}", value);
}

std::string bytes(std::int64_t value) {
  constexpr std::array<std::string_view, 6> units{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (value < 1024) return fmt::format("{} B", value);
  double scaled = static_cast<double>(value) / 1024;
  std::size_t unit = 0;
  for (; scaled >= 1024 && unit + 1 < units.size(); ++unit) scaled /= 1024;
  return fmt::format("{:.{}f} {}", scaled, scaled < 10 ? 2 : 1, units[unit]);
}

std::string percent(double share) {
  return fmt::format("{:.1f} %", share * 100);
}

std::string fitted(std::string_view text, std::size_t width) {
  const bool cut = characters(text) > width;
  const std::size_t kept = cut ? width - 1 : width;
  std::string result;
  std::size_t count = 0;
  for (const char byte : text) {
    count += starts_character(byte) ? 1 : 0;
    if (count > kept) break;
    result += is_control(byte) ? '?' : byte;
  }
  return cut ? result + "…" : result;
}

std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), starts_character));
}

}  // namespace octet::io
