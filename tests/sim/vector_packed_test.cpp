// Two halves or integers of 16 bits in a register, sums that mix formats, and dot products.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <string>

#include "core/error.h"
#include "sim/half_reference.h"
#include "sim/one_wave.h"

namespace octet::sim {
namespace {

u32 low(u32 a) {
  return a & 0xFFFFU;
}
u32 high(u32 a) {
  return a >> 16;
}

/// Of halves, both of which are computed alike.
using Reference = std::function<u32(u32 a, u32 b, u32 c)>;

void expect_pairs(const std::string& text, const Reference& of_low, const Reference& of_high,
                  Generation generation = Generation::cdna3) {
  OneWave one;
  HalfOperands operands;
  for (int trial = 0; trial < 200; ++trial) {
    for (std::size_t row = 0; row < 3; ++row) {
      for (u32& lane : one.v(row)) lane = operands.next() << 16 | operands.next();
    }
    one.run(text, generation);
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const u32 a = one.v(0)[lane];
      const u32 b = one.v(1)[lane];
      const u32 c = one.v(2)[lane];
      ASSERT_TRUE(same_half(low(one.v(9)[lane]), of_low(a, b, c)))
          << text << std::hex << ": " << a << ", " << b << ", " << c << " gave " << one.v(9)[lane];
      ASSERT_TRUE(same_half(high(one.v(9)[lane]), of_high(a, b, c)))
          << text << std::hex << ": " << a << ", " << b << ", " << c << " gave " << one.v(9)[lane];
    }
  }
}

/// The same of low halves and of high halves.
void expect_alike(const std::string& text, const Reference& reference, Generation generation = Generation::cdna3) {
  expect_pairs(
      text, [&](u32 a, u32 b, u32 c) { return reference(low(a), low(b), low(c)); },
      [&](u32 a, u32 b, u32 c) { return reference(high(a), high(b), high(c)); }, generation);
}

u32 sum(u32 a, u32 b) {
  return nearest_half(static_cast<long double>(half_value(a)) + half_value(b));
}
u32 fused(u32 a, u32 b, u32 c) {
  return nearest_half(static_cast<long double>(half_value(a)) * half_value(b) + half_value(c));
}

TEST(VectorPacked, Halves) {
  expect_alike("v_pk_add_f16 v9, v0, v1", [](u32 a, u32 b, u32) { return sum(a, b); });
  expect_alike("v_pk_mul_f16 v9, v0, v1", [](u32 a, u32 b, u32) { return fused(a, b, 0x8000); });
  expect_alike("v_pk_fma_f16 v9, v0, v1, v2", fused);
  expect_alike("v_pk_add_f16 v9, v0, v1 clamp", [](u32 a, u32 b, u32) {
    const double exact = half_value(a) + half_value(b);
    return exact > 0 ? nearest_half(std::fmin(exact, 1)) : 0U;
  });
  expect_pairs(
      "v_pk_add_f16 v9, v0, v1 op_sel:[1,0] op_sel_hi:[0,1]", [](u32 a, u32 b, u32) { return sum(high(a), low(b)); },
      [](u32 a, u32 b, u32) { return sum(low(a), high(b)); });
  expect_pairs(
      "v_pk_add_f16 v9, v0, v1 neg_lo:[0,1] neg_hi:[1,0]",
      [](u32 a, u32 b, u32) { return sum(low(a), low(b) ^ 0x8000U); },
      [](u32 a, u32 b, u32) { return sum(high(a) ^ 0x8000U, high(b)); });
  expect_pairs(
      "v_pk_mul_f16 v9, v0, 2.0 op_sel_hi:[1,0]", [](u32 a, u32, u32) { return sum(low(a), low(a)); },
      [](u32 a, u32, u32) { return sum(high(a), high(a)); });
}

TEST(VectorPacked, SmallestAndLargestHalves) {
  const auto is_signalling = [](u32 a) { return std::isnan(half_value(a)) && (a & 0x200U) == 0; };
  const auto larger = [=](u32 a, u32 b) {
    if (is_signalling(a) || is_signalling(b)) return 0x7E00U;
    if (std::isnan(half_value(a))) return b;
    if (std::isnan(half_value(b))) return a;
    if (half_value(a) == half_value(b)) return std::signbit(half_value(a)) ? b : a;
    return half_value(a) > half_value(b) ? a : b;
  };
  expect_alike("v_pk_max_f16 v9, v0, v1", [=](u32 a, u32 b, u32) { return larger(a, b); });
  expect_alike("v_pk_min_f16 v9, v0, v1",
               [=](u32 a, u32 b, u32) { return larger(a ^ 0x8000U, b ^ 0x8000U) ^ 0x8000U; });
  const auto maximum3 = [=](u32 a, u32 b, u32 c) {
    for (const u32 bits : {a, b, c}) {
      if (std::isnan(half_value(bits))) return 0x7E00U;
    }
    return larger(larger(a, b), c);
  };
  expect_alike("v_pk_maximum3_f16 v9, v0, v1, v2", maximum3, Generation::cdna4);
  expect_alike(
      "v_pk_minimum3_f16 v9, v0, v1, v2",
      [=](u32 a, u32 b, u32 c) { return maximum3(a ^ 0x8000U, b ^ 0x8000U, c ^ 0x8000U) ^ 0x8000U; },
      Generation::cdna4);
}

TEST(VectorPacked, AccumulatedHalves) {
  OneWave one;
  one.v(0).fill(0x4200'4000);  // 3, 2
  one.v(1).fill(0x4400'4400);  // 4, 4
  one.v(2).fill(0x3C00'3800);  // 1, 0.5
  one.run("v_pk_fmac_f16_e32 v2, v0, v1");
  EXPECT_EQ(half_value(low(one.v(2)[5])), 8.5);
  EXPECT_EQ(half_value(high(one.v(2)[5])), 13);
}

/// Integers, by 64 bits of the host; exactly the bits of the result.
void expect_integers(const std::string& mnemonic, int sources, bool is_signed, bool clamp,
                     const std::function<i64(i64 a, i64 b, i64 c)>& reference) {
  OneWave one;
  Operands operands;
  std::string text = mnemonic + " v9, v0, v1";
  if (sources == 3) text += ", v2";
  if (clamp) text += " clamp";
  const i64 least = is_signed ? -32768 : 0;
  const i64 most = is_signed ? 32767 : 65535;
  for (int trial = 0; trial < 100; ++trial) {
    for (std::size_t row = 0; row < 3; ++row) operands.fill(one.v(row));
    one.run(text);
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      for (u32 half = 0; half < 2; ++half) {
        const auto value = [&](std::size_t row) {
          const u32 bits = one.v(row)[lane] >> (16 * half) & 0xFFFFU;
          return is_signed ? i64{static_cast<std::int16_t>(bits)} : i64{bits};
        };
        const i64 exact = reference(value(0), value(1), value(2));
        const i64 expected = clamp ? std::min(std::max(exact, least), most) : exact;
        ASSERT_EQ(one.v(9)[lane] >> (16 * half) & 0xFFFFU, static_cast<u64>(expected) & 0xFFFFU)
            << text << ": " << value(0) << ", " << value(1) << ", " << value(2);
      }
    }
  }
}

TEST(VectorPacked, Integers) {
  const auto add = [](i64 a, i64 b, i64) { return a + b; };
  const auto subtract = [](i64 a, i64 b, i64) { return a - b; };
  const auto multiply = [](i64 a, i64 b, i64) { return a * b; };
  const auto multiply_add = [](i64 a, i64 b, i64 c) { return a * b + c; };
  for (const bool clamp : {false, true}) {
    expect_integers("v_pk_add_i16", 2, true, clamp, add);
    expect_integers("v_pk_add_u16", 2, false, clamp, add);
    expect_integers("v_pk_sub_i16", 2, true, clamp, subtract);
    expect_integers("v_pk_sub_u16", 2, false, clamp, subtract);
    expect_integers("v_pk_mad_i16", 3, true, clamp, multiply_add);
    expect_integers("v_pk_mad_u16", 3, false, clamp, multiply_add);
  }
  expect_integers("v_pk_mul_lo_u16", 2, false, false, multiply);
  expect_integers("v_pk_min_i16", 2, true, false, [](i64 a, i64 b, i64) { return std::min(a, b); });
  expect_integers("v_pk_max_u16", 2, false, false, [](i64 a, i64 b, i64) { return std::max(a, b); });
  expect_integers("v_pk_lshlrev_b16", 2, false, false, [](i64 a, i64 b, i64) { return b * (1 << a % 16); });
  expect_integers("v_pk_lshrrev_b16", 2, false, false, [](i64 a, i64 b, i64) { return b / (1 << a % 16); });
  expect_integers("v_pk_ashrrev_i16", 2, true, false, [](i64 a, i64 b, i64) {
    return static_cast<i64>(std::floor(static_cast<double>(b) / (1 << (a & 15))));
  });
}

TEST(VectorPacked, OpSelOfIntegersAndConstants) {
  OneWave one;
  one.v(0).fill(0x0007'0003);
  one.run("v_pk_add_u16 v9, v0, v0 op_sel:[0,1] op_sel_hi:[1,0]");
  EXPECT_EQ(one.v(9)[0], 0x000A'000AU);
  one.run("v_pk_add_u16 v9, v0, 1 op_sel_hi:[1,0]");
  EXPECT_EQ(one.v(9)[0], 0x0008'0004U);
  one.run("v_pk_sub_i16 v9, v0, -1");  // a constant of 32 bits
  EXPECT_EQ(one.v(9)[0], 0x0008'0004U);
  EXPECT_THROW(one.run("v_pk_add_u16 v9, v0, v0 neg_lo:[1,0]"), Failure);
}

TEST(VectorPacked, MixedSums) {
  OneWave one;
  const auto b = [](float value) { return std::bit_cast<u32>(value); };
  one.v(0).fill(0x4200'4000);  // 3, 2
  one.v(1).fill(b(0.25F));
  one.v(2).fill(0x3C00'3800);  // 1, 0.5
  one.run("v_fma_mix_f32 v9, v0, v1, v2 op_sel_hi:[1,0,1]");
  EXPECT_EQ(one.v(9)[0], b(1.0F));
  one.run("v_fma_mix_f32 v9, v0, -v1, v2 op_sel:[1,0,1] op_sel_hi:[1,0,1]");
  EXPECT_EQ(one.v(9)[0], b(0.25F));
  one.run("v_fma_mix_f32 v9, v1, v1, v1");  // floats all
  EXPECT_EQ(one.v(9)[0], b(0.3125F));
  one.run("v_fma_mix_f32 v9, v1, 2.0, -|v1|");
  EXPECT_EQ(one.v(9)[0], b(0.25F));
  one.v(9).fill(0x1111'2222);
  one.run("v_fma_mixlo_f16 v9, v1, v1, v1");
  EXPECT_EQ(one.v(9)[0], 0x1111'3500U);  // 0.3125
  one.run("v_fma_mixhi_f16 v9, v0, v1, v1 op_sel_hi:[1,0,0]");
  EXPECT_EQ(one.v(9)[0], 0x3A00'3500U);  // 0.75
  EXPECT_THROW(one.run("v_fma_mix_f32 v9, 2.0, v1, v1 op_sel_hi:[1,0,0]"), Failure);
}

TEST(VectorPacked, DotProductsOfIntegers) {
  struct Case {
    const char* mnemonic;
    int bits;
    bool is_signed;
  };
  const std::array<Case, 6> cases{{{"v_dot2_i32_i16", 16, true},
                                   {"v_dot2_u32_u16", 16, false},
                                   {"v_dot4_i32_i8", 8, true},
                                   {"v_dot4_u32_u8", 8, false},
                                   {"v_dot8_i32_i4", 4, true},
                                   {"v_dot8_u32_u4", 4, false}}};
  OneWave one;
  Operands operands;
  for (const Case& tested : cases) {
    for (int trial = 0; trial < 100; ++trial) {
      const bool clamp = trial % 2 == 1;
      for (std::size_t row = 0; row < 3; ++row) operands.fill(one.v(row));
      one.run(std::string(tested.mnemonic) + " v9, v0, v1, v2" + (clamp ? " clamp" : ""));
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        i64 expected = tested.is_signed ? i64{static_cast<i32>(one.v(2)[lane])} : i64{one.v(2)[lane]};
        for (int at = 0; at < 32; at += tested.bits) {
          std::array<i64, 2> factors{};
          for (std::size_t row = 0; row < 2; ++row) {
            factors[row] = one.v(row)[lane] >> at & ((1U << tested.bits) - 1);
            const bool negative = tested.is_signed && factors[row] >= 1 << (tested.bits - 1);
            if (negative) factors[row] -= 1 << tested.bits;
          }
          expected += factors[0] * factors[1];
        }
        const i64 least = tested.is_signed ? std::numeric_limits<i32>::min() : 0;
        const i64 most = tested.is_signed ? std::numeric_limits<i32>::max() : 0xFFFF'FFFF;
        if (clamp) expected = std::clamp(expected, least, most);
        ASSERT_EQ(one.v(9)[lane], static_cast<u32>(expected)) << tested.mnemonic << " lane " << lane;
      }
    }
  }
  one.v(0).fill(0x0203'0405);
  one.v(1).fill(0x0101'01FF);
  one.v(2).fill(100);
  one.run("v_dot4c_i32_i8_e32 v2, v0, v1");
  EXPECT_EQ(one.v(2)[0], 100U + 2 + 3 + 4 - 5);
}

TEST(VectorPacked, DotProductsOfFloats) {
  OneWave one;
  const auto b = [](float value) { return std::bit_cast<u32>(value); };
  one.v(0).fill(0x4200'4000);  // halves 3, 2
  one.v(1).fill(0x4400'3800);  // halves 4, 0.5
  one.v(2).fill(b(100));
  one.run("v_dot2_f32_f16 v9, v0, v1, v2");
  EXPECT_EQ(one.v(9)[0], b(113));
  one.run("v_dot2_f32_f16 v9, v0, v1, v2 neg_lo:[1,0,0] neg_hi:[1,0,0]");
  EXPECT_EQ(one.v(9)[0], b(87));
  one.run("v_dot2c_f32_f16_e32 v2, v0, v1");
  EXPECT_EQ(one.v(2)[0], b(113));
  one.v(0).fill(0x4040'4000);  // bf16 3, 2
  one.v(1).fill(0x4080'3F00);  // bf16 4, 0.5
  one.run("v_dot2c_f32_bf16_e32 v2, v0, v1", Generation::cdna4);
  EXPECT_EQ(one.v(2)[0], b(126));
  // 2^14 * 2^14 - 2^14 * 2^14 + 1 is 1 only if products are not rounded away.
  one.v(0).fill(0x7400'7400);
  one.v(1).fill(0xF400'7400);
  one.v(2).fill(b(1));
  one.run("v_dot2_f32_f16 v9, v0, v1, v2");
  EXPECT_EQ(one.v(9)[0], b(1));
}

}  // namespace
}  // namespace octet::sim
