// Cases of the permutation of tokens, and of its casts.
#pragma once

#include "ops/selftest/checks/routed_rows.h"

namespace octet::ops::selftest {

struct GatherCase {
  Split split;
  Index top_k, dim;
  WantedCodes codes;
  Content content = Content::ordinary;
  Measured measured = {};

  [[nodiscard]] std::string describe() const {
    return fmt::format("{}, top {}, dim {} {}, {}{}", split.describe(), top_k, dim, name(content),
                       selftest::describe(codes), selftest::describe(measured));
  }
};

/// A short split with every kind of content.
[[nodiscard]] constexpr auto gather_contents(Index dim, const fp8::ScaleRule& rule) {
  std::array<GatherCase, kContents.size()> cases{};
  for (std::size_t i = 0; i < cases.size(); ++i) cases[i] = {kShortSplit, 2, dim, rule, kContents[i]};
  return cases;
}

template <>
struct OpCheck<GatherRows> {
  static constexpr auto kCases = join(measured(std::to_array<GatherCase>({
                                          {kHostileSplit, 2, 24, kE4m3fn},
                                          {kShortSplit, 3, 24, std::nullopt},
                                          {kNoRows, 2, 24, kE4m3fn},
                                          {kOneRow, 1, 37, kE5m2fnuz},
                                      })),
                                      measured_fully(join(std::to_array<GatherCase>({
                                                              {kHostileSplit, 2, 72, kE4m3fn},
                                                              {kUnevenSplit, 4, 24, kE4m3fnuz},
                                                              {kAllInOne, 3, 88, kE4m3fnAnyScale},
                                                              {kWholeTiles, 1, 16, kE5m2},
                                                              {kNoRoom, 2, 24, kE4m3fn},
                                                              {kShortSplit, 8, 1048, kE4m3fn},  // more than a block
                                                              {kManyRows, 8, 16, kE4m3fn},
                                                          }),
                                                          gather_contents(40, kE4m3fn))));
  static constexpr auto kThoroughCases = measured_fully(std::to_array<GatherCase>(
      {{kHostileSplit, 8, 2880, kE4m3fn}, {kUnevenSplit, 6, 1408, kE4m3fnuz}, {kAllInOne, 8, 7168, kE4m3fn}}));
  static void run(Trial& trial, const GatherCase& c);
};

template <>
struct OpCheck<GatherRowsCast> {
  static constexpr auto kCases = join(join(std::to_array<GatherCase>({
                                               {kHostileSplit, 2, 72, kE4m3fn},
                                               {kUnevenSplit, 4, 136, kE4m3fnuz},
                                               {kAllInOne, 3, 88, kE4m3fnAnyScale},
                                               {kWholeTiles, 1, 64, kE5m2},
                                               {kOneRow, 1, 37, kE5m2fnuz},
                                               {kNoRows, 2, 24, kE4m3fn},
                                               {kNoRoom, 2, 24, kE4m3fn},
                                               {kShortSplit, 8, 1048, kE4m3fn},
                                               {kManyRows, 8, 16, kE4m3fn},
                                           }),
                                           gather_contents(40, kE4m3fn)),
                                      gather_contents(24, kE4m3fnuzAnyScale));
  static constexpr auto kThoroughCases = std::to_array<GatherCase>(
      {{kHostileSplit, 8, 2880, kE4m3fn}, {kUnevenSplit, 6, 1408, kE4m3fnuz}, {kAllInOne, 8, 7168, kE4m3fn}});
  static void run(Trial& trial, const GatherCase& c);
};

struct CombineCase {
  Index rows, top_k, dim;
  bool non_finite = false;

  [[nodiscard]] std::string describe() const {
    return fmt::format("{} tokens, top {}, dim {}{}", rows, top_k, dim, non_finite ? ", NaN and infinity" : "");
  }
};

template <>
struct OpCheck<CombineRows> {
  static constexpr auto kCases = std::to_array<CombineCase>({
      {0, 2, 24},
      {1, 1, 1},
      {1, 8, 24},
      {17, 2, 72},
      {65, 3, 37},
      {130, 8, 88},
      {9, 4, 1048},
      {13, 3, 40, true},
  });
  static constexpr auto kThoroughCases = std::to_array<CombineCase>({{515, 8, 2880}, {131, 6, 1408}});
  static void run(Trial& trial, const CombineCase& c);
};

}  // namespace octet::ops::selftest
