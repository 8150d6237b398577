// Cases of the ops that DeepSeek-V3 has beside those of its experts: rows of latent attention, sums, shifted tokens.
#pragma once

#include "ops/selftest/op_check.h"
#include "ops/selftest/packing.h"

namespace octet::ops::selftest {

struct LatentCase {
  MlaShape shape;
  Index beside = 0;  ///< columns that lie between the rows of q, and between those of the shared key
  bool non_finite = false;

  [[nodiscard]] std::string describe() const {
    return fmt::format("{} rows in sequences of {}, {} heads of {} + {} and {}{}{}", shape.rows, shape.seq_len,
                       shape.heads, shape.nope_dim, shape.rope_dim, shape.value_dim,
                       beside > 0 ? fmt::format(", {} columns beside", beside) : "",
                       non_finite ? ", NaN and infinity" : "");
  }
};

template <>
struct OpCheck<MlaAssemble> {
  static constexpr auto kCases = std::to_array<LatentCase>({
      {{0, 8, 2, 16, 8, 16}},
      {{1, 1, 1, 1, 2, 1}},
      {{7, 7, 3, 5, 2, 9}, 3},
      {{16, 8, 2, 16, 8, 16}, 8},
      {{30, 10, 4, 32, 16, 24}},
      {{64, 32, 5, 128, 64, 128}, 64},
      {{12, 6, 2, 8, 4, 8}, 0, true},
  });
  static constexpr auto kThoroughCases = std::to_array<LatentCase>({{{300, 100, 16, 128, 64, 128}, 512}});
  static void run(Trial& trial, const LatentCase& c);
};

template <>
struct OpCheck<MlaAssembleBackward> {
  static constexpr auto kCases = OpCheck<MlaAssemble>::kCases;
  static constexpr auto kThoroughCases = OpCheck<MlaAssemble>::kThoroughCases;
  static void run(Trial& trial, const LatentCase& c);
};

struct AddCase {
  Index count;
  DType dtype;
  bool has_b;
  bool in_place = false;
  bool non_finite = false;

  [[nodiscard]] std::string describe() const {
    return fmt::format("{} elements, {}{}{}{}", count, name(dtype), has_b ? " and bf16" : " alone",
                       in_place ? ", in place" : "", non_finite ? ", NaN and infinity" : "");
  }
};

template <>
struct OpCheck<Add> {
  static constexpr auto kCases = std::to_array<AddCase>({
      {0, DType::bf16, true},
      {1, DType::f32, false},
      {37, DType::bf16, true},
      {1000, DType::f32, true},
      {4099, DType::f32, false},
      {131075, DType::bf16, true, true},
      {500, DType::f32, false, false, true},
      {500, DType::bf16, true, false, true},
  });
  static constexpr auto kThoroughCases = std::to_array<AddCase>({{3000001, DType::bf16, true}});
  static void run(Trial& trial, const AddCase& c);
};

struct ShiftCase {
  Index sequences, seq_len;
  std::optional<Packing> packing = {};

  [[nodiscard]] std::string describe() const {
    return fmt::format("{} sequences of {}{}", sequences, seq_len, selftest::describe(packing));
  }
};

template <>
struct OpCheck<ShiftTokens> {
  static constexpr auto kCases = std::to_array<ShiftCase>({{0, 5},
                                                           {1, 1},
                                                           {3, 1},
                                                           {1, 9},
                                                           {4, 128},
                                                           {33, 100},
                                                           {3, 1, Packing{1}},
                                                           {2, 9, Packing{1}},
                                                           {4, 128, Packing{5, {1, 64, 126}}},
                                                           {33, 100, kWholeSequences}});
  static constexpr auto kThoroughCases = std::to_array<ShiftCase>({{7, 8192}});
  static void run(Trial& trial, const ShiftCase& c);
};

}  // namespace octet::ops::selftest
