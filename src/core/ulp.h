// How far two floating-point numbers lie apart, in units of the last place: steps from one number of their format to
// the next.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "fp8/bf16.h"

namespace octet {

/// Stands for a distance that is none: from a NaN to a number.
inline constexpr std::uint64_t kNoUlpDistance = std::numeric_limits<std::uint64_t>::max();

[[nodiscard]] constexpr double to_double(double x) {
  return x;
}
[[nodiscard]] constexpr double to_double(float x) {
  return x;
}
[[nodiscard]] constexpr double to_double(bf16 x) {
  return to_float(x);
}

/// A number's bits as an integer that grows with the number; -0 comes just before +0.
template <typename Real>
[[nodiscard]] constexpr auto ordered_bits(Real x) {
  using Bits = std::conditional_t<sizeof(Real) == 8, std::uint64_t,
                                  std::conditional_t<sizeof(Real) == 4, std::uint32_t, std::uint16_t>>;
  constexpr auto sign = static_cast<Bits>(Bits{1} << (sizeof(Bits) * 8 - 1));
  const auto bits = std::bit_cast<Bits>(x);
  return static_cast<Bits>((bits & sign) != 0 ? ~bits : bits | sign);
}

/// Steps from `a` to `b`, infinities counting as numbers. 0 for the same bits and for two NaN, whatever their bits;
/// kNoUlpDistance where only one is NaN. `Real` is double, float or bf16.
template <typename Real>
[[nodiscard]] constexpr std::uint64_t ulp_distance(Real a, Real b) {
  const bool a_is_nan = to_double(a) != to_double(a);
  const bool b_is_nan = to_double(b) != to_double(b);
  if (a_is_nan || b_is_nan) return a_is_nan && b_is_nan ? 0 : kNoUlpDistance;
  const std::uint64_t left = ordered_bits(a);
  const std::uint64_t right = ordered_bits(b);
  return left < right ? right - left : left - right;
}

}  // namespace octet
