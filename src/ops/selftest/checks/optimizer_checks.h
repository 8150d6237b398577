// Cases of AdamW, of clearing memory and of the search for NaN and infinity.
#pragma once

#include "ops/selftest/op_check.h"

namespace octet::ops::selftest {

struct AdamWCase {
  Index rows, cols;
  int step;  ///< from 1
  float weight_decay, lr_scale;
  bool non_finite = false;
  bool has_master = true;
  DType gradients = DType::f32;
  DType moments = DType::f32;
  bool measures = false;
  Index matrices = 1;

  [[nodiscard]] Index all_rows() const { return matrices * rows; }
  [[nodiscard]] std::string describe() const;
};

[[nodiscard]] constexpr AdamWCase several(Index matrices, AdamWCase c) {
  c.matrices = matrices;
  return c;
}

/// Every case with a master and without, with either kind of gradients and moments, measured and not.
template <std::size_t N>
[[nodiscard]] constexpr auto adamw_cases(const std::array<AdamWCase, N>& cases) {
  constexpr unsigned kChoices = 16;
  std::array<AdamWCase, N * kChoices> all{};
  std::size_t next = 0;
  for (AdamWCase c : cases) {
    for (unsigned choice = 0; choice < kChoices; ++choice) {
      c.has_master = (choice & 1U) == 0;
      c.gradients = (choice & 2U) == 0 ? DType::f32 : DType::bf16;
      c.moments = (choice & 4U) == 0 ? DType::f32 : DType::bf16;
      c.measures = (choice & 8U) != 0;
      all[next++] = c;
    }
  }
  return all;
}

template <>
struct OpCheck<AdamW> {
  static constexpr auto kCases =
      adamw_cases(std::to_array<AdamWCase>({{0, 5, 1, 0.1F, 1},
                                            {4, 0, 1, 0.1F, 1},
                                            {1, 1, 1, 0, 1},
                                            {1, 17, 1, 0.1F, 0.5F},
                                            {5, 7, 2, 0.1F, 3},
                                            {6, 6, 2, 0.1F, 1},
                                            {1, 1031, 100, 0.1F, 1},
                                            {1, 65537, 3, 0, 1},
                                            {67, 33, 4, 0.1F, 0.25F},
                                            {64, 32, 1, 0.1F, 1},
                                            {523, 131, 7, 0.1F, 1},
                                            {803, 72, 7, 0.1F, 1},  // more rows than blocks of a GPU
                                            {7, 37, 2, 0.1F, 1, true},
                                            several(3, {24, 40, 2, 0.1F, 1}),
                                            several(4, {67, 33, 3, 0.1F, 1}),
                                            several(0, {16, 24, 1, 0.1F, 1})}));
  static constexpr auto kThoroughCases = adamw_cases(std::to_array<AdamWCase>({{1931, 1035, 5, 0.1F, 1}}));
  static void run(Trial& trial, const AdamWCase& c);
};

struct ZeroCase {
  Index bytes;

  [[nodiscard]] std::string describe() const { return fmt::format("{} bytes", bytes); }
};

template <>
struct OpCheck<Zero> {
  static constexpr std::array<ZeroCase, 5> kCases{{{0}, {1}, {63}, {4097}, {3000001}}};
  static constexpr std::array<ZeroCase, 1> kThoroughCases{{{30000001}}};
  static void run(Trial& trial, const ZeroCase& c);
};

struct FindNonFiniteCase {
  Index count;
  DType dtype;
  Index first;  ///< where the first NaN is put; -1 for nowhere

  [[nodiscard]] std::string describe() const { return fmt::format("{} {}, first at {}", count, name(dtype), first); }
};

template <>
struct OpCheck<FindNonFinite> {
  static constexpr std::array<FindNonFiniteCase, 12> kCases{{
      {0, DType::bf16, -1},
      {0, DType::f32, -1},
      {1, DType::bf16, 0},
      {1, DType::f32, 0},
      {1031, DType::bf16, -1},
      {1031, DType::f32, -1},
      {1031, DType::bf16, 1030},
      {1031, DType::f32, 1029},
      {200003, DType::bf16, 65535},
      {200003, DType::f32, 65536},
      {200003, DType::bf16, 131071},
      {200003, DType::f32, -1},
  }};
  static constexpr std::array<FindNonFiniteCase, 1> kThoroughCases{{{5000011, DType::bf16, 4000037}}};
  static void run(Trial& trial, const FindNonFiniteCase& c);
};

}  // namespace octet::ops::selftest
