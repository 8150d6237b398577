// Products of FP8, BF8, FP6, BF6 and FP4 in any pair, and block scales: which lane and which byte has a block's scale.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <string>
#include <tuple>
#include <utility>

#include "core/error.h"
#include "sim/matrix_products.h"

namespace octet::sim {
namespace {

/// By the numbers that cbsz and blgp have for them.
const std::array<Element, 5> kFormats{elements::kFp8Ocp, elements::kBf8Ocp, elements::kFp6, elements::kBf6,
                                      elements::kFp4};

std::string format_modifiers(std::size_t a, std::size_t b) {
  return (a == 0 ? "" : " cbsz:" + std::to_string(a)) + (b == 0 ? "" : " blgp:" + std::to_string(b));
}

TEST(ScaledMatrix, EveryPairOfFormats) {
  for (std::size_t a = 0; a < kFormats.size(); ++a) {
    for (std::size_t b = 0; b < kFormats.size(); ++b) {
      for (const auto& [shape, size, depth] : {std::tuple("16x16x128", 16, 128), {"32x32x64", 32, 64}}) {
        expect_product({std::string("v_mfma_f32_") + shape + "_f8f6f4", kCdna4, size, depth, 1, kFormats[a],
                        kFormats[b], ResultType::single, format_modifiers(a, b)});
      }
    }
  }
}

/// Block `k / 32` of a row has its scale in the lane of that row in the group of that number, whichever lanes hold its
/// elements; op_sel and op_sel_hi number the byte.
TEST(ScaledMatrix, BlockScales) {
  struct Bytes {
    const char* modifiers;
    int a, b;
  };
  for (const auto& [size, depth] : {std::pair(16, 128), {32, 64}}) {
    for (const auto& [op_sel, byte_a, byte_b] : {Bytes{" op_sel_hi:[0,0,0]", 0, 0},
                                                 {" op_sel:[1,0,0] op_sel_hi:[0,0,0]", 1, 0},
                                                 {" op_sel:[0,1,0] op_sel_hi:[1,0,0]", 2, 1},
                                                 {" op_sel:[0,1,0]", 2, 3}}) {
      for (const auto& [a, b] : {std::pair<std::size_t, std::size_t>(0, 0), {0, 4}, {2, 3}, {4, 4}}) {
        OneWave one;
        Operands operands;
        for (u32 lane = 0; lane < kLanes; ++lane) {
          for (int byte = 0; byte < 4; ++byte) {
            one.v(40)[lane] = one.v(40)[lane] << 8 | (120 + operands.next() % 13);
            one.v(41)[lane] = one.v(41)[lane] << 8 | (124 + operands.next() % 5);
          }
        }
        const auto scale_of = [rows = size](const Lanes& lanes, int byte, int row, int k) {
          const auto lane = static_cast<std::size_t>(k / 32 * rows + row);
          return std::exp2(static_cast<int>(lanes[lane] >> (8 * byte) & 0xFFU) - 127);
        };
        const Scale scale = [&, a_byte = byte_a, b_byte = byte_b](int row, int column, int k) {
          return scale_of(one.v(40), a_byte, row, k) * scale_of(one.v(41), b_byte, column, k);
        };
        const std::string shape = size == 16 ? "16x16x128" : "32x32x64";
        expect_product({"v_mfma_scale_f32_" + shape + "_f8f6f4", kCdna4, size, depth, 1, kFormats[a], kFormats[b],
                        ResultType::single, op_sel + format_modifiers(a, b)},
                       ", v40, v41", &one, scale);
      }
    }
  }
}

/// The lanes of FP8 that hold 1 in all of A and B, with 16x16x128: D is 128.
void fill_with_ones(OneWave& one) {
  for (std::size_t dword = 0; dword < 16; ++dword) one.v(dword).fill(0x3838'3838);
}

float scaled_product(OneWave& one, const std::string& scales) {
  one.run("v_mfma_scale_f32_16x16x128_f8f6f4 v[32:35], v[0:7], v[8:15], 0, " + scales + " op_sel_hi:[0,0,0]", kCdna4);
  return std::bit_cast<float>(one.v(32)[0]);
}

TEST(ScaledMatrix, ConstantAndExtremeScales) {
  OneWave one;
  fill_with_ones(one);
  one.v(20).fill(127);
  EXPECT_EQ(scaled_product(one, "v20, v20"), 128);
  EXPECT_EQ(scaled_product(one, "1.0, v20"), 128);
  EXPECT_EQ(scaled_product(one, "v20, 4.0"), 512);
  EXPECT_EQ(scaled_product(one, "-0.5, 2.0"), 128);  // of a constant the exponent alone
  one.v(21).fill(0);                                 // 2^-127
  EXPECT_EQ(scaled_product(one, "v21, v20"), 0x1p-120F);
  one.v(21).fill(254);
  EXPECT_TRUE(std::isinf(scaled_product(one, "v21, v20")));
  one.v(21).fill(255);
  EXPECT_TRUE(std::isnan(scaled_product(one, "v21, v20")));
  EXPECT_THROW((void)scaled_product(one, "33, v20"), Failure);
}

TEST(ScaledMatrix, WhatIsNoFormat) {
  OneWave one;
  EXPECT_THROW(one.run("v_mfma_f32_32x32x64_f8f6f4 v[0:15], v[16:23], v[24:31], 0 cbsz:5", kCdna4), Failure);
  EXPECT_THROW(one.run("v_mfma_f32_32x32x64_f8f6f4 v[0:15], v[16:23], v[24:31], 0 blgp:7", kCdna4), Failure);
  EXPECT_THROW(one.run("v_mfma_f32_32x32x64_f8f6f4 v[0:15], v[16:23], v[24:31], 0", Generation::cdna3), Failure);
}

}  // namespace
}  // namespace octet::sim
