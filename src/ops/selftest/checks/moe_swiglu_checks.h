// Cases of SwiGLU with a weight for each routed row.
#pragma once

#include "ops/selftest/checks/routed_rows.h"

namespace octet::ops::selftest {

struct GroupedSwigluCase {
  Split split;
  Index top_k, dim;
  WantedCodes codes;
  bool non_finite = false;
  Measured measured = {};

  [[nodiscard]] std::string describe() const {
    return fmt::format("{}, top {}, dim {}, {}{}{}", split.describe(), top_k, dim, selftest::describe(codes),
                       selftest::describe(measured), non_finite ? ", NaN and infinity" : "");
  }
};

inline constexpr auto kGroupedSwigluCases = std::to_array<GroupedSwigluCase>({
    {kHostileSplit, 2, 72, kE4m3fn},
    {kUnevenSplit, 4, 24, kE4m3fnuz},
    {kAllInOne, 3, 88, kE4m3fnAnyScale},
    {kWholeTiles, 1, 16, kE5m2},
    {kOneRow, 1, 37, kE5m2fnuz},
    {kNoRows, 2, 24, kE4m3fn},
    {kNoRoom, 2, 24, kE4m3fn},
    {kShortSplit, 8, 1048, kE4m3fn},
    {kManyRows, 8, 16, kE4m3fn},
    {kShortSplit, 2, 40, kE4m3fn, true},
    {kShortSplit, 2, 24, kE5m2, true},
});
inline constexpr auto kThoroughGroupedSwigluCases = std::to_array<GroupedSwigluCase>(
    {{kHostileSplit, 8, 1408, kE4m3fn}, {kUnevenSplit, 6, 2880, kE4m3fnuz}, {kAllInOne, 8, 2048, kE4m3fn}});

template <>
struct OpCheck<GroupedSwigluForward> {
  static constexpr auto kCases = join(measured(std::to_array<GroupedSwigluCase>({
                                          {kHostileSplit, 2, 24, kE4m3fn},
                                          {kShortSplit, 3, 24, std::nullopt},
                                      })),
                                      measured_fully(kGroupedSwigluCases));
  static constexpr auto kThoroughCases = measured_fully(kThoroughGroupedSwigluCases);
  static void run(Trial& trial, const GroupedSwigluCase& c);
};

template <>
struct OpCheck<GroupedSwigluBackward> {
  static constexpr auto kCases = OpCheck<GroupedSwigluForward>::kCases;
  static constexpr auto kThoroughCases = OpCheck<GroupedSwigluForward>::kThoroughCases;
  static void run(Trial& trial, const GroupedSwigluCase& c);
};

template <>
struct OpCheck<GroupedSwigluCast> {
  static constexpr auto kCases = kGroupedSwigluCases;
  static constexpr auto kThoroughCases = kThoroughGroupedSwigluCases;
  static void run(Trial& trial, const GroupedSwigluCase& c);
};

}  // namespace octet::ops::selftest
