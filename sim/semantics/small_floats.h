// FP8 and bf16 as the simulator decodes and encodes them: bit by bit, on its own, so that tests may hold it against
// other code. AMD CDNA4 ISA, 7.3, table 30 and the rule of FP16_OVFL; OCP "8-bit Floating Point Specification".
// CDNA3's formats: LLVM's Float8E4M3FNUZ and Float8E5M2FNUZ, and the table in ROCm's composable_kernel, float8.hpp.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "sim/semantics/half.h"

namespace octet::sim {

/// A format of a byte: sign, exponent, mantissa. "fnuz" has neither infinity nor -0, whose code is its NaN.
struct ByteFormat {
  int exponent_bits;
  int mantissa_bits;
  bool fnuz;
  [[nodiscard]] constexpr int bias() const { return (1 << (exponent_bits - 1)) - (fnuz ? 0 : 1); }
  /// OCP's e4m3 gives up infinity for one more power of two; e5m2 keeps it.
  [[nodiscard]] constexpr bool has_infinity() const { return !fnuz && exponent_bits == 5; }
  [[nodiscard]] constexpr std::uint32_t largest() const { return fnuz ? 0x7F : has_infinity() ? 0x7B : 0x7E; }
};

inline constexpr ByteFormat kFp8Cdna3{4, 3, true};
inline constexpr ByteFormat kBf8Cdna3{5, 2, true};
inline constexpr ByteFormat kFp8Cdna4{4, 3, false};
inline constexpr ByteFormat kBf8Cdna4{5, 2, false};

/// value * 2^power, exact.
[[nodiscard]] constexpr float times_power_of_two(float value, int power) {
  for (; power > 0; --power) value *= 2.0F;
  for (; power < 0; ++power) value *= 0.5F;
  return value;
}

[[nodiscard]] constexpr float decode_byte(std::uint32_t code, const ByteFormat& format) {
  const std::uint32_t magnitude = code & 0x7FU;
  const float sign = (code & 0x80U) != 0 ? -1.0F : 1.0F;
  if (format.fnuz && code == 0x80) return std::numeric_limits<float>::quiet_NaN();
  if (magnitude > format.largest()) {
    const bool infinite = format.has_infinity() && magnitude == format.largest() + 1;
    return infinite ? sign * std::numeric_limits<float>::infinity() : std::numeric_limits<float>::quiet_NaN();
  }
  const std::uint32_t mantissa = magnitude & ((1U << format.mantissa_bits) - 1U);
  const int exponent = static_cast<int>(magnitude >> format.mantissa_bits);
  const std::uint32_t leading = exponent == 0 ? 0U : 1U << format.mantissa_bits;
  const int power = (exponent == 0 ? 1 : exponent) - format.bias() - format.mantissa_bits;
  return sign * times_power_of_two(static_cast<float>(leading | mantissa), power);
}

using DecodedBytes = std::array<float, 256>;
[[nodiscard]] constexpr DecodedBytes decode_all_bytes(const ByteFormat& format) {
  DecodedBytes table{};
  for (std::uint32_t code = 0; code < 256; ++code) table[code] = decode_byte(code, format);
  return table;
}
template <ByteFormat Format>
inline constexpr DecodedBytes kDecoded = decode_all_bytes(Format);

/// Rounds to nearest even. What overflows becomes infinity where there is one, else NaN, as with FP16_OVFL = 0, which
/// is how kernels run. A NaN becomes 0x80 in fnuz, else 0x7F under its sign.
[[nodiscard]] inline std::uint32_t encode_byte(float value, const ByteFormat& format) {
  const std::uint32_t sign = std::signbit(value) ? 0x80U : 0U;
  if (std::isnan(value)) return format.fnuz ? 0x80U : sign | 0x7FU;
  const std::uint32_t overflow = format.fnuz ? 0x80U : sign | (format.has_infinity() ? 0x7CU : 0x7FU);
  if (std::isinf(value)) return overflow;
  // In units of the last place that the value has in this format; nearbyint rounds to nearest even.
  const int smallest_exponent = 1 - format.bias();
  const int exponent = value == 0 ? smallest_exponent : std::max(std::ilogb(value), smallest_exponent);
  const double units = std::nearbyint(std::ldexp(std::fabs(double{value}), format.mantissa_bits - exponent));
  const auto biased = static_cast<std::uint32_t>(exponent - smallest_exponent);
  const std::uint32_t magnitude = (biased << format.mantissa_bits) + static_cast<std::uint32_t>(units);
  if (magnitude > format.largest()) return overflow;
  return format.fnuz && magnitude == 0 ? 0U : sign | magnitude;
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
