// Cases of the grouped products: rows grouped, and the contraction grouped.
#pragma once

#include "ops/selftest/checks/routed_rows.h"

namespace octet::ops::selftest {

struct GroupedGemmCase {
  Split split;
  Index n, k;
  DType a = DType::bf16, b = DType::bf16;
  bool b_transposed = false;
  bool non_finite = false;

  [[nodiscard]] std::string describe() const;
};

template <>
struct OpCheck<GroupedGemm> {
  static constexpr auto kCases = std::to_array<GroupedGemmCase>({
      {kHostileSplit, 72, 96},
      {kHostileSplit, 88, 40, DType::bf16, DType::bf16, true},
      {kUnevenSplit, 24, 136, DType::bf16, DType::bf16, true},
      {kAllInOne, 264, 48},
      {kOneRow, 37, 19},
      {kNoRows, 24, 32},
      {kNoRoom, 24, 32},
      {kShortSplit, 40, 0},
      {kShortSplit, 24, 40, DType::bf16, DType::bf16, false, true},
      {kHostileSplit, 72, 96, DType::e4m3fn, DType::e4m3fn},
      {kHostileSplit, 80, 144, DType::e4m3fnuz, DType::e4m3fnuz},
      {kUnevenSplit, 136, 48, DType::e4m3fn, DType::e4m3fn},
      {kUnevenSplit, 24, 272, DType::e4m3fnuz, DType::e4m3fnuz},
      {kAllInOne, 264, 64, DType::e4m3fn, DType::e4m3fn},
      {kWholeTiles, 128, 128, DType::e4m3fn, DType::e4m3fn},
      {kOneRow, 16, 16, DType::e4m3fnuz, DType::e4m3fnuz},
      {kOneRow, 37, 19, DType::e4m3fn, DType::e4m3fn},
      {kNoRows, 32, 32, DType::e4m3fn, DType::e4m3fn},
      {kShortSplit, 48, 80, DType::e5m2, DType::e4m3fn},
      {kShortSplit, 48, 80, DType::e5m2fnuz, DType::e4m3fnuz},
      {kShortSplit, 32, 48, DType::e4m3fn, DType::e4m3fn, false, true},
      {kShortSplit, 32, 48, DType::e4m3fnuz, DType::e4m3fnuz, false, true},
  });
  static constexpr auto kThoroughCases = std::to_array<GroupedGemmCase>({
      {kHostileSplit, 2880, 704},
      {kUnevenSplit, 1408, 320, DType::bf16, DType::bf16, true},
      {kHostileSplit, 1408, 720, DType::e4m3fn, DType::e4m3fn},
      {kUnevenSplit, 272, 2880, DType::e4m3fnuz, DType::e4m3fnuz},
  });
  static void run(Trial& trial, const GroupedGemmCase& c);
};

struct GroupedWgradCase {
  Split split;
  Index m, n;
  DType a = DType::bf16, b = DType::bf16;
  DType d_dtype = DType::f32;
  bool accumulate = false;
  bool non_finite = false;

  [[nodiscard]] std::string describe() const;
};

template <>
struct OpCheck<GroupedWgrad> {
  static constexpr auto kCases = std::to_array<GroupedWgradCase>({
      {kHostileSplit, 72, 40},
      {kHostileSplit, 24, 88, DType::bf16, DType::bf16, DType::bf16},
      {kUnevenSplit, 24, 72, DType::bf16, DType::bf16, DType::f32, true},
      {kAllInOne, 136, 48},
      {kOneRow, 37, 19},
      {kNoRows, 24, 32},
      {kNoRows, 24, 32, DType::bf16, DType::bf16, DType::f32, true},
      {kNoRoom, 24, 32, DType::bf16, DType::bf16, DType::bf16},
      {kShortSplit, 24, 40, DType::bf16, DType::bf16, DType::f32, false, true},
      {kHostileSplit, 72, 40, DType::e4m3fn, DType::e4m3fn},
      {kHostileSplit, 24, 88, DType::e4m3fnuz, DType::e4m3fnuz, DType::bf16},
      {kUnevenSplit, 136, 48, DType::e4m3fn, DType::e4m3fn, DType::f32, true},
      {kAllInOne, 40, 264, DType::e4m3fnuz, DType::e4m3fnuz},
      {kWholeTiles, 128, 128, DType::e4m3fn, DType::e4m3fn, DType::bf16},
      {kOneRow, 37, 19, DType::e4m3fn, DType::e4m3fn},
      {kNoRows, 32, 16, DType::e4m3fn, DType::e4m3fn},
      {kNoRows, 32, 16, DType::e4m3fn, DType::e4m3fn, DType::f32, true},
      {kNoRoom, 32, 16, DType::e4m3fnuz, DType::e4m3fnuz, DType::bf16},
      {kShortSplit, 48, 80, DType::e5m2, DType::e4m3fn},
      {kShortSplit, 48, 80, DType::e5m2fnuz, DType::e4m3fnuz},
      {kShortSplit, 32, 48, DType::e4m3fn, DType::e4m3fn, DType::f32, false, true},
      {kShortSplit, 32, 48, DType::e4m3fnuz, DType::e4m3fnuz, DType::bf16, false, true},
  });
  static constexpr auto kThoroughCases = std::to_array<GroupedWgradCase>({
      {kHostileSplit, 1408, 320},
      {kHostileSplit, 1408, 320, DType::e4m3fn, DType::e4m3fn},
      {kUnevenSplit, 272, 2880, DType::e4m3fnuz, DType::e4m3fnuz, DType::bf16},
  });
  static void run(Trial& trial, const GroupedWgradCase& c);
};

}  // namespace octet::ops::selftest
