// Halves as tests understand them: by powers of two and rounding to integers, without a look at the simulator's code.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

namespace octet::sim {

[[nodiscard]] inline double half_value(std::uint32_t bits) {
  const double sign = (bits & 0x8000U) != 0 ? -1 : 1;
  const int exponent = static_cast<int>(bits >> 10 & 31U);
  const double mantissa = bits & 0x3FFU;
  if (exponent == 31) return sign * (mantissa == 0 ? HUGE_VAL : std::numeric_limits<double>::quiet_NaN());
  return sign * (exponent == 0 ? mantissa * 0x1p-24 : std::ldexp(1024 + mantissa, exponent - 25));
}

/// To nearest even. Of NaN any.
[[nodiscard]] inline std::uint32_t nearest_half(long double value) {
  if (std::isnan(value)) return 0x7E00;
  const std::uint32_t sign = std::signbit(value) ? 0x8000U : 0U;
  const long double magnitude = std::fabs(value);
  if (magnitude >= 65520) return sign | 0x7C00U;
  const int exponent = magnitude == 0 ? -14 : std::max(std::ilogb(magnitude), -14);
  const long double units = std::nearbyint(std::ldexp(magnitude, 10 - exponent));
  return sign | static_cast<std::uint32_t>((exponent + 14) * 1024 + static_cast<int>(units));
}

/// NaNs are as good as each other, and -0 is not +0.
[[nodiscard]] inline bool same_half(std::uint32_t a, std::uint32_t b) {
  return a == b || (std::isnan(half_value(a)) && std::isnan(half_value(b)) && a < 0x1'0000U && b < 0x1'0000U);
}

/// Bits of halves: special ones, near ones, and random ones.
class HalfOperands {
 public:
  [[nodiscard]] std::uint32_t next() {
    constexpr std::array<std::uint32_t, 16> kSpecial{0x0000, 0x8000, 0x0001, 0x8001, 0x03FF, 0x0400, 0x3C00, 0xBC00,
                                                     0x3BFF, 0x7BFF, 0xFBFF, 0x7C00, 0xFC00, 0x7E00, 0x7D01, 0xFE55};
    const auto bits = static_cast<std::uint32_t>(engine_());
    if (bits % 4 == 0) return kSpecial[bits / 4 % 16];
    if (bits % 4 == 1) return 0x3800U + (bits >> 8 & 0x0FFFU);
    return bits >> 16;
  }

 private:
  std::mt19937 engine_{2718};
};

}  // namespace octet::sim
