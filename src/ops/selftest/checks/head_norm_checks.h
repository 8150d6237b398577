// Cases of the norms of query and key heads.
#pragma once

#include "ops/selftest/op_check.h"

namespace octet::ops::selftest {

struct HeadNormCase {
  HeadNormShape shape;
  WantedCodes codes = {};  ///< of the backward
  bool non_finite = false;
  Measured measured = {};

  [[nodiscard]] std::string describe() const {
    return fmt::format("{} rows of {} + {} heads of {}, sequences of {} from {}, {}{}{}", shape.rows, shape.heads,
                       shape.kv_heads, shape.head_dim, shape.seq_len, shape.offset, selftest::describe(codes),
                       selftest::describe(measured), non_finite ? ", NaN and infinity" : "");
  }
};

/// Heads of fewer elements than a vector and of several, queries that share keys and such that do not; more rows than a
/// device's blocks take at once.
template <>
struct OpCheck<HeadNormRope> {
  static constexpr auto kCases = std::to_array<HeadNormCase>({
      {{0, 5, 2, 1, 16}},
      {{1, 1, 1, 1, 2}},
      {{7, 7, 3, 1, 6}},
      {{22, 11, 4, 2, 20, 3}},
      {{13, 5, 2, 2, 48}},
      {{67, 67, 4, 2, 64}},
      {{11, 11, 8, 1, 128, 40}},
      {{5, 5, 2, 1, 256}},
      {{4801, 100, 1, 1, 16}},
      {{22, 11, 4, 2, 16}, {}, true},
  });
  static constexpr auto kThoroughCases = std::to_array<HeadNormCase>({{{1031, 515, 32, 8, 128}}});
  static void run(Trial& trial, const HeadNormCase& c);
};

template <>
struct OpCheck<HeadNormRopeBackward> {
  static constexpr auto kCases = measured(std::to_array<HeadNormCase>({
      {{0, 5, 2, 1, 16}, kE5m2},
      {{1, 1, 1, 1, 2}, kE4m3fn},
      {{7, 7, 3, 1, 6}, kE4m3fnuz},
      {{22, 11, 4, 2, 20}, kE5m2fnuz},
      {{13, 5, 2, 2, 48}, kE4m3fnAnyScale},
      {{67, 67, 4, 2, 64}, kE4m3fn},
      {{11, 11, 8, 1, 128}},
      {{5, 5, 2, 1, 256}, kE4m3fnuz},
      {{4801, 100, 1, 1, 16}, kE4m3fn},
      {{22, 11, 4, 2, 16}, kE5m2, true},
      {{67, 67, 4, 2, 64}, kE4m3fnuz},
      {{22, 11, 4, 2, 16}, kE5m2fnuz, true},
  }));
  static constexpr auto kThoroughCases = measured(std::to_array<HeadNormCase>({{{1031, 515, 32, 8, 128}, kE4m3fn}}));
  static void run(Trial& trial, const HeadNormCase& c);
};

}  // namespace octet::ops::selftest
