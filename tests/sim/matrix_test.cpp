// Dense matrix products, of one block and of several, against plain ones; what broadcasts and negates factors.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "core/error.h"
#include "sim/matrix_products.h"

namespace octet::sim {
namespace {

TEST(Matrix, Fp8) {
  struct Formats {
    const char* names;
    Generation generation;
    Element a, b;
  };
  for (const auto& [names, generation, a, b] : {Formats{"fp8_fp8", kCdna3, elements::kFp8Fnuz, elements::kFp8Fnuz},
                                                {"fp8_bf8", kCdna3, elements::kFp8Fnuz, elements::kBf8Fnuz},
                                                {"bf8_fp8", kCdna3, elements::kBf8Fnuz, elements::kFp8Fnuz},
                                                {"bf8_bf8", kCdna3, elements::kBf8Fnuz, elements::kBf8Fnuz},
                                                {"fp8_fp8", kCdna4, elements::kFp8Ocp, elements::kFp8Ocp},
                                                {"fp8_bf8", kCdna4, elements::kFp8Ocp, elements::kBf8Ocp},
                                                {"bf8_fp8", kCdna4, elements::kBf8Ocp, elements::kFp8Ocp},
                                                {"bf8_bf8", kCdna4, elements::kBf8Ocp, elements::kBf8Ocp}}) {
    expect_product({std::string("v_mfma_f32_16x16x32_") + names, generation, 16, 32, 1, a, b});
    expect_product({std::string("v_mfma_f32_32x32x16_") + names, generation, 32, 16, 1, a, b});
  }
}

TEST(Matrix, SixteenBits) {
  for (const auto& [name, element] : {std::pair("f16", elements::kHalf), {"bf16", elements::kBf16}}) {
    const std::string end = std::string("_") + name;
    expect_product({"v_mfma_f32_16x16x16" + end, kCdna3, 16, 16, 1, element, element});
    expect_product({"v_mfma_f32_32x32x8" + end, kCdna3, 32, 8, 1, element, element});
    expect_product({"v_mfma_f32_4x4x4_16b" + end, kCdna3, 4, 4, 16, element, element});
    expect_product({"v_mfma_f32_16x16x4_4b" + end, kCdna3, 16, 4, 4, element, element});
    expect_product({"v_mfma_f32_32x32x4_2b" + end, kCdna3, 32, 4, 2, element, element});
    expect_product({"v_mfma_f32_16x16x32" + end, kCdna4, 16, 32, 1, element, element});
    expect_product({"v_mfma_f32_32x32x16" + end, kCdna4, 32, 16, 1, element, element});
    OneWave one;
    EXPECT_THROW(one.run("v_mfma_f32_16x16x32" + end + " v[0:3], v[4:7], v[8:11], 0", kCdna3), Failure);
  }
}

TEST(Matrix, Single) {
  expect_product({"v_mfma_f32_16x16x4_f32", kCdna3, 16, 4, 1, elements::kSingle, elements::kSingle});
  expect_product({"v_mfma_f32_32x32x2_f32", kCdna4, 32, 2, 1, elements::kSingle, elements::kSingle});
  expect_product({"v_mfma_f32_4x4x1_16b_f32", kCdna3, 4, 1, 16, elements::kSingle, elements::kSingle});
  expect_product({"v_mfma_f32_16x16x1_4b_f32", kCdna4, 16, 1, 4, elements::kSingle, elements::kSingle});
  expect_product({"v_mfma_f32_32x32x1_2b_f32", kCdna3, 32, 1, 2, elements::kSingle, elements::kSingle});
}

TEST(Matrix, IntegersWrapAround) {
  const auto integer = ResultType::integer;
  expect_product({"v_mfma_i32_16x16x32_i8", kCdna3, 16, 32, 1, elements::kInt8, elements::kInt8, integer});
  expect_product({"v_mfma_i32_32x32x16_i8", kCdna4, 32, 16, 1, elements::kInt8, elements::kInt8, integer});
  expect_product({"v_mfma_i32_4x4x4_16b_i8", kCdna3, 4, 4, 16, elements::kInt8, elements::kInt8, integer});
  expect_product({"v_mfma_i32_16x16x4_4b_i8", kCdna3, 16, 4, 4, elements::kInt8, elements::kInt8, integer});
  expect_product({"v_mfma_i32_32x32x4_2b_i8", kCdna4, 32, 4, 2, elements::kInt8, elements::kInt8, integer});
  expect_product({"v_mfma_i32_16x16x64_i8", kCdna4, 16, 64, 1, elements::kInt8, elements::kInt8, integer});
  expect_product({"v_mfma_i32_32x32x32_i8", kCdna4, 32, 32, 1, elements::kInt8, elements::kInt8, integer});
  OneWave one;
  for (const std::size_t dword : {0, 1}) {
    one.v(dword).fill(0x8080'8080);  // -128 four times
    one.v(2 + dword).fill(0x7F7F'7F7F);
  }
  one.v(4).fill(0x8000'0000);
  one.run("v_mfma_i32_16x16x32_i8 v[4:7], v[0:1], v[2:3], v[4:7]");
  EXPECT_EQ(one.v(4)[5], 0x8000'0000U - 32 * 128 * 127);
}

/// Truncated to 10 bits of mantissa, whatever the sign and however near the next value is.
TEST(Matrix, Xf32CutsFactors) {
  for (const auto& [size, depth] : {std::pair(16, 8), {32, 4}}) {
    const Element cut{32, [](u64 code) { return elements::kSingle.value(code & ~u64{0x1FFF}); }};
    const std::string shape = std::to_string(size) + "x" + std::to_string(size) + "x" + std::to_string(depth);
    expect_product({"v_mfma_f32_" + shape + "_xf32", kCdna3, size, depth, 1, cut, cut});
  }
  OneWave one;
  for (const std::size_t dword : {0, 1}) {
    one.v(dword).fill(0xBF80'3FFF);  // all of the 13 bits, and 1
    one.v(2 + dword).fill(0x3F80'1FFF);
  }
  one.run("v_mfma_f32_16x16x8_xf32 v[4:7], v[0:1], v[2:3], 0");
  EXPECT_EQ(std::bit_cast<float>(one.v(4)[5]), -8 * (1 + 0x1p-10F));
  one.v(0)[0] = 0x7F80'0001;  // a NaN whose mantissa has no other bit
  one.run("v_mfma_f32_16x16x8_xf32 v[4:7], v[0:1], v[2:3], 0");
  EXPECT_EQ(one.v(4)[0], 0xFFC0'0000U);
  EXPECT_THROW(one.run("v_mfma_f32_16x16x8_xf32 v[4:7], v[0:1], v[2:3], 0", kCdna4), Failure);
}

/// A wave whose v[0:1], v[2:3] and v[4:5] are factors and addend of v_mfma_f64_4x4x4_4b_f64.
class Doubles {
 public:
  /// Register pair `pair` in the 16 lanes of that place along K.
  void fill(std::size_t pair, std::size_t k, double value) {
    const auto bits = std::bit_cast<u64>(value);
    for (std::size_t lane = 16 * k; lane < 16 * (k + 1); ++lane) {
      one_.v(2 * pair)[lane] = static_cast<u32>(bits);
      one_.v(2 * pair + 1)[lane] = static_cast<u32>(bits >> 32);
    }
  }
  void fill(std::size_t pair, double value) {
    for (std::size_t k = 0; k < 4; ++k) fill(pair, k, value);
  }
  double run(const std::string& addend_and_modifiers) {
    one_.run("v_mfma_f64_4x4x4_4b_f64 v[6:7], v[0:1], v[2:3], " + addend_and_modifiers);
    return std::bit_cast<double>(one_.v(6)[9] | u64{one_.v(7)[9]} << 32);
  }

 private:
  OneWave one_;
};

TEST(Matrix, Double) {
  const auto twice = ResultType::twice;
  expect_product({"v_mfma_f64_16x16x4_f64", kCdna3, 16, 4, 1, elements::kDouble, elements::kDouble, twice});
  expect_product({"v_mfma_f64_4x4x4_4b_f64", kCdna4, 4, 4, 4, elements::kDouble, elements::kDouble, twice});
  Doubles doubles;
  doubles.fill(0, 3);
  doubles.fill(1, 5);
  doubles.fill(2, 7);
  EXPECT_EQ(doubles.run("v[4:5]"), 67);
  EXPECT_EQ(doubles.run("v[4:5] neg:[1,0,0]"), -53);
  EXPECT_EQ(doubles.run("v[4:5] neg:[0,1,0]"), -53);
  EXPECT_EQ(doubles.run("v[4:5] neg:[0,0,1]"), 53);
  EXPECT_EQ(doubles.run("v[4:5] neg:[1,0,1]"), -67);
  EXPECT_EQ(doubles.run("v[4:5] neg:[1,1,1]"), 53);
  EXPECT_EQ(doubles.run("0.5"), 60.5);
  doubles.fill(0, std::numeric_limits<double>::infinity());
  doubles.fill(1, 0);
  EXPECT_EQ(std::bit_cast<u64>(doubles.run("0")), u64{0xFFF8} << 48);  // NaN
}

/// The addend first, then along K, nothing rounded between a product and its addition.
TEST(Matrix, DoublesAreAddedInOrder) {
  Doubles doubles;
  doubles.fill(0, 0, 1 + 0x1p-40);
  doubles.fill(1, 0, 1 + 0x1p-40);
  doubles.fill(2, -(1 + 0x1p-39));
  EXPECT_EQ(doubles.run("v[4:5]"), 0x1p-80);
  doubles.fill(1, 1);
  doubles.fill(0, 0, 0x1p60);
  doubles.fill(0, 1, -0x1p60);
  doubles.fill(0, 2, 3);
  doubles.fill(2, 1);
  EXPECT_EQ(doubles.run("v[4:5]"), 3);
}

/// With cbsz and abid, and with blgp, the instruction gives what it gives without them on operands that the test has
/// moved between lanes.
TEST(Matrix, Broadcasts) {
  struct Case {
    std::string modifiers;
    int first_a, lanes_a;  ///< of the lanes that all take their A from
    std::function<int(int lane)> source_of_b;
  };
  const auto same = [](int lane) { return lane; };
  const std::vector<Case> cases{{" cbsz:2 abid:0", 0, 16, same},
                                {" cbsz:2 abid:3", 48, 16, same},
                                {" blgp:1", 0, 64, [](int lane) { return lane % 32; }},
                                {" blgp:2", 0, 64, [](int lane) { return 32 + lane % 32; }},
                                {" blgp:3", 0, 64, [](int lane) { return (lane + 16) % 64; }},
                                {" blgp:4", 0, 64, [](int lane) { return lane % 16; }},
                                {" blgp:5", 0, 64, [](int lane) { return 16 + lane % 16; }},
                                {" blgp:6", 0, 64, [](int lane) { return 32 + lane % 16; }},
                                {" cbsz:2 abid:1 blgp:7", 16, 16, [](int lane) { return 48 + lane % 16; }}};
  for (const Case& test : cases) {
    OneWave one;
    Operands operands;
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      one.v(0)[lane] = static_cast<u32>(random_code(elements::kSingle, operands));
      one.v(1)[lane] = static_cast<u32>(random_code(elements::kSingle, operands));
    }
    for (int lane = 0; lane < kLanes; ++lane) {
      one.v(2)[static_cast<std::size_t>(lane)] = one.v(0)[static_cast<std::size_t>(test.first_a + lane % test.lanes_a)];
      one.v(3)[static_cast<std::size_t>(lane)] = one.v(1)[static_cast<std::size_t>(test.source_of_b(lane))];
    }
    one.run("v_mfma_f32_16x16x1_4b_f32 v[16:31], v0, v1, 0" + test.modifiers);
    one.run("v_mfma_f32_16x16x1_4b_f32 v[32:47], v2, v3, 0");
    for (std::size_t part = 0; part < 16; ++part) EXPECT_EQ(one.v(16 + part), one.v(32 + part)) << test.modifiers;
  }
}

TEST(Matrix, UndefinedBroadcastsAreRefused) {
  OneWave one;
  for (const char* text : {"v_mfma_f32_16x16x1_4b_f32 v[16:31], v0, v1, 0 cbsz:1",  // sources disagree
                           "v_mfma_f32_16x16x1_4b_f32 v[16:31], v0, v1, 0 cbsz:3",
                           "v_mfma_f32_16x16x1_4b_f32 v[16:31], v0, v1, 0 cbsz:2 abid:4",
                           "v_mfma_f32_16x16x4_f32 v[16:19], v0, v1, 0 cbsz:1"}) {
    EXPECT_THROW(one.run(text), Failure) << text;
  }
}

TEST(Matrix, ALiteralAddendAndNan) {
  OneWave one;
  one.v(0).fill(0x3838'3838);
  one.v(1).fill(0x3838'3838);
  one.run("v_mfma_f32_16x16x32_fp8_fp8 v[4:7], v[0:1], v[0:1], 2.0", kCdna4);
  for (std::size_t part = 4; part < 8; ++part) EXPECT_EQ(std::bit_cast<float>(one.v(part)[9]), 34);
  one.v(0)[3] = 0x3838'7F38;  // of row and column 3
  one.run("v_mfma_f32_16x16x32_fp8_fp8 v[4:7], v[0:1], v[0:1], 0", kCdna4);
  EXPECT_TRUE(std::isnan(std::bit_cast<float>(one.v(7)[9])));  // row 3
  EXPECT_TRUE(std::isnan(std::bit_cast<float>(one.v(4)[3])));  // column 3
  EXPECT_EQ(std::bit_cast<float>(one.v(4)[9]), 32);
}

/// Denormals of factors, of the addend and of the result are kept.
TEST(Matrix, DenormalsAreKept) {
  OneWave one;
  one.v(0).fill(0x0001'0000);  // bf16: 2^-133, and 0
  one.v(1).fill(0);
  one.v(2).fill(0x3F80'0000);  // 1, in the same place
  one.v(3).fill(0);
  one.v(4).fill(1);  // 2^-149
  one.run("v_mfma_f32_16x16x16_bf16 v[4:7], v[0:1], v[2:3], v[4:7]");
  EXPECT_EQ(one.v(4)[0], 4U * 0x1'0000 + 1);
}

}  // namespace
}  // namespace octet::sim
