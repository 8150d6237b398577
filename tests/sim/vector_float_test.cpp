// Vector arithmetic and comparisons on floats, single and in pairs, against double precision and definitions by cases.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <string>

#include "core/error.h"
#include "sim/one_wave.h"

namespace octet::sim {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
const float kNan = std::bit_cast<float>(0x7FC0'0000U);

float f(u32 bits) {
  return std::bit_cast<float>(bits);
}
u32 b(float value) {
  return std::bit_cast<u32>(value);
}

using Reference = std::function<float(float x, float y, float z)>;

/// NaN results are compared as such, everything else by the bit.
void expect_floats(const std::string& text, const Reference& reference, Generation generation = Generation::cdna3) {
  OneWave one;
  Operands operands;
  for (int trial = 0; trial < 200; ++trial) {
    for (std::size_t source = 0; source < 3; ++source) operands.fill(one.v(source));
    one.run(text, generation);
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const float x = f(one.v(0)[lane]);
      const float y = f(one.v(1)[lane]);
      const float z = f(one.v(2)[lane]);
      const float expected = reference(x, y, z);
      const float got = f(one.v(9)[lane]);
      if (std::isnan(expected)) {
        ASSERT_TRUE(std::isnan(got)) << text << ": " << x << ", " << y << ", " << z << " gave " << got;
      } else {
        ASSERT_EQ(b(got), b(expected)) << text << ": " << x << ", " << y << ", " << z << " gave " << got;
      }
    }
  }
}

bool is_signalling(float x) {
  return std::isnan(x) && (b(x) >> 22 & 1U) == 0;
}

/// IEEE 754-2008's maxNum, to which a signalling NaN matters.
float larger(float x, float y) {
  if (is_signalling(x) || is_signalling(y)) return kNan;
  if (std::isnan(x)) return y;
  if (std::isnan(y)) return x;
  if (x == y) return std::signbit(x) ? y : x;
  return x > y ? x : y;
}
float smaller(float x, float y) {
  return -larger(-x, -y);
}
float without_denormal(float x) {
  return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0F, x) : x;
}

TEST(VectorFloat, Arithmetic) {
  // A sum or product of two floats is exact in double, or so close to a tie of floats that rounding again is right.
  expect_floats("v_add_f32_e32 v9, v0, v1", [](float x, float y, float) { return static_cast<float>(double{x} + y); });
  expect_floats("v_subrev_f32_e32 v9, v0, v1",
                [](float x, float y, float) { return static_cast<float>(double{y} - x); });
  expect_floats("v_mul_f32_e32 v9, v0, v1", [](float x, float y, float) { return static_cast<float>(double{x} * y); });
  expect_floats("v_fma_f32 v9, v0, v1, v2", [](float x, float y, float z) { return std::fma(x, y, z); });
  expect_floats("v_max_f32_e32 v9, v0, v1", [](float x, float y, float) { return larger(x, y); });
  expect_floats("v_min_f32_e32 v9, v0, v1", [](float x, float y, float) { return smaller(x, y); });
  expect_floats("v_max3_f32 v9, v0, v1, v2", [](float x, float y, float z) { return larger(larger(x, y), z); });
  const auto any_nan = [](float x, float y, float z) { return std::isnan(x) || std::isnan(y) || std::isnan(z); };
  expect_floats(
      "v_maximum3_f32 v9, v0, v1, v2",
      [=](float x, float y, float z) { return any_nan(x, y, z) ? kNan : larger(larger(x, y), z); }, Generation::cdna4);
  expect_floats(
      "v_minimum3_f32 v9, v0, v1, v2",
      [=](float x, float y, float z) { return any_nan(x, y, z) ? kNan : smaller(smaller(x, y), z); },
      Generation::cdna4);
  expect_floats("v_fract_f32_e32 v9, v0", [](float x, float, float) {
    return std::isfinite(x) ? std::fmin(x - std::floor(x), 1 - 0x1p-24F) : kNan;
  });
  expect_floats("v_med3_f32 v9, v0, v1, v2", [](float x, float y, float z) {
    if (std::isnan(x) || std::isnan(y) || std::isnan(z)) return smaller(smaller(x, y), z);
    std::array<float, 3> sorted{x, y, z};
    std::sort(sorted.begin(), sorted.end(),
              [](float p, float q) { return p < q || (p == q && std::signbit(p) > std::signbit(q)); });
    return sorted[1];
  });
  expect_floats("v_trunc_f32_e32 v9, v0",
                [](float x, float, float) { return static_cast<float>(std::trunc(double{x})); });
  expect_floats("v_floor_f32_e32 v9, v0",
                [](float x, float, float) { return static_cast<float>(std::floor(double{x})); });
  expect_floats("v_rcp_f32_e32 v9, v0", [](float x, float, float) {
    return without_denormal(static_cast<float>(1 / double{without_denormal(x)}));
  });
  expect_floats("v_sqrt_f32_e32 v9, v0",
                [](float x, float, float) { return static_cast<float>(std::sqrt(double{without_denormal(x)})); });
}

