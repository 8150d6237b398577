// Cases of AdamW, of clearing memory and of the search for NaN and infinity.
#pragma once

#include "ops/selftest/op_check.h"

namespace octet::ops::selftest {

struct AdamWCase {
  Index count;
  int step;  ///< from 1
  float weight_decay;
  bool non_finite = false;

  [[nodiscard]] std::string describe() const {
    return fmt::format("{} elements, step {}, weight decay {}{}", count, step, weight_decay,
                       non_finite ? ", NaN and infinity" : "");
  }
};

template <>
struct OpCheck<AdamW> {
  static constexpr std::array<AdamWCase, 7> kCases{{{0, 1, 0.1F},
                                                    {1, 1, 0},
                                                    {17, 1, 0.1F},
                                                    {1031, 100, 0.1F},
                                                    {65537, 3, 0},
                                                    {150001, 7, 0.1F},
                                                    {1031, 2, 0.1F, true}}};
  static constexpr std::array<AdamWCase, 1> kThoroughCases{{{2000003, 5, 0.1F}}};
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
