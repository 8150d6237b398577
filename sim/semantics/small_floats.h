// Floats of 4 to 16 bits as the simulator decodes and encodes them: bit by bit, on its own, so that tests may hold it
// against other code; of halves half.h has more. AMD CDNA4 ISA, 7.3, table 30 and the rule of FP16_OVFL, whose formats
// are those of OCP's "8-bit Floating Point" and "Microscaling Formats". CDNA3's: LLVM's Float8E4M3FNUZ and
// Float8E5M2FNUZ, and the table in ROCm's composable_kernel, float8.hpp.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "sim/semantics/half.h"

namespace octet::sim {

/// What a format has besides finite values: nothing, so that it saturates; NaN as its last code; infinity and NaN in
/// the last binade; or, in fnuz, NaN as what would be the code of -0.
enum class Specials : std::uint8_t { none, nan, infinity_and_nan, fnuz };

/// Sign, exponent, mantissa, from the highest bit on.
struct SmallFormat {
  int exponent_bits;
  int mantissa_bits;
  Specials specials;

  [[nodiscard]] constexpr int bits() const { return 1 + exponent_bits + mantissa_bits; }
  [[nodiscard]] constexpr bool fnuz() const { return specials == Specials::fnuz; }
  [[nodiscard]] constexpr int bias() const { return (1 << (exponent_bits - 1)) - (fnuz() ? 0 : 1); }
  [[nodiscard]] constexpr std::uint32_t sign_bit() const { return 1U << (exponent_bits + mantissa_bits); }
  /// The code of the largest finite value.
  [[nodiscard]] constexpr std::uint32_t largest() const {
    if (specials == Specials::infinity_and_nan) return (((1U << exponent_bits) - 1U) << mantissa_bits) - 1U;
    return sign_bit() - (specials == Specials::nan ? 2U : 1U);
  }
};

inline constexpr SmallFormat kFp8Cdna3{4, 3, Specials::fnuz};
inline constexpr SmallFormat kBf8Cdna3{5, 2, Specials::fnuz};
inline constexpr SmallFormat kFp8Cdna4{4, 3, Specials::nan};
inline constexpr SmallFormat kBf8Cdna4{5, 2, Specials::infinity_and_nan};
inline constexpr SmallFormat kFp6{2, 3, Specials::none};
inline constexpr SmallFormat kBf6{3, 2, Specials::none};
inline constexpr SmallFormat kFp4{2, 1, Specials::none};
inline constexpr SmallFormat kHalf{5, 10, Specials::infinity_and_nan};
inline constexpr SmallFormat kBf16{8, 7, Specials::infinity_and_nan};

/// 2^power for the powers of normal doubles.
[[nodiscard]] constexpr double power_of_two(int power) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(power + 1023) << 52);
}

/// Of formats of up to 8 bits.
[[nodiscard]] constexpr float decode(std::uint32_t code, const SmallFormat& format) {
  const std::uint32_t magnitude = code & (format.sign_bit() - 1U);
  const float sign = (code & format.sign_bit()) != 0 ? -1.0F : 1.0F;
  if (format.fnuz() && code == format.sign_bit()) return std::numeric_limits<float>::quiet_NaN();
  if (magnitude > format.largest()) {
    const bool infinite = format.specials == Specials::infinity_and_nan && magnitude == format.largest() + 1;
    return infinite ? sign * std::numeric_limits<float>::infinity() : std::numeric_limits<float>::quiet_NaN();
  }
  const std::uint32_t mantissa = magnitude & ((1U << format.mantissa_bits) - 1U);
  const int exponent = static_cast<int>(magnitude >> format.mantissa_bits);
  const std::uint32_t leading = exponent == 0 ? 0U : 1U << format.mantissa_bits;
  const int power = (exponent == 0 ? 1 : exponent) - format.bias() - format.mantissa_bits;
  return sign * static_cast<float>((leading | mantissa) * power_of_two(power));
}

template <SmallFormat Format>
[[nodiscard]] constexpr auto decode_all() {
  std::array<float, std::size_t{1} << Format.bits()> table{};
  for (std::size_t code = 0; code < table.size(); ++code) {
    table[code] = decode(static_cast<std::uint32_t>(code), Format);
  }
  return table;
}
template <SmallFormat Format>
inline constexpr auto kDecoded = decode_all<Format>();

/// The code of `value`, whose magnitude in units of the format's last place `round` makes an integer. What overflows
/// becomes infinity where there is one, else NaN, as with FP16_OVFL = 0, which is how kernels run; without either, the
/// largest value. A NaN becomes fnuz's, else the last code under its sign (in formats without NaN, too, for which the
/// document states nothing).
template <typename Round>
[[nodiscard]] std::uint32_t encode_rounded(double value, const SmallFormat& format, const Round& round) {
  const std::uint32_t sign = std::signbit(value) ? format.sign_bit() : 0U;
  const std::uint32_t last = format.sign_bit() - 1U;
  if (std::isnan(value)) return format.fnuz() ? format.sign_bit() : sign | last;
  const std::uint32_t overflow = format.fnuz() ? format.sign_bit() : sign | std::min(format.largest() + 1U, last);
  if (std::isinf(value)) return overflow;
  const int smallest = 1 - format.bias();
  const int exponent = static_cast<int>(std::bit_cast<std::uint64_t>(std::fabs(value)) >> 52) - 1023;
  if (exponent > format.bias() + 1) return overflow;  // beyond the largest binade of any of them
  const int binade = std::max(exponent, smallest);
  const std::uint32_t units = round(std::fabs(value) * power_of_two(format.mantissa_bits - binade));
  const std::uint32_t magnitude = (static_cast<std::uint32_t>(binade - smallest) << format.mantissa_bits) + units;
  if (magnitude > format.largest()) return overflow;
  return format.fnuz() && magnitude == 0 ? 0U : sign | magnitude;
}

/// To nearest even.
[[nodiscard]] inline std::uint32_t encode(double value, const SmallFormat& format) {
  return encode_rounded(value, format, [](double units) { return static_cast<std::uint32_t>(std::nearbyint(units)); });
}

/// Stochastic rounding of the value of an f32: as many of its 23 bits as the format drops are added to by the highest
/// bits of `random`, then cut off. Of a value that becomes denormal first those bits are cut off by which it is
/// shifted. The document (V_CVT_SR_FP8_F32) adds in the same place, but lets the carry out of the mantissa be lost and
/// rounds to nearest behind, which cannot be meant.
[[nodiscard]] inline std::uint32_t encode_stochastic(double value, const SmallFormat& format, std::uint32_t random) {
  const int dropped = 23 - format.mantissa_bits;
  return encode_rounded(value, format, [&](double units) {
    const auto fixed = static_cast<std::uint32_t>(units * power_of_two(dropped));
    return (fixed + (random >> (32 - dropped))) >> dropped;
  });
}

[[nodiscard]] constexpr float decode_bf16(std::uint32_t bits) {
  return std::bit_cast<float>(bits << 16);
}

/// To nearest even; a NaN keeps its upper bits and becomes quiet.
[[nodiscard]] constexpr std::uint32_t encode_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7FFF'FFFFU) > 0x7F80'0000U) return bits >> 16 | 0x0040U;
  return (bits + 0x7FFFU + (bits >> 16 & 1U)) >> 16;
}

}  // namespace octet::sim
