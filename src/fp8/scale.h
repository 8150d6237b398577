// The scale of a slice: from its amax (the largest magnitude in it) to the factor that fills the range of a format.
#pragma once

#include <cstdint>
#include <span>

#include "fp8/bf16.h"
#include "fp8/float_bits.h"
#include "fp8/formats.h"
#include "fp8/host_device.h"

namespace octet::fp8 {

class ScaleRule;
namespace demonstration {
constexpr ScaleRule fnuz_scaled_for_448(bool power_of_two);
}

/// A slice whose amax is smaller, zeros above all, is scaled as if it were this: the scale stays finite.
inline constexpr double kAmaxFloor = 1e-12;

/// The larger magnitude of two, sign cleared. As integers, magnitudes order like their values and NaN lies above
/// infinity: a NaN wins, in any order of reduction.
[[nodiscard]] OCTET_HOST_DEVICE constexpr bf16 max_magnitude(bf16 a, bf16 b) {
  const auto of_a = static_cast<std::uint16_t>(a.bits & 0x7FFFU);
  const auto of_b = static_cast<std::uint16_t>(b.bits & 0x7FFFU);
  return bf16{of_a > of_b ? of_a : of_b};
}

/// The largest magnitude in x; 0 of an empty slice, NaN if x holds one.
[[nodiscard]] constexpr bf16 amax(std::span<const bf16> x) {
  bf16 largest{0};
  for (const bf16 value : x) largest = max_magnitude(largest, value);
  return largest;
}

/// The largest power of two that is at most s, for a normal s > 0; zero and infinity stay, NaN stays NaN.
/// Clears the mantissa: 2^floor(log2 s) in float would round a number just below a power of two up to it. NaN is
/// asked for first, as a NaN without mantissa is an infinity.
[[nodiscard]] OCTET_HOST_DEVICE constexpr float round_down_to_power_of_two(float s) {
  if (is_nan(s)) return quiet_nan();
  return float_of(bits_of(s) & kFloatInfinity);
}

/// What a product is divided by in the end: 1 / s. Infinite for s = 0, so that a slice that held an infinity shows NaN.
[[nodiscard]] OCTET_HOST_DEVICE constexpr float inverse(float s) {
  return is_nan(s) ? quiet_nan() : 1.0F / s;
}

/// How a format's scales come from an amax. Made from the format alone, hence always with that format's own maximum:
/// a scale for 448 on codes that end at 240 cannot be written down.
class ScaleRule {
 public:
  /// `power_of_two`: round every scale down to a power of two; dividing by it is then exact.
  template <Format F>
  [[nodiscard]] OCTET_HOST_DEVICE static constexpr ScaleRule of(bool power_of_two) {
    return ScaleRule(F, Limits<F>::max, power_of_two);
  }
  [[nodiscard]] static constexpr ScaleRule of(Format format, bool power_of_two) {
    return ScaleRule(format, info(format).max, power_of_two);
  }

  [[nodiscard]] OCTET_HOST_DEVICE constexpr Format format() const { return format_; }
  [[nodiscard]] OCTET_HOST_DEVICE constexpr float max() const { return max_; }
  [[nodiscard]] OCTET_HOST_DEVICE constexpr bool power_of_two() const { return power_of_two_; }

  /// max / amax, what values are multiplied by before they are encoded. `amax` >= 0; infinite gives 0, NaN gives NaN.
  /// Divided in double: the same bits whether or not a device's float division is exact.
  [[nodiscard]] OCTET_HOST_DEVICE constexpr float scale(float amax) const {
    if (is_nan(amax)) return quiet_nan();
    const double floored = static_cast<double>(amax) > kAmaxFloor ? static_cast<double>(amax) : kAmaxFloor;
    const auto s = static_cast<float>(static_cast<double>(max_) / floored);
    return power_of_two_ ? round_down_to_power_of_two(s) : s;
  }

 private:
  OCTET_HOST_DEVICE constexpr ScaleRule(Format format, float max, bool power_of_two)
      : max_(max), format_(format), power_of_two_(power_of_two) {}
  friend constexpr ScaleRule demonstration::fnuz_scaled_for_448(bool power_of_two);

  float max_;
  Format format_;
  bool power_of_two_;
};

}  // namespace octet::fp8
