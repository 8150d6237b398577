// The four FP8 formats: their limits, their codes as types that do not mix, decoding and encoding.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "fp8/float_bits.h"
#include "fp8/host_device.h"

namespace octet::fp8 {

/// "fn": finite, no infinity. "fnuz": finite, and zero is unsigned, its negative code being the only NaN (MI300).
/// The same byte means half as much in e4m3fnuz as in e4m3fn.
enum class Format : std::uint8_t { e4m3fn, e4m3fnuz, e5m2, e5m2fnuz };

/// What a recipe asks for; the device decides which of the two variants an FP8 precision is (format_of()).
enum class Precision : std::uint8_t { bf16, e4m3, e5m2 };

/// What tells one format from another; sign, exponent and mantissa lie in this order in the byte.
struct FormatInfo {
  std::string_view name;
  int exponent_bits;
  int mantissa_bits;
  int bias;
  bool has_infinity;
  bool has_negative_zero;
  std::uint8_t max_code;  ///< of the largest finite value; infinity, where there is one, is the code after it
  std::uint8_t nan_code;  ///< what encoding a NaN gives; decoding accepts the others of the format as well
  float max;
  float min_normal;
  float min_subnormal;
};

inline constexpr std::array<FormatInfo, 4> kFormats{{
    {"e4m3fn", 4, 3, 7, false, true, 0x7E, 0x7F, 448.0F, 0x1p-6F, 0x1p-9F},
    {"e4m3fnuz", 4, 3, 8, false, false, 0x7F, 0x80, 240.0F, 0x1p-7F, 0x1p-10F},
    {"e5m2", 5, 2, 15, true, true, 0x7B, 0x7F, 57344.0F, 0x1p-14F, 0x1p-16F},
    {"e5m2fnuz", 5, 2, 16, false, false, 0x7F, 0x80, 57344.0F, 0x1p-15F, 0x1p-17F},
}};

[[nodiscard]] constexpr const FormatInfo& info(Format format) {
  return kFormats[static_cast<std::size_t>(format)];
}

[[nodiscard]] constexpr std::string_view name(Format format) {
  return info(format).name;
}

/// The format of that exact name; nothing if there is none.
[[nodiscard]] constexpr std::optional<Format> parse_format(std::string_view name) {
  for (std::size_t i = 0; i < kFormats.size(); ++i) {
    if (kFormats[i].name == name) return static_cast<Format>(i);
  }
  return std::nullopt;
}

/// info(F) as scalar constants, which device code may read where it could not read a table of the host.
template <Format F>
struct Limits {
  static constexpr int exponent_bits = info(F).exponent_bits;
  static constexpr int mantissa_bits = info(F).mantissa_bits;
  static constexpr int bias = info(F).bias;
  static constexpr bool has_infinity = info(F).has_infinity;
  static constexpr bool has_negative_zero = info(F).has_negative_zero;
  static constexpr std::uint8_t max_code = info(F).max_code;
  static constexpr std::uint8_t nan_code = info(F).nan_code;
  static constexpr float max = info(F).max;
  static constexpr float min_normal = info(F).min_normal;
  static constexpr float min_subnormal = info(F).min_subnormal;
};

/// One byte that knows its format: codes of two formats neither convert into each other nor compare.
/// Equality is that of the bytes: a NaN code equals itself, and the two zeros differ.
template <Format F>
struct Code {
  std::uint8_t bits;
  friend constexpr bool operator==(Code, Code) = default;
};

using e4m3fn = Code<Format::e4m3fn>;
using e4m3fnuz = Code<Format::e4m3fnuz>;
using e5m2 = Code<Format::e5m2>;
using e5m2fnuz = Code<Format::e5m2fnuz>;

template <Format F>
[[nodiscard]] OCTET_HOST_DEVICE constexpr bool is_infinite(Code<F> code) {
  return Limits<F>::has_infinity && (code.bits & 0x7FU) == Limits<F>::max_code + 1U;
}

template <Format F>
[[nodiscard]] OCTET_HOST_DEVICE constexpr bool is_nan(Code<F> code) {
  if (!Limits<F>::has_negative_zero) return code.bits == Limits<F>::nan_code;
  return (code.bits & 0x7FU) > Limits<F>::max_code && !is_infinite(code);
}

/// Exact; a NaN code gives quiet_nan().
template <Format F>
[[nodiscard]] OCTET_HOST_DEVICE constexpr float decode(Code<F> code) {
  using Of = Limits<F>;
  if (is_nan(code)) return quiet_nan();
  const std::uint32_t sign = (code.bits & 0x80U) << 24;
  const std::uint32_t magnitude = code.bits & 0x7FU;
  if (is_infinite(code)) return float_of(sign | kFloatInfinity);
  const bool subnormal = magnitude >> Of::mantissa_bits == 0;
  if (subnormal) return float_of(sign | bits_of(static_cast<float>(magnitude) * Of::min_subnormal));
  constexpr std::uint32_t kRebias = static_cast<std::uint32_t>(kFloatBias - Of::bias) << kFloatMantissaBits;
  return float_of(sign | ((magnitude << (kFloatMantissaBits - Of::mantissa_bits)) + kRebias));
}

namespace detail {

/// The code of a magnitude (bits of a float, sign clear, no NaN), rounded to nearest even as if exponents had no
/// upper end: what overflows, infinity included, gives more than max_code.
/// Integers only: the result depends neither on a rounding mode nor on flushing of subnormals.
template <Format F>
[[nodiscard]] OCTET_HOST_DEVICE constexpr std::uint32_t round_magnitude(std::uint32_t bits) {
  constexpr int kMantissaBits = Limits<F>::mantissa_bits;
  const std::uint32_t significand = (bits & 0x007F'FFFFU) | 0x0080'0000U;
  const int exponent = static_cast<int>(bits >> kFloatMantissaBits) - kFloatBias + Limits<F>::bias;
  // Below the normal range the exponent stays at its least, 1, and the significand loses more bits instead.
  const int kept_exponent = exponent < 1 ? 1 : exponent;
  const int dropped_bits = kFloatMantissaBits - kMantissaBits + kept_exponent - exponent;
  if (dropped_bits > kFloatMantissaBits + 1) return 0;  // less than half of the smallest subnormal

  const std::uint32_t below_half = (1U << (dropped_bits - 1)) - 1U;
  const std::uint32_t lowest_kept_bit = (significand >> dropped_bits) & 1U;
  const std::uint32_t rounded = (significand + below_half + lowest_kept_bit) >> dropped_bits;
  // The leading bit, where it survived, and a carry out of rounding both add one to the exponent field.
  return rounded + (static_cast<std::uint32_t>(kept_exponent - 1) << kMantissaBits);
}

/// Encodes x; what overflows gives `overflow_code` under the sign of x.
template <Format F>
[[nodiscard]] OCTET_HOST_DEVICE constexpr Code<F> encode_or(float x, std::uint8_t overflow_code) {
  if (is_nan(x)) return Code<F>{Limits<F>::nan_code};
  const std::uint32_t sign = (bits_of(x) >> 24) & 0x80U;
  const std::uint32_t rounded = round_magnitude<F>(bits_of(x) & kFloatMagnitudeMask);
  const std::uint32_t magnitude = rounded > Limits<F>::max_code ? overflow_code : rounded;
  if (!Limits<F>::has_negative_zero && magnitude == 0) return Code<F>{0};
  return Code<F>{static_cast<std::uint8_t>(sign | magnitude)};
}

}  // namespace detail

/// Rounds to nearest, ties to even, and saturates: whatever lies beyond the largest finite value, infinity included
/// (also in e5m2), becomes it. NaN gives nan_code whatever its sign. Where zero has no sign, -0 and what rounds to it
/// give 0x00.
template <Format F>
[[nodiscard]] OCTET_HOST_DEVICE constexpr Code<F> encode(float x) {
  return detail::encode_or<F>(x, Limits<F>::max_code);
}

/// As encode(), but overflow becomes infinity where the format has one, else NaN: what a plain cast of the frameworks
/// and an unclamped convert instruction do. Training never uses it; it shows what a wrong scale leads to.
template <Format F>
[[nodiscard]] OCTET_HOST_DEVICE constexpr Code<F> encode_non_saturating(float x) {
  constexpr std::uint8_t kOverflowCode = Limits<F>::has_infinity ? Limits<F>::max_code + 1 : Limits<F>::nan_code;
  return detail::encode_or<F>(x, kOverflowCode);
}

/// The largest float that encode_non_saturating() still rounds to the format's largest value; beyond it lies NaN or
/// infinity. Half a step above the largest value, where a tie goes to the even code.
template <Format F>
[[nodiscard]] OCTET_HOST_DEVICE constexpr float largest_not_overflowing() {
  constexpr float kStep = Limits<F>::max - decode(Code<F>{Limits<F>::max_code - 1});
  constexpr float kTie = Limits<F>::max + kStep / 2;
  return Limits<F>::max_code % 2 == 0 ? kTie : float_of(bits_of(kTie) - 1);
}

}  // namespace octet::fp8
