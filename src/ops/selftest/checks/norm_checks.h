// Cases of RMSNorm.
#pragma once

#include "ops/selftest/op_check.h"

namespace octet::ops::selftest {

struct NormCase {
  Index rows, dim;
  bool has_other;  ///< delta of the forward, residual of the backward
  WantedCodes codes;
  bool non_finite = false;
  Measured measured = {};
  Index beside = 0;  ///< columns that lie between the rows of x, and of dx

  [[nodiscard]] std::string describe() const {
    return fmt::format("[{}, {}]{}, {}{}{}{}", rows, dim, has_other ? " with a residual" : "",
                       selftest::describe(codes), selftest::describe(measured), non_finite ? ", NaN and infinity" : "",
                       beside > 0 ? ", rows apart" : "");
  }
};

template <>
struct OpCheck<RmsNormForward> {
  static constexpr auto kCases = measured(std::to_array<NormCase>({
      {0, 16, true, kE4m3fn},
      {1, 1, false, kE4m3fn},
      {1, 7, true, std::nullopt},
      {3, 17, false, kE5m2},
      {5, 64, true, kE4m3fnuz},
      {13, 127, true, kE5m2fnuz},
      {17, 128, false, std::nullopt},
      {31, 513, true, kE4m3fnAnyScale},
      {257, 96, true, kE4m3fnuzAnyScale},
      {4300, 16, true, kE4m3fn},  // more rows than blocks of a GPU
      {64, 1031, false, kE4m3fn},
      {7, 37, false, kE4m3fn, true},
      {7, 37, true, kE5m2, true},
      {9, 256, false, kE4m3fnuz, true},
      {33, 48, false, kE4m3fn, false, {}, 16},
      {5, 37, false, kE5m2, false, {}, 3},
  }));
  static constexpr auto kThoroughCases = measured(std::to_array<NormCase>({
      {1031, 768, true, kE4m3fn},
      {67, 8191, true, kE4m3fnuz},
      {1101, 4096, true, kE4m3fn},  // more rows than all blocks of a GPU hold side by side
  }));
  static void run(Trial& trial, const NormCase& c);
};

/// Among them tiles of a GPU, whole and with a rest each way.
template <>
struct OpCheck<RmsNormForwardCast> {
  static constexpr auto kCases = std::to_array<NormCase>({
      {0, 16, false, kE4m3fn},
      {1, 1, false, kE4m3fn},
      {3, 17, false, kE5m2},
      {5, 64, false, kE4m3fnuz},
      {13, 127, false, kE5m2fnuz},
      {257, 96, false, kE4m3fnuzAnyScale},
      {64, 1031, false, kE4m3fnAnyScale},
      {256, 192, false, kE4m3fn},
      {528, 200, false, kE5m2},
      {7, 37, false, kE4m3fn, true},
      {144, 128, false, kE5m2, true},
  });
  static constexpr auto kThoroughCases =
      std::to_array<NormCase>({{1031, 768, false, kE4m3fn}, {67, 8191, false, kE4m3fnuz}});
  static void run(Trial& trial, const NormCase& c);
};

template <>
struct OpCheck<RmsNormBackward> {
  static constexpr auto kCases = OpCheck<RmsNormForward>::kCases;
  static constexpr auto kThoroughCases = OpCheck<RmsNormForward>::kThoroughCases;
  static void run(Trial& trial, const NormCase& c);
};

}  // namespace octet::ops::selftest
