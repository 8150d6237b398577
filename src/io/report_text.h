// Figures as people read them, the same in the HTML report and on the terminal.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace octet::io {

/// Stands for what was not measured.
inline constexpr std::string_view kNotMeasured = "–";

/// Fixed decimals, "NaN" and "∞" spelt out.
[[nodiscard]] std::string decimal(double value, int digits);
[[nodiscard]] std::string decimal(const std::optional<double>& value, int digits);

/// With an explicit sign, for gaps.
[[nodiscard]] std::string signed_decimal(const std::optional<double>& value, int digits);

/// 12345678 as "12,345,678".
[[nodiscard]] std::string grouped(std::int64_t value);

/// A rate rounded to a whole number, grouped.
[[nodiscard]] std::string grouped(double value);

/// Binary units with three to four significant digits: "1.25 GiB".
[[nodiscard]] std::string bytes(std::int64_t value);

/// 0.314 as "31.4 %".
[[nodiscard]] std::string percent(double share);

/// `text` cut to `width` characters, the last of them "…" where something was cut. Control characters, which could
/// steer a terminal, become "?".
[[nodiscard]] std::string fitted(std::string_view text, std::size_t width);

/// Characters in UTF-8 text.
[[nodiscard]] std::size_t characters(std::string_view text);

}  // namespace octet::io
