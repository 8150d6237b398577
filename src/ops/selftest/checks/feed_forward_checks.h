// Cases of SwiGLU.
#pragma once

#include "ops/selftest/op_check.h"

namespace octet::ops::selftest {

struct SwigluCase {
  Index rows, dim;
  WantedCodes codes;
  bool non_finite = false;
  Measured measured = {};

  [[nodiscard]] std::string describe() const {
    return fmt::format("[{}, {}], {}{}{}", rows, dim, selftest::describe(codes), selftest::describe(measured),
                       non_finite ? ", NaN and infinity" : "");
  }
};

template <>
struct OpCheck<SwigluForward> {
  static constexpr auto kCases = measured(std::to_array<SwigluCase>({
      {0, 16, kE4m3fn},
      {1, 1, kE4m3fn},
      {1, 19, std::nullopt},
      {3, 17, kE5m2},
      {5, 64, kE4m3fnuz},
      {13, 127, kE5m2fnuz},
      {257, 96, kE4m3fnuzAnyScale},
      {4300, 16, kE4m3fn},  // more rows than blocks of a GPU
      {64, 1031, kE4m3fnAnyScale},
      {37, 512, std::nullopt},
      {7, 37, kE4m3fn, true},
      {6, 128, kE5m2, true},
  }));
  static constexpr auto kThoroughCases =
      measured(std::to_array<SwigluCase>({{1031, 768, kE4m3fn}, {67, 8191, kE4m3fnuz}}));
  static void run(Trial& trial, const SwigluCase& c);
};

template <>
struct OpCheck<SwigluBackward> {
  static constexpr auto kCases = OpCheck<SwigluForward>::kCases;
  static constexpr auto kThoroughCases = OpCheck<SwigluForward>::kThoroughCases;
  static void run(Trial& trial, const SwigluCase& c);
};

/// Among them tiles of a GPU, whole and with a rest each way.
template <>
struct OpCheck<SwigluBackwardCast> {
  static constexpr auto kCases = std::to_array<SwigluCase>({
      {0, 16, kE4m3fn},
      {1, 1, kE4m3fn},
      {3, 17, kE5m2},
      {5, 64, kE4m3fnuz},
      {13, 127, kE5m2fnuz},
      {257, 96, kE4m3fnuzAnyScale},
      {64, 1031, kE4m3fnAnyScale},
      {256, 192, kE4m3fn},
      {528, 200, kE5m2},
      {16, 25696, kE4m3fn},  // more tiles than blocks
      {7, 37, kE4m3fn, true},
      {144, 128, kE5m2, true},
  });
  static constexpr auto kThoroughCases = std::to_array<SwigluCase>({{1031, 768, kE4m3fn}, {67, 8191, kE4m3fnuz}});
  static void run(Trial& trial, const SwigluCase& c);
};

}  // namespace octet::ops::selftest
