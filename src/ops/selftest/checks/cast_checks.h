// Cases of the casts: every rule with every kind of content on every shape.
#pragma once

#include <algorithm>

#include "ops/selftest/op_check.h"

namespace octet::ops::selftest {

struct CastCase {
  Index rows, cols;
  fp8::Format format;
  bool power_of_two;
  Content content;

  [[nodiscard]] constexpr fp8::ScaleRule rule() const { return fp8::ScaleRule::of(format, power_of_two); }
  [[nodiscard]] std::string describe() const {
    return fmt::format("[{}, {}] {}, {}", rows, cols, name(content), selftest::describe(rule()));
  }
};

struct CastShape {
  Index rows, cols;
};

template <std::size_t N, std::size_t M>
[[nodiscard]] constexpr auto join(const std::array<CastCase, N>& a, const std::array<CastCase, M>& b) {
  std::array<CastCase, N + M> joined{};
  std::copy(b.begin(), b.end(), std::copy(a.begin(), a.end(), joined.begin()));
  return joined;
}

/// The product of shapes, formats, roundings of the scale and contents.
template <std::size_t N>
[[nodiscard]] constexpr auto cast_cases(const std::array<CastShape, N>& shapes) {
  std::array<CastCase, N * kFormats.size() * 2 * kContents.size()> cases{};
  std::size_t next = 0;
  for (const CastShape& shape : shapes) {
    for (const fp8::Format format : kFormats) {
      for (const bool power_of_two : {false, true}) {
        for (const Content content : kContents) {
          cases[next++] = {shape.rows, shape.cols, format, power_of_two, content};
        }
      }
    }
  }
  return cases;
}

inline constexpr auto kCastCases =
    cast_cases(std::to_array<CastShape>({{0, 16}, {4, 0}, {1, 1}, {5, 7}, {3, 130}, {67, 33}, {131, 129}}));
/// More elements than a thread takes at once when it looks for the largest of a tensor.
inline constexpr std::array<CastCase, 3> kLargeCastCases{{
    {523, 131, fp8::Format::e4m3fn, true, Content::ordinary},
    {523, 131, fp8::Format::e5m2, false, Content::with_nan},
    {523, 131, fp8::Format::e4m3fnuz, true, Content::with_infinity},
}};
inline constexpr auto kThoroughCastCases = cast_cases(std::to_array<CastShape>({{1031, 515}, {3, 65537}}));

template <>
struct OpCheck<QuantizeRows> {
  static constexpr auto kCases = kCastCases;
  static constexpr auto kThoroughCases = kThoroughCastCases;
  static void run(Trial& trial, const CastCase& c);
};

template <>
struct OpCheck<QuantizeColumns> {
  static constexpr auto kCases = kCastCases;
  static constexpr auto kThoroughCases = kThoroughCastCases;
  static void run(Trial& trial, const CastCase& c);
};

template <>
struct OpCheck<QuantizeTensor> {
  static constexpr auto kCases = join(kCastCases, kLargeCastCases);
  static constexpr auto kThoroughCases = kThoroughCastCases;
  static void run(Trial& trial, const CastCase& c);
};

template <>
struct OpCheck<CastStatistics> {
  static constexpr auto kCases = kCastCases;
  static constexpr auto kThoroughCases = kThoroughCastCases;
  static void run(Trial& trial, const CastCase& c);
};

}  // namespace octet::ops::selftest
