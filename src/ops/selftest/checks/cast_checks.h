// Cases of the casts and of their maxima: every rule with every kind of content on every shape.
#pragma once

#include "ops/selftest/op_check.h"

namespace octet::ops::selftest {

struct CastCase {
  Index rows, cols;
  fp8::Format format;
  bool power_of_two;
  Content content;
  Index matrices = 1;

  [[nodiscard]] constexpr fp8::ScaleRule rule() const { return fp8::ScaleRule::of(format, power_of_two); }
  [[nodiscard]] std::string describe() const {
    return fmt::format("{} of [{}, {}] {}, {}", matrices, rows, cols, name(content), selftest::describe(rule()));
  }
};

struct CastShape {
  Index rows, cols;
};

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

inline constexpr auto kCastShapes =
    std::to_array<CastShape>({{0, 16}, {4, 0}, {1, 1}, {5, 7}, {3, 130}, {67, 33}, {131, 129}});
inline constexpr auto kThoroughCastShapes = std::to_array<CastShape>({{1031, 515}, {3, 65537}});

inline constexpr auto kCastCases = cast_cases(kCastShapes);
/// More rows, and more columns, than a thread takes at once; more rows than blocks of a GPU.
inline constexpr std::array<CastCase, 4> kLargeCastCases{{
    {523, 131, fp8::Format::e4m3fn, true, Content::ordinary},
    {523, 131, fp8::Format::e5m2, false, Content::with_nan},
    {131, 523, fp8::Format::e4m3fnuz, true, Content::with_infinity},
    {8461, 16, fp8::Format::e4m3fn, true, Content::ordinary},
}};
inline constexpr auto kThoroughCastCases = cast_cases(kThoroughCastShapes);
/// Matrices one after another, none of which ends with a block.
inline constexpr std::array<CastCase, 5> kManyMatrices{{
    {24, 40, fp8::Format::e4m3fn, true, Content::ordinary, 3},
    {67, 33, fp8::Format::e4m3fnuz, false, Content::with_nan, 4},
    {131, 136, fp8::Format::e4m3fnuz, true, Content::with_infinity, 2},
    {1, 1, fp8::Format::e5m2, true, Content::ordinary, 5},
    {16, 24, fp8::Format::e4m3fn, true, Content::ordinary, 0},
}};

template <>
struct OpCheck<QuantizeRows> {
  static constexpr auto kCases = join(kCastCases, kLargeCastCases);
  /// Also more rows than all blocks of a GPU hold side by side.
  static constexpr auto kThoroughCases =
      join(kThoroughCastCases, std::to_array<CastCase>({{1101, 4096, fp8::Format::e4m3fn, true, Content::ordinary}}));
  static void run(Trial& trial, const CastCase& c);
};

struct MaximaCase {
  Index rows, cols;
  Content content;
  Index matrices = 1;

  [[nodiscard]] std::string describe() const {
    return fmt::format("{} of [{}, {}] {}", matrices, rows, cols, name(content));
  }
};

/// The product of shapes and contents.
template <std::size_t N>
[[nodiscard]] constexpr auto maxima_cases(const std::array<CastShape, N>& shapes) {
  std::array<MaximaCase, N * kContents.size()> cases{};
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const CastShape& shape = shapes[i / kContents.size()];
    cases[i] = {shape.rows, shape.cols, kContents[i % kContents.size()]};
  }
  return cases;
}

template <>
struct OpCheck<Maxima> {
  static constexpr auto kCases =
      join(join(maxima_cases(kCastShapes), maxima_cases(std::to_array<CastShape>({{523, 131}}))),
           std::to_array<MaximaCase>({{24, 40, Content::ordinary, 3},
                                      {67, 33, Content::with_nan, 4},
                                      {523, 131, Content::ordinary, 2},
                                      {1, 1, Content::ordinary, 5},
                                      {16, 24, Content::ordinary, 0}}));
  static constexpr auto kThoroughCases = maxima_cases(kThoroughCastShapes);
  static void run(Trial& trial, const MaximaCase& c);
};

template <>
struct OpCheck<Cast> {
  static constexpr auto kCases = join(join(kCastCases, kLargeCastCases), kManyMatrices);
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