TEST(VectorFloat, SignsAndClampAndNoFactors) {
  expect_floats("v_add_f32_e64 v9, -v0, |v1|", [](float x, float y, float) { return -x + std::fabs(y); });
  expect_floats("v_mul_f32_e64 v9, -|v0|, v1 mul:2", [](float x, float y, float) { return -std::fabs(x) * y; });
  expect_floats("v_add_f32_e64 v9, v0, v1 clamp", [](float x, float y, float) {
    const float sum = x + y;
    return std::isnan(sum) ? 0.0F : std::clamp(sum, 0.0F, 1.0F) + 0.0F;
  });
}

TEST(VectorFloat, Accumulation) {
  OneWave one;
  one.v(0).fill(b(3));
  one.v(1).fill(b(5));
  one.v(2).fill(b(7));
  one.run("v_fmac_f32_e32 v2, v0, v1");
  EXPECT_EQ(f(one.v(2)[0]), 22);
  one.run("v_fmamk_f32 v3, v0, 0x40000000, v1");
  EXPECT_EQ(f(one.v(3)[0]), 11);
  one.run("v_fmaak_f32 v3, v0, v1, 0x40000000");
  EXPECT_EQ(f(one.v(3)[0]), 17);
}

TEST(VectorFloat, ANanIsThatOfTheFirstSourceOrTheDefaultOne) {
  OneWave one;
  one.v(0).fill(b(kInfinity));
  one.v(1).fill(b(-kInfinity));
  one.v(2).fill(0xFF80'1234U);  // signalling
  one.run("v_add_f32_e32 v3, v0, v1");
  EXPECT_EQ(one.v(3)[5], 0xFFC0'0000U);
  one.run("v_add_f32_e32 v3, v0, v2");
  EXPECT_EQ(one.v(3)[5], 0xFFC0'1234U);
  one.run("v_max_f32_e32 v3, v2, v2");
  EXPECT_EQ(one.v(3)[5], 0xFFC0'1234U);
  one.run("v_max_f32_e32 v3, v0, v2");
  EXPECT_EQ(one.v(3)[5], 0xFFC0'1234U);
  one.run("v_max_f32_e32 v3, v3, v0");  // a quiet one gives way
  EXPECT_EQ(one.v(3)[5], b(kInfinity));
}

TEST(VectorFloat, PowersOfTwo) {
  OneWave one;
  one.v(0).fill(b(-1.5F));
  one.run("v_ldexp_f32 v2, v0, -3");
  EXPECT_EQ(f(one.v(2)[0]), -0.1875F);
  one.run("v_ldexp_f32 v2, v0, 0x7fffffff");
  EXPECT_EQ(f(one.v(2)[0]), -kInfinity);
  one.run("v_frexp_mant_f32_e32 v2, v0");
  EXPECT_EQ(f(one.v(2)[0]), -0.75F);
  one.run("v_frexp_exp_i32_f32_e32 v2, v0");
  EXPECT_EQ(one.v(2)[0], 1U);
  one.run("v_exp_f32_e32 v2, 4.0");
  EXPECT_EQ(f(one.v(2)[0]), 16);
  one.run("v_log_f32_e32 v2, 0.5");
  EXPECT_EQ(f(one.v(2)[0]), -1);
  one.run("v_fract_f32_e32 v2, v0");
  EXPECT_EQ(f(one.v(2)[0]), 0.5F);
}

/// Coordinates as OpenGL's table of faces has them: the face of +x is looked at with s along -z and t along -y, and so
/// on.
TEST(VectorFloat, CubeFaces) {
  struct Face {
    float x, y, z;
    float id, s, t, major;
  };
  const std::array<Face, 7> faces{{{4, 2, 1, 0, -1, -2, 8},
                                   {-4, 2, 1, 1, 1, -2, -8},
                                   {2, 4, 1, 2, 2, 1, 8},
                                   {2, -4, 1, 3, 2, -1, -8},
                                   {2, 1, 4, 4, 2, -1, 8},
                                   {2, 1, -4, 5, -2, -1, -8},
                                   {3, 3, 3, 4, 3, -3, 6}}};
  OneWave one;
  for (const Face& face : faces) {
    one.v(0).fill(b(face.x));
    one.v(1).fill(b(face.y));
    one.v(2).fill(b(face.z));
    const std::array<std::pair<const char*, float>, 4> expected{
        {{"v_cubeid_f32", face.id}, {"v_cubesc_f32", face.s}, {"v_cubetc_f32", face.t}, {"v_cubema_f32", face.major}}};
    for (const auto& [mnemonic, value] : expected) {
      one.run(std::string(mnemonic) + " v3, v0, v1, v2");
      EXPECT_EQ(f(one.v(3)[0]), value) << mnemonic << ": " << face.x << ", " << face.y << ", " << face.z;
    }
  }
}

TEST(VectorFloat, Comparisons) {
  const std::map<std::string, std::function<bool(float x, float y)>> references{{"lt", [](float x, float y) { return x < y; }},
                                                                                {"eq", [](float x, float y) { return x == y; }},
                                                                                {"le", [](float x, float y) { return x <= y; }},
                                                                                {"gt", [](float x, float y) { return x > y; }},
                                                                                {"lg", [](float x, float y) { return x < y || x > y; }},
                                                                                {"ge", [](float x, float y) { return x >= y; }},
                                                                                {"o", [](float x, float y) { return x == x && y == y; }},
                                                                                {"u", [](float x, float y) { return x != x || y != y; }},
                                                                                {"nge", [](float x, float y) { return !(x >= y); }},
                                                                                {"nlg", [](float x, float y) { return !(x < y || x > y); }},
                                                                                {"ngt", [](float x, float y) { return !(x > y); }},
                                                                                {"nle", [](float x, float y) { return !(x <= y); }},
                                                                                {"neq", [](float x, float y) { return !(x == y); }},
                                                                                {"nlt", [](float x, float y) { return !(x < y); }}};
  const std::array<float, 8> values{0.0F, -0.0F, 1, -1, kInfinity, -kInfinity, kNan, 0x1p-149F};
  OneWave one;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    one.v(0)[lane] = b(values[lane % 8]);
    one.v(1)[lane] = b(values[lane / 8]);
  }
  for (const auto& [name, reference] : references) {
    one.set_exec(0xFFFF'FFFF'FFFF'FF0FU);
    one.run("v_cmp_" + name + "_f32_e64 s[10:11], v0, v1");
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const bool active = (one.wave.exec() >> lane & 1U) != 0;
      ASSERT_EQ(one.s64(10) >> lane & 1U, active && reference(values[lane % 8], values[lane / 8]) ? 1U : 0U)
          << name << lane;
    }
  }
}

TEST(VectorFloat, Classes) {
  OneWave one;
  const std::array<u32, 10> one_of_each{0x7F80'0001, 0x7FC0'0000, 0xFF80'0000, 0xBF80'0000, 0x8000'0001,
                                        0x8000'0000, 0x0000'0000, 0x0000'0001, 0x3F80'0000, 0x7F80'0000};
  for (std::size_t lane = 0; lane < kLanes; ++lane) one.v(0)[lane] = one_of_each[lane % 10];
  for (u32 bit = 0; bit < 10; ++bit) {
    one.v(1).fill(1U << bit);
    one.run("v_cmp_class_f32_e32 vcc, v0, v1");
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      EXPECT_EQ(one.wave.vcc() >> lane & 1U, lane % 10 == bit ? 1U : 0U) << bit;
    }
  }
}

TEST(VectorFloat, IntegerComparisonsAndSelection) {
  OneWave one;
  one.v(0).fill(0xFFFF'FFFF);
  one.v(1).fill(1);
  one.run("v_cmp_gt_u32_e32 vcc, v0, v1");
  EXPECT_EQ(one.wave.vcc(), kAllLanes);
  one.run("v_cmp_gt_i32_e32 vcc, v0, v1");
  EXPECT_EQ(one.wave.vcc(), 0U);
  one.run("v_cmp_lt_i16_e32 vcc, v0, v1");
  EXPECT_EQ(one.wave.vcc(), kAllLanes);
  one.v(2).fill(0);
  one.run("v_cmp_lt_u64_e32 vcc, v[1:2], v[0:1]");  // 1 < 2^33 - 1
  EXPECT_EQ(one.wave.vcc(), kAllLanes);
  one.set_s64(kVccLo, 0xF);
  one.run("v_cndmask_b32_e32 v3, v1, v0, vcc");
  EXPECT_EQ(one.v(3)[3], 0xFFFF'FFFFU);
  EXPECT_EQ(one.v(3)[4], 1U);
  one.run("v_cmpx_eq_u32_e32 vcc, v3, v0");
  EXPECT_EQ(one.wave.exec(), 0xFU);
}

TEST(VectorFloat, Packed) {
  OneWave one;
  const auto fill = [&](std::size_t row, float low, float high) {
    one.v(row).fill(b(low));
    one.v(row + 1).fill(b(high));
  };
  const auto expect = [&](const std::string& text, float low, float high) {
    one.run(text);
    EXPECT_EQ(f(one.v(10)[33]), low) << text;
    EXPECT_EQ(f(one.v(11)[33]), high) << text;
  };
  fill(0, 2, 3);
  fill(2, 5, 7);
  fill(4, 11, 13);
  expect("v_pk_add_f32 v[10:11], v[0:1], v[2:3]", 7, 10);
  expect("v_pk_mul_f32 v[10:11], v[0:1], v[2:3]", 10, 21);
  expect("v_pk_fma_f32 v[10:11], v[0:1], v[2:3], v[4:5]", 21, 34);
  expect("v_pk_mul_f32 v[10:11], v[0:1], v[2:3] op_sel_hi:[0,1]", 10, 14);
  expect("v_pk_mul_f32 v[10:11], v[0:1], v[2:3] op_sel:[1,0]", 15, 21);
  expect("v_pk_add_f32 v[10:11], v[0:1], v[2:3] neg_lo:[0,1]", -3, 10);
  expect("v_pk_add_f32 v[10:11], v[0:1], v[2:3] neg_lo:[0,1] neg_hi:[1,0]", -3, 4);
  expect("v_pk_mul_f32 v[10:11], v[0:1], 2.0", 4, 6);
  expect("v_pk_mov_b32 v[10:11], v[0:1], v[2:3] op_sel:[1,0]", 3, 5);
  fill(10, 2, 3);
  expect("v_pk_mul_f32 v[10:11], v[10:11], v[10:11] op_sel:[1,1] op_sel_hi:[0,0]", 9, 4);
}

TEST(VectorFloat, WhatIsNotImplementedThrows) {
  OneWave one;
  EXPECT_THROW(one.run("v_unheard_of_f32 v0, v1"), Failure);
  EXPECT_THROW(one.run("v_add3_u32 v0, v1, v2, v3 clamp"), Failure);
  EXPECT_THROW(one.run("v_add_f32_e32 v0, v1, v999"), Failure);
  EXPECT_THROW(one.run("v_add_f32_e32 v0, v1"), Failure);
  EXPECT_THROW(one.run("v_bitop3_b32 v0, v1, v2, v3 bitop3:1", Generation::cdna3), Failure);
}

}  // namespace
}  // namespace octet::sim
