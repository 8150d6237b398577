// Number formats as tests know them: codes, their values by the formula, and the nearest code by search.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <vector>

#include "fp8/formats.h"
#include "sim/one_wave.h"

namespace octet::sim {

/// A number format: codes of so many bits, and their values.
struct Element {
  int bits;
  std::function<double(u64 code)> value;
};

/// Sign, exponent and mantissa by the formula that all formats have in common; without infinities and NaNs.
[[nodiscard]] inline Element minifloat(int exponent_bits, int mantissa_bits) {
  return {1 + exponent_bits + mantissa_bits, [exponent_bits, mantissa_bits](u64 code) {
            const int exponent = static_cast<int>(code >> mantissa_bits) & ((1 << exponent_bits) - 1);
            const int bias = (1 << (exponent_bits - 1)) - 1;
            const double fraction = static_cast<double>(code & ((u64{1} << mantissa_bits) - 1)) / (1 << mantissa_bits);
            const double magnitude =
                exponent == 0 ? std::ldexp(fraction, 1 - bias) : std::ldexp(1 + fraction, exponent - bias);
            return (code >> (exponent_bits + mantissa_bits) & 1) != 0 ? -magnitude : magnitude;
          }};
}

template <fp8::Format F>
[[nodiscard]] Element byte_element() {
  return {8, [](u64 code) { return double{fp8::decode(fp8::Code<F>{static_cast<std::uint8_t>(code)})}; }};
}

namespace elements {

inline const Element kFp8Fnuz = byte_element<fp8::Format::e4m3fnuz>();
inline const Element kBf8Fnuz = byte_element<fp8::Format::e5m2fnuz>();
inline const Element kFp8Ocp = byte_element<fp8::Format::e4m3fn>();
inline const Element kBf8Ocp = byte_element<fp8::Format::e5m2>();
inline const Element kFp6 = minifloat(2, 3);
inline const Element kBf6 = minifloat(3, 2);
inline const Element kFp4 = minifloat(2, 1);
inline const Element kHalf = minifloat(5, 10);
inline const Element kBf16 = minifloat(8, 7);
inline const Element kSingle{32, [](u64 code) { return double{std::bit_cast<float>(static_cast<u32>(code))}; }};
inline const Element kDouble{64, [](u64 code) { return std::bit_cast<double>(code); }};
inline const Element kInt8{8, [](u64 code) { return static_cast<double>(static_cast<std::int8_t>(code)); }};

}  // namespace elements

/// What a value becomes in a format: of the codes 0 to `largest` the nearest, and of two as near the even one, under
/// the value's sign. The next value after that of `largest` counts as if it were there; what would become it overflows.
class Narrowing {
 public:
  Narrowing(const Element& element, u32 largest, u32 overflow, u32 nan)
      : sign_(1U << (element.bits - 1)), overflow_(overflow), nan_(nan) {
    for (u32 code = 0; code <= largest; ++code) values_.push_back(element.value(code));
    values_.push_back(2 * values_[largest] - values_[largest - 1]);
  }

  [[nodiscard]] u32 operator()(double value) const {
    const u32 sign = std::signbit(value) ? sign_ : 0U;
    if (std::isnan(value)) return sign | nan_;
    const double magnitude = std::fabs(value);
    const auto above = static_cast<u32>(std::upper_bound(values_.begin(), values_.end(), magnitude) - values_.begin());
    if (above == values_.size()) return sign | overflow_;
    const u32 below = above - 1;
    const double up = values_[above] - magnitude;
    const double down = magnitude - values_[below];
    const u32 code = up < down || (up == down && above % 2 == 0) ? above : below;
    return sign | (code + 1 == values_.size() ? overflow_ : code);
  }

  /// Of a code up to `largest`, and of the one after it.
  [[nodiscard]] double value(u32 code) const { return values_[code]; }

 private:
  std::vector<double> values_;
  u32 sign_, overflow_, nan_;
};

}  // namespace octet::sim
