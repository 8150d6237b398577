// Half precision: one source exhaustively, two and three at random, against long double rounded once; what happens to
// the halves of registers.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <map>
#include <string>

#include "sim/half_reference.h"
#include "sim/one_wave.h"

namespace octet::sim {
namespace {

TEST(VectorHalf, EveryValueOfOneSource) {
  using Reference = std::function<long double(long double)>;
  const std::map<std::string, Reference> references{
      {"v_floor_f16", [](long double x) { return std::floor(x); }},
      {"v_ceil_f16", [](long double x) { return std::ceil(x); }},
      {"v_trunc_f16", [](long double x) { return std::trunc(x); }},
      {"v_rndne_f16", [](long double x) { return std::nearbyint(x); }},
      {"v_fract_f16",
       [](long double x) { return std::isinf(x) ? NAN : std::fmin(x - std::floor(x), 2047.0L / 2048) + 0 * x; }},
      {"v_rcp_f16", [](long double x) { return 1 / x; }},
      {"v_sqrt_f16", [](long double x) { return std::sqrt(x); }},
      {"v_rsq_f16", [](long double x) { return 1 / std::sqrt(x); }},
      {"v_exp_f16", [](long double x) { return std::exp2(x); }},
      {"v_log_f16", [](long double x) { return std::log2(x); }},
      {"v_frexp_mant_f16", [](long double x) {
         int exponent = 0;
         return std::isfinite(x) ? std::frexp(x, &exponent) : x;
       }}};
  OneWave one;
  for (const auto& [mnemonic, reference] : references) {
    for (u32 first = 0; first < 0x1'0000; first += kLanes) {
      for (u32 lane = 0; lane < kLanes; ++lane) one.v(0)[lane] = 0xABCD'0000U | (first + lane);
      one.v(1).fill(0xFFFF'FFFF);
      one.run(mnemonic + "_e32 v1, v0");
      for (u32 lane = 0; lane < kLanes; ++lane) {
        const u32 expected = nearest_half(reference(half_value(first + lane)));
        ASSERT_TRUE(same_half(one.v(1)[lane], expected))
            << mnemonic << std::hex << " of " << first + lane << " gave " << one.v(1)[lane] << ", not " << expected;
      }
    }
  }
}

TEST(VectorHalf, EveryAngle) {
  OneWave one;
  const long double two_pi = 2 * std::acos(-1.0L);
  for (u32 first = 0; first < 0x1'0000; first += kLanes) {
    for (u32 lane = 0; lane < kLanes; ++lane) one.v(0)[lane] = first + lane;
    one.run("v_sin_f16_e32 v1, v0");
    one.run("v_cos_f16_e32 v2, v0");
    for (u32 lane = 0; lane < kLanes; ++lane) {
      const double turns = half_value(first + lane);
      const long double angle = two_pi * std::fmod(turns, 1.0);
      if (!std::isfinite(turns)) {
        EXPECT_TRUE(std::isnan(half_value(one.v(1)[lane])) && std::isnan(half_value(one.v(2)[lane]))) << turns;
      } else {
        // Zeros by their value: which sign rounding leaves to a multiple of pi is chance.
        EXPECT_EQ(half_value(one.v(1)[lane]), half_value(nearest_half(std::sin(angle)))) << turns;
        EXPECT_EQ(half_value(one.v(2)[lane]), half_value(nearest_half(std::cos(angle)))) << turns;
      }
    }
  }
}

using Reference = std::function<u32(u32 a, u32 b, u32 c)>;

/// What is above the halves of sources must not matter, and zeros are above that of D.
void expect_halves(const std::string& text, const Reference& reference) {
  OneWave one;
  HalfOperands operands;
  for (int trial = 0; trial < 300; ++trial) {
    for (std::size_t source = 0; source < 3; ++source) {
      for (u32& lane : one.v(source)) lane = operands.next() << 16 | operands.next();
    }
    one.v(9).fill(0xFFFF'FFFF);
    one.run(text);
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const u32 a = one.v(0)[lane] & 0xFFFFU;
      const u32 b = one.v(1)[lane] & 0xFFFFU;
      const u32 c = one.v(2)[lane] & 0xFFFFU;
      const u32 expected = reference(a, b, c);
      ASSERT_TRUE(same_half(one.v(9)[lane], expected)) << text << std::hex << ": " << a << ", " << b << ", " << c
                                                       << " gave " << one.v(9)[lane] << ", not " << expected;
    }
  }
}

u32 larger(u32 a, u32 b) {
  const double x = half_value(a);
  const double y = half_value(b);
  const auto is_signalling = [](u32 bits) { return std::isnan(half_value(bits)) && (bits & 0x200U) == 0; };
  if (is_signalling(a) || is_signalling(b)) return 0x7E00;
  if (std::isnan(x) || std::isnan(y)) return std::isnan(x) ? b : a;
  if (x == y) return std::signbit(x) ? b : a;
  return x > y ? a : b;
}
u32 smaller(u32 a, u32 b) {
  return larger(a ^ 0x8000U, b ^ 0x8000U) ^ 0x8000U;
}

TEST(VectorHalf, TwoAndThreeSources) {
  const auto with = [](const auto& f) {
    return [f](u32 a, u32 b, u32 c) -> u32 {
      return nearest_half(f(static_cast<long double>(half_value(a)), static_cast<long double>(half_value(b)),
                            static_cast<long double>(half_value(c))));
    };
  };
  using Wide = long double;
  expect_halves("v_add_f16_e32 v9, v0, v1", with([](Wide x, Wide y, Wide) { return x + y; }));
  expect_halves("v_sub_f16_e32 v9, v0, v1", with([](Wide x, Wide y, Wide) { return x - y; }));
  expect_halves("v_subrev_f16_e32 v9, v0, v1", with([](Wide x, Wide y, Wide) { return y - x; }));
  expect_halves("v_mul_f16_e32 v9, v0, v1", with([](Wide x, Wide y, Wide) { return x * y; }));
  expect_halves("v_fma_legacy_f16 v9, v0, v1, v2", with([](Wide x, Wide y, Wide z) { return x * y + z; }));
  expect_halves("v_add_f16_e64 v9, -v0, |v1|", with([](Wide x, Wide y, Wide) { return -x + std::fabs(y); }));
  expect_halves("v_mul_f16_e32 v9, 0.5, v1", with([](Wide, Wide y, Wide) { return y / 2; }));
  expect_halves("v_add_f16_e64 v9, v0, v1 clamp", with([](Wide x, Wide y, Wide) {
                  return std::isnan(x + y) || x + y <= 0 ? Wide{0} : std::fmin(x + y, Wide{1});
                }));
  expect_halves("v_max_f16_e32 v9, v0, v1", [](u32 a, u32 b, u32) { return larger(a, b); });
  expect_halves("v_min_f16_e32 v9, v0, v1", [](u32 a, u32 b, u32) { return smaller(a, b); });
  expect_halves("v_ldexp_f16_e32 v9, v0, v1", [](u32 a, u32 b, u32) {
    return nearest_half(std::ldexp(half_value(a), static_cast<std::int16_t>(b)));
  });
}

/// v_fma_f16 and its like read and write either half, and leave the other.
TEST(VectorHalf, OpSelNamesHalves) {
  OneWave one;
  HalfOperands operands;
  for (int trial = 0; trial < 100; ++trial) {
    for (std::size_t row = 0; row < 3; ++row) {
      for (u32& lane : one.v(row)) lane = operands.next() << 16 | operands.next();
    }
    one.v(9).fill(0x1234'5678);
    one.run("v_fma_f16 v9, v0, -v1, v2 op_sel:[1,0,1,1]");
    one.v(10).fill(0x1234'5678);
    one.run("v_max3_f16 v10, v0, v1, v2 op_sel:[0,1,0,0]");
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const long double a = half_value(one.v(0)[lane] >> 16);
      const long double b = half_value(one.v(1)[lane] & 0xFFFFU);
      const long double c = half_value(one.v(2)[lane] >> 16);
      ASSERT_TRUE(same_half(one.v(9)[lane] >> 16, nearest_half(a * -b + c))) << lane;
      ASSERT_EQ(one.v(9)[lane] & 0xFFFFU, 0x5678U);
      const u32 expected = larger(larger(one.v(0)[lane] & 0xFFFFU, one.v(1)[lane] >> 16), one.v(2)[lane] & 0xFFFFU);
      ASSERT_TRUE(same_half(one.v(10)[lane] & 0xFFFFU, expected)) << lane;
      ASSERT_EQ(one.v(10)[lane] >> 16, 0x1234U);
    }
  }
}

TEST(VectorHalf, ProductsAreNotRoundedBeforeTheSum) {
  OneWave one;
  one.v(0).fill(0x3C01);  // 1 + 2^-10
  one.v(1).fill(0x3C01);
  one.v(2).fill(0xBC02);  // -(1 + 2^-9): what is left is 2^-20
  one.run("v_fma_f16 v3, v0, v1, v2");
  EXPECT_EQ(half_value(one.v(3)[7] & 0xFFFFU), 0x1p-20);
}

TEST(VectorHalf, Conversions) {
  OneWave one;
  for (u32 first = 0; first < 0x1'0000; first += kLanes) {
    for (u32 lane = 0; lane < kLanes; ++lane) one.v(0)[lane] = first + lane;
    one.run("v_cvt_f16_u16_e32 v1, v0");
    one.run("v_cvt_f16_i16_e32 v2, v0");
    one.run("v_cvt_u16_f16_e32 v3, v0");
    one.run("v_cvt_i16_f16_e32 v4, v0");
    one.run("v_frexp_exp_i16_f16_e32 v5, v0");
    for (u32 lane = 0; lane < kLanes; ++lane) {
      const u32 bits = first + lane;
      const double value = half_value(bits);
      ASSERT_EQ(one.v(1)[lane], nearest_half(bits));
      ASSERT_EQ(one.v(2)[lane], nearest_half(static_cast<std::int16_t>(bits)));
      const double whole = std::isnan(value) ? 0 : std::trunc(value);
      ASSERT_EQ(one.v(3)[lane], static_cast<u32>(std::fmin(std::fmax(whole, 0), 65535))) << bits;
      const auto nearest = static_cast<i32>(std::fmin(std::fmax(whole, -32768), 32767));
      ASSERT_EQ(one.v(4)[lane], static_cast<u32>(nearest) & 0xFFFFU) << bits;
      const int exponent = std::isfinite(value) && value != 0 ? std::ilogb(value) + 1 : 0;
      ASSERT_EQ(one.v(5)[lane], static_cast<u32>(exponent) & 0xFFFFU) << bits;
    }
  }
}

TEST(VectorHalf, PairsOfFloatsTowardZeroAndToNearest) {
  OneWave one;
  Operands operands;
  for (int trial = 0; trial < 200; ++trial) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      // Magnitudes from below the least half to above the largest.
      one.v(0)[lane] = (operands.next() & 0x8000'0000U) | (0x3200'0000U + operands.next() % 0x1600'0000U);
      one.v(1)[lane] = operands.next();
    }
    one.run("v_cvt_pkrtz_f16_f32 v2, v0, v1");
    one.run("v_cvt_pk_f16_f32 v3, v0, v1", Generation::cdna4);
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      for (std::size_t half = 0; half < 2; ++half) {
        const auto value = std::bit_cast<float>(one.v(half)[lane]);
        const u32 nearest = nearest_half(value);
        ASSERT_TRUE(same_half(one.v(3)[lane] >> (16 * half) & 0xFFFFU, nearest)) << value;
        // Toward zero: the nearest or the one before it, none of which is beyond the value.
        const bool is_beyond = std::fabs(half_value(nearest)) > std::fabs(value);
        const u32 expected = is_beyond ? nearest - 1 : nearest;
        ASSERT_TRUE(same_half(one.v(2)[lane] >> (16 * half) & 0xFFFFU, expected)) << value;
      }
    }
  }
}

TEST(VectorHalf, FractionsOfTheLargestInteger) {
  OneWave one;
  for (u32 first = 0; first < 0x1'0000; first += kLanes) {
    for (u32 lane = 0; lane < kLanes; ++lane) {
      one.v(0)[lane] = first + lane;
      one.v(1)[lane] = std::bit_cast<u32>(static_cast<float>(half_value(first + lane)));
    }
    one.run("v_cvt_norm_u16_f16_e32 v2, v0");
    one.run("v_cvt_norm_i16_f16_e32 v3, v0");
    one.run("v_cvt_pknorm_u16_f16 v4, v0, v0");
    one.run("v_cvt_pknorm_i16_f32 v5, v1, -v1");
    for (u32 lane = 0; lane < kLanes; ++lane) {
      const double value = half_value(first + lane);
      const double known = std::isnan(value) ? 0 : value;
      const auto part = static_cast<u32>(std::nearbyint(std::fmin(std::fmax(known, 0), 1) * 65535));
      const auto signed_part = static_cast<i32>(std::nearbyint(std::fmin(std::fmax(known, -1), 1) * 32767));
      const u32 low = static_cast<u32>(signed_part) & 0xFFFFU;
      const u32 negated = static_cast<u32>(-signed_part) & 0xFFFFU;
      ASSERT_EQ(one.v(2)[lane], part) << value;
      ASSERT_EQ(one.v(3)[lane], low) << value;
      ASSERT_EQ(one.v(4)[lane], part | part << 16) << value;
      ASSERT_EQ(one.v(5)[lane], low | negated << 16) << value;
    }
  }
}

TEST(VectorHalf, Packing) {
  OneWave one;
  one.v(0).fill(0x1111'2222);
  one.v(1).fill(0x3333'4444);
  one.run("v_pack_b32_f16 v2, v0, v1");
  EXPECT_EQ(one.v(2)[9], 0x4444'2222U);
  one.run("v_pack_b32_f16 v2, -v0, v1 op_sel:[1,0,0]");
  EXPECT_EQ(one.v(2)[9], 0x4444'9111U);
}

TEST(VectorHalf, SdwaAndComparisons) {
  OneWave one;
  one.v(0).fill(0x4000'3C00);  // 2, 1
  one.v(1).fill(0x3C00'4200);  // 1, 3
  one.run("v_add_f16_sdwa v2, v0, v1 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_1 src1_sel:WORD_0");
  EXPECT_EQ(half_value(one.v(2)[0]), 5);
  one.run("v_cmp_gt_f16_e32 vcc, v0, v1");
  EXPECT_EQ(one.wave.vcc(), 0U);
  one.run("v_cmp_lt_f16_e64 s[0:1], v0, -v1");
  EXPECT_EQ(one.s64(0), 0U);
  one.run("v_cmp_ge_f16_e64 s[0:1], v0, -v1");
  EXPECT_EQ(one.s64(0), kAllLanes);
  one.v(3).fill(1U << 8);  // positive normal
  one.run("v_cmp_class_f16_e32 vcc, v0, v3");
  EXPECT_EQ(one.wave.vcc(), kAllLanes);
  one.v(0).fill(0x0001);
  one.run("v_cmp_class_f16_e32 vcc, v0, v3");
  EXPECT_EQ(one.wave.vcc(), 0U);
}

TEST(VectorHalf, DivisionFixUp) {
  OneWave one;
  const auto fixed = [&](u32 quotient, u32 denominator, u32 numerator) {
    one.v(0).fill(quotient);
    one.v(1).fill(denominator);
    one.v(2).fill(numerator);
    one.run("v_div_fixup_f16 v3, v0, v1, v2");
    return one.v(3)[0] & 0xFFFFU;
  };
  EXPECT_EQ(fixed(0x4200, 0x3C00, 0xC200), 0xC200U);  // sign of the operands
  EXPECT_EQ(fixed(0x7E00, 0x8000, 0x3C00), 0xFC00U);  // 1 / -0
  EXPECT_EQ(fixed(0x3C00, 0x7C00, 0x3C00), 0x0000U);  // 1 / infinity
  EXPECT_TRUE(std::isnan(half_value(fixed(0x3C00, 0x0000, 0x0000))));
}

}  // namespace
}  // namespace octet::sim
