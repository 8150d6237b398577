// Numbers of a command line.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>

namespace octet::sim {

/// The whole of `text` as a decimal number; nothing when it is none or does not fit.
template <typename T>
[[nodiscard]] std::optional<T> parse_number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace octet::sim
