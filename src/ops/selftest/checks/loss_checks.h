// Cases of cross entropy and of the sums in double.
#pragma once

#include "ops/selftest/op_check.h"

namespace octet::ops::selftest {

struct CrossEntropyCase {
  Index rows, vocab;
  bool gradient;
  double spread = 3;  ///< standard deviation of the logits
  bool non_finite = false;

  [[nodiscard]] std::string describe() const {
    return fmt::format("[{}, {}]{}, logits of {}{}", rows, vocab, gradient ? " with gradient" : "", spread,
                       non_finite ? ", NaN and infinity" : "");
  }
};

template <>
struct OpCheck<CrossEntropy> {
  static constexpr std::array<CrossEntropyCase, 11> kCases{{
      {0, 16, true},
      {1, 1, true},
      {3, 7, true},
      {3, 7, false},
      {17, 129, true},
      {31, 1000, false},
      {65, 1031, true},
      {2300, 264, true},  // more rows than blocks of a GPU
      {5, 257, true, 60},
      {5, 67, true, 3, true},
      {5, 67, false, 3, true},
  }};
  /// On a GPU, several rows a block, also of those that no multiprocessor holds.
  static constexpr std::array<CrossEntropyCase, 4> kThoroughCases{
      {{67, 32003, true}, {401, 8192, true}, {401, 8192, false}, {200, 131072, true}}};
  static void run(Trial& trial, const CrossEntropyCase& c);
};

struct SumCase {
  Index count;
  bool non_finite = false;

  [[nodiscard]] std::string describe() const {
    return fmt::format("{} elements{}", count, non_finite ? ", NaN and infinity" : "");
  }
};

inline constexpr std::array<SumCase, 7> kSumCases{{{0}, {1}, {7}, {1031}, {65537}, {200003}, {1031, true}}};
inline constexpr std::array<SumCase, 1> kThoroughSumCases{{{3000017}}};

template <>
struct OpCheck<SumFloats> {
  static constexpr auto kCases = kSumCases;
  static constexpr auto kThoroughCases = kThoroughSumCases;
  static void run(Trial& trial, const SumCase& c);
};

struct SumOfSquaresCase {
  SumCase sum;
  DType dtype;
  double magnitude = 1;  ///< of the elements

  [[nodiscard]] std::string describe() const {
    return fmt::format("{} {} near {}", name(dtype), sum.describe(), magnitude);
  }
};

/// Every case in either dtype.
template <std::size_t N>
[[nodiscard]] constexpr auto sum_of_squares_cases(const std::array<SumCase, N>& cases, double magnitude = 1) {
  std::array<SumOfSquaresCase, N * 2> all{};
  for (std::size_t i = 0; i < N; ++i) {
    all[2 * i] = {cases[i], DType::f32, magnitude};
    all[2 * i + 1] = {cases[i], DType::bf16, magnitude};
  }
  return all;
}

/// Of zeros, of subnormal numbers and of large ones: their squares are beyond a float.
inline constexpr std::array<SumCase, 1> kFarSumCases{{{1031}}};
inline constexpr auto kFarSumOfSquaresCases =
    join(sum_of_squares_cases(kFarSumCases, 0),
         join(sum_of_squares_cases(kFarSumCases, 1e-38), sum_of_squares_cases(kFarSumCases, 1e37)));

template <>
struct OpCheck<SumOfSquares> {
  static constexpr auto kCases = join(sum_of_squares_cases(kSumCases), kFarSumOfSquaresCases);
  static constexpr auto kThoroughCases = sum_of_squares_cases(kThoroughSumCases);
  static void run(Trial& trial, const SumOfSquaresCase& c);
};

}  // namespace octet::ops::selftest
