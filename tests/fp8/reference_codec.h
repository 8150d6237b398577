// A second implementation of the FP8 formats, in real arithmetic: values by ldexp from the fields of the byte, rounding
// by comparison with the midpoint of neighbouring values. Shares neither tables nor bit tricks with src/fp8.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>

#include "fp8/formats.h"

namespace octet::fp8::test {

enum class Overflow { saturates, escapes };

class ReferenceCodec {
 public:
  explicit ReferenceCodec(Format format)
      : e5_(format == Format::e5m2 || format == Format::e5m2fnuz),
        fnuz_(format == Format::e4m3fnuz || format == Format::e5m2fnuz),
        infinity_(format == Format::e5m2) {
    for (unsigned code = 0; code < 256; ++code) values_.at(code) = compute(code);
    while (std::isfinite(values_.at(max_code_ + 1)) && max_code_ < 0x7F) ++max_code_;
  }

  [[nodiscard]] double value(unsigned code) const { return values_.at(code); }
  [[nodiscard]] unsigned max_code() const { return max_code_; }
  [[nodiscard]] bool fnuz() const { return fnuz_; }

  /// Half way between the values of a positive code and the next; beyond max_code there is one more step like the last.
  [[nodiscard]] double midpoint(unsigned code) const {
    const double next = code < max_code_ ? value(code + 1) : 2 * value(code) - value(code - 1);
    return (value(code) + next) / 2;
  }

  /// Whether a magnitude that is at least value(code) rounds to something above it; a tie does if the code is odd.
  [[nodiscard]] bool rounds_up(double magnitude, unsigned code) const {
    return magnitude > midpoint(code) || (magnitude == midpoint(code) && code % 2 == 1);
  }

  [[nodiscard]] unsigned encode(float x, Overflow overflow) const {
    if (std::isnan(x)) return nan_code();
    unsigned code = 0;
    while (code <= max_code_ && rounds_up(std::fabs(x), code)) ++code;
    return with_sign(code, std::signbit(x), overflow);
  }

  /// A rounded magnitude, max_code() + 1 meaning overflow, as a byte.
  [[nodiscard]] unsigned with_sign(unsigned code, bool negative, Overflow overflow) const {
    if (fnuz_ && code == 0) return 0;
    if (code > max_code_) code = overflow == Overflow::saturates ? max_code_ : infinity_ ? 0x7C : nan_code();
    return code | (negative ? 0x80U : 0U);
  }

  [[nodiscard]] unsigned nan_code() const { return fnuz_ ? 0x80 : 0x7F; }

 private:
  [[nodiscard]] double compute(unsigned code) const {
    const int mantissa_bits = e5_ ? 2 : 3;
    const int bias = (e5_ ? 15 : 7) + (fnuz_ ? 1 : 0);
    const int mantissa_steps = 1 << mantissa_bits;
    const int exponent = static_cast<int>(code & 0x7FU) / mantissa_steps;
    const int mantissa = static_cast<int>(code & 0x7FU) % mantissa_steps;
    const double sign = (code & 0x80U) != 0 ? -1.0 : 1.0;
    constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
    if (fnuz_ && code == 0x80) return kNan;
    if (!fnuz_ && !infinity_ && (code & 0x7FU) == 0x7F) return kNan;
    if (infinity_ && exponent == 31) return mantissa == 0 ? sign * std::numeric_limits<double>::infinity() : kNan;
    if (exponent == 0) return sign * std::ldexp(mantissa, 1 - bias - mantissa_bits);
    return sign * std::ldexp(mantissa_steps + mantissa, exponent - bias - mantissa_bits);
  }

  bool e5_;
  bool fnuz_;
  bool infinity_;
  unsigned max_code_ = 0;
  std::array<double, 256> values_{};
};

}  // namespace octet::fp8::test
