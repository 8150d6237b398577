// The recipes against their definition, operand by operand, and the size rules at each of their borders.
#include "fp8/recipe.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace octet::fp8 {
namespace {

constexpr Operand kBf16{Precision::bf16, ScaleAxis::none};
constexpr Operand kTensor{Precision::e4m3, ScaleAxis::tensor};
constexpr Operand kTensorGradient{Precision::e5m2, ScaleAxis::tensor};
constexpr Operand kRow{Precision::e4m3, ScaleAxis::row};

const Recipe& recipe(std::string_view name) {
  const Recipe* found = find_recipe(name);
  if (found == nullptr) throw std::invalid_argument(std::string(name));
  return *found;
}

std::string reason(std::string_view name, std::int64_t n, std::int64_t k, bool ignore_size = false) {
  return std::string(stays_bf16(recipe(name), n, k, ignore_size).value_or("FP8"));
}

TEST(Recipe, Names) {
  EXPECT_EQ(recipe_names(), (std::array<std::string_view, 4>{"bf16", "tensorwise", "rowwise", "rowwise_hp_wgrad"}));
  for (const std::string_view name : recipe_names()) EXPECT_EQ(recipe(name).name, name);
  EXPECT_EQ(find_recipe("rowwise_with_gw_hp"), find_recipe("rowwise_hp_wgrad"));
  EXPECT_EQ(find_recipe("row_wise"), nullptr);
  EXPECT_EQ(find_recipe(""), nullptr);
}

TEST(Recipe, Bf16) {
  for (const Gemm& gemm : {recipe("bf16").forward, recipe("bf16").dgrad, recipe("bf16").wgrad}) {
    EXPECT_EQ(gemm, (Gemm{kBf16, kBf16, Accumulation::full}));
  }
  EXPECT_FALSE(recipe("bf16").uses_fp8());
}

TEST(Recipe, Tensorwise) {
  EXPECT_EQ(recipe("tensorwise").forward, (Gemm{kTensor, kTensor, Accumulation::fast}));
  EXPECT_EQ(recipe("tensorwise").dgrad, (Gemm{kTensorGradient, kTensor, Accumulation::full}));
  EXPECT_EQ(recipe("tensorwise").wgrad, (Gemm{kTensorGradient, kTensor, Accumulation::full}));
  EXPECT_FALSE(recipe("tensorwise").power_of_two);
}

TEST(Recipe, Rowwise) {
  EXPECT_EQ(recipe("rowwise").forward, (Gemm{kRow, kRow, Accumulation::fast}));
  EXPECT_EQ(recipe("rowwise").dgrad, (Gemm{kRow, kRow, Accumulation::full}));
  EXPECT_EQ(recipe("rowwise").wgrad, (Gemm{kRow, kRow, Accumulation::full}));
  EXPECT_TRUE(recipe("rowwise").power_of_two);
}

TEST(Recipe, RowwiseWithWeightGradientInHighPrecision) {
  EXPECT_EQ(recipe("rowwise_hp_wgrad").forward, (Gemm{kRow, kRow, Accumulation::fast}));
  EXPECT_EQ(recipe("rowwise_hp_wgrad").dgrad, (Gemm{kRow, kTensor, Accumulation::full})) << "one scale for all of W";
  EXPECT_EQ(recipe("rowwise_hp_wgrad").wgrad, (Gemm{kBf16, kBf16, Accumulation::full}));
  EXPECT_TRUE(recipe("rowwise_hp_wgrad").power_of_two);
}

TEST(StaysBf16, TensorwiseBorders) {
  EXPECT_EQ(reason("tensorwise", 1024, 4096), "N <= 1024 and K <= 4096");
  EXPECT_EQ(reason("tensorwise", 1040, 4096), "FP8");
  EXPECT_EQ(reason("tensorwise", 1024, 4112), "FP8");
  EXPECT_EQ(reason("tensorwise", 1024, 4096, true), "FP8");
}

TEST(StaysBf16, RowwiseBorders) {
  for (const std::string_view name : {"rowwise", "rowwise_hp_wgrad"}) {
    EXPECT_EQ(reason(name, 2048, 8192), "N <= 2048");
    EXPECT_EQ(reason(name, 2064, 8192), "FP8");
    EXPECT_EQ(reason(name, 8192, 1024), "K <= 1024");
    EXPECT_EQ(reason(name, 8192, 1040), "FP8");
    EXPECT_EQ(reason(name, 4096, 2048), "N <= 4096 and K <= 2048");
    EXPECT_EQ(reason(name, 4112, 2048), "FP8");
    EXPECT_EQ(reason(name, 4096, 2064), "FP8");
    EXPECT_EQ(reason(name, 64, 64, true), "FP8");
  }
}

TEST(StaysBf16, AlignmentIsNotAMatterOfSize) {
  for (const std::string_view name : {"tensorwise", "rowwise", "rowwise_hp_wgrad"}) {
    for (const bool ignore_size : {false, true}) {
      EXPECT_EQ(reason(name, 8200, 8192, ignore_size), "N is not a multiple of 16");
      EXPECT_EQ(reason(name, 8192, 8200, ignore_size), "K is not a multiple of 16");
    }
  }
}

TEST(StaysBf16, AlwaysUnderTheBf16Recipe) {
  EXPECT_EQ(reason("bf16", 8192, 8192, true), "the recipe is bf16");
}

}  // namespace
}  // namespace octet::fp8
