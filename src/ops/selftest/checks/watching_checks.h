// Cases of what the numerics watch computes with: copies, and how far one tensor is from another.
#pragma once

#include "ops/selftest/op_check.h"

namespace octet::ops::selftest {

struct CopyCase {
  Index bytes;

  [[nodiscard]] std::string describe() const { return fmt::format("{} bytes", bytes); }
};

template <>
struct OpCheck<Copy> {
  static constexpr std::array<CopyCase, 5> kCases{{{0}, {1}, {63}, {4097}, {3000001}}};
  static constexpr std::array<CopyCase, 1> kThoroughCases{{{30000001}}};
  static void run(Trial& trial, const CopyCase& c);
};

struct DifferenceCase {
  Index count;
  DType dtype;
  double distance;  ///< of x from the reference, whose elements are about 1; 0 for the same bits
  bool non_finite = false;

  [[nodiscard]] std::string describe() const {
    return fmt::format("{} {}, {} apart{}", count, name(dtype), distance, non_finite ? ", NaN and infinity" : "");
  }
};

/// Every case in both dtypes.
template <std::size_t N>
[[nodiscard]] constexpr auto difference_cases(const std::array<DifferenceCase, N>& cases) {
  std::array<DifferenceCase, 2 * N> all{};
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i] = cases[i / 2];
    all[i].dtype = i % 2 == 0 ? DType::bf16 : DType::f32;
  }
  return all;
}

template <>
struct OpCheck<Difference> {
  static constexpr auto kCases = difference_cases(std::to_array<DifferenceCase>({{0, DType::f32, 0.1},
                                                                                 {1, DType::f32, 0.1},
                                                                                 {15, DType::f32, 10},
                                                                                 {17, DType::f32, 0.1},
                                                                                 {1031, DType::f32, 0.01},
                                                                                 {1031, DType::f32, 0},
                                                                                 {200003, DType::f32, 0.05},
                                                                                 {1031, DType::f32, 0.1, true}}));
  static constexpr auto kThoroughCases = difference_cases(std::to_array<DifferenceCase>({{5000011, DType::f32, 0.05}}));
  static void run(Trial& trial, const DifferenceCase& c);
};

}  // namespace octet::ops::selftest
