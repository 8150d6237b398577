// Integers of 16 bits and of bytes: halves of registers, clamp, sums of differences, packing.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <string>
#include <utility>

#include "sim/one_wave.h"

namespace octet::sim {
namespace {

i64 as_short(u32 bits, bool is_signed) {
  return is_signed ? i64{static_cast<std::int16_t>(bits)} : i64{bits & 0xFFFFU};
}
i64 in_short(i64 value, bool is_signed) {
  return is_signed ? std::clamp<i64>(value, -32768, 32767) : std::clamp<i64>(value, 0, 65535);
}

struct Case {
  std::string mnemonic;
  std::size_t sources;
  bool is_signed;
  bool selects;  ///< has op_sel, and leaves the other half of D
  std::function<i64(i64 a, i64 b, i64 c)> reference;
};

const std::array<Case, 12> kCases{{{"v_add_u16_e64", 2, false, false, [](i64 a, i64 b, i64) { return a + b; }},
                                   {"v_sub_u16_e64", 2, false, false, [](i64 a, i64 b, i64) { return a - b; }},
                                   {"v_subrev_u16_e64", 2, false, false, [](i64 a, i64 b, i64) { return b - a; }},
                                   {"v_mad_legacy_u16", 3, false, false, [](i64 a, i64 b, i64 c) { return a * b + c; }},
                                   {"v_mad_legacy_i16", 3, true, false, [](i64 a, i64 b, i64 c) { return a * b + c; }},
                                   {"v_add_i16", 2, true, true, [](i64 a, i64 b, i64) { return a + b; }},
                                   {"v_sub_i16", 2, true, true, [](i64 a, i64 b, i64) { return a - b; }},
                                   {"v_mad_u16", 3, false, true, [](i64 a, i64 b, i64 c) { return a * b + c; }},
                                   {"v_mad_i16", 3, true, true, [](i64 a, i64 b, i64 c) { return a * b + c; }},
                                   {"v_min3_i16", 3, true, true,
                                    [](i64 a, i64 b, i64 c) {
                                      return std::min({a, b, c});
                                    }},
                                   {"v_max3_u16", 3, false, true,
                                    [](i64 a, i64 b, i64 c) {
                                      return std::max({a, b, c});
                                    }},
                                   {"v_med3_i16", 3, true, true, [](i64 a, i64 b, i64 c) {
                                      std::array<i64, 3> sorted{a, b, c};
                                      std::sort(sorted.begin(), sorted.end());
                                      return sorted[1];
                                    }}}};

TEST(VectorShort, ArithmeticAndClamp) {
  OneWave one;
  Operands operands;
  for (const Case& tested : kCases) {
    const bool may_clamp = tested.mnemonic.find("3_") == std::string::npos;
    for (int trial = 0; trial < 60; ++trial) {
      const bool clamp = may_clamp && trial % 2 == 1;
      for (std::size_t row = 0; row < 3; ++row) operands.fill(one.v(row));
      one.v(9).fill(0x1357'9BDF);
      one.run(tested.mnemonic + " v9, v0, v1" + (tested.sources == 3 ? ", v2" : "") + (clamp ? " clamp" : ""));
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        const auto source = [&](std::size_t row) { return as_short(one.v(row)[lane], tested.is_signed); };
        const i64 exact = tested.reference(source(0), source(1), source(2));
        const i64 value = clamp ? in_short(exact, tested.is_signed) : exact;
        const u32 other = tested.selects ? 0x1357'0000U : 0U;
        ASSERT_EQ(one.v(9)[lane], other | (static_cast<u32>(value) & 0xFFFFU)) << tested.mnemonic << " " << clamp;
      }
    }
  }
}

TEST(VectorShort, OpSelNamesHalves) {
  OneWave one;
  one.v(0).fill(0x0005'0007);
  one.v(1).fill(0x000B'000D);
  one.v(2).fill(0x0011'0013);
  one.v(9).fill(0xAAAA'BBBB);
  one.run("v_mad_u16 v9, v0, v1, v2 op_sel:[1,0,1,1]");
  EXPECT_EQ(one.v(9)[1], (5U * 13 + 17) << 16 | 0xBBBBU);
  one.run("v_add_i16 v9, v0, v1 op_sel:[0,1,0]");
  EXPECT_EQ(one.v(9)[1], (5U * 13 + 17) << 16 | 18U);
  one.run("v_mad_u32_u16 v9, v0, v1, v2 op_sel:[1,1,0,0]");
  EXPECT_EQ(one.v(9)[1], 5U * 11 + 0x0011'0013);
  one.v(0).fill(0xFFFE);
  one.run("v_mad_i32_i16 v9, v0, v1, v2");
  EXPECT_EQ(one.v(9)[1], 0x0011'0013U - 26);
}

TEST(VectorShort, Packing) {
  OneWave one;
  one.v(0).fill(70'000);
  one.v(1).fill(static_cast<u32>(-40'000));
  one.run("v_cvt_pk_u16_u32 v9, v0, v1");
  EXPECT_EQ(one.v(9)[0], 0xFFFF'FFFFU);
  one.run("v_cvt_pk_i16_i32 v9, v0, v1");
  EXPECT_EQ(one.v(9)[0], 0x8000'7FFFU);
  one.v(0).fill(0xFFFF'0180);  // -1, 384
  one.run("v_sat_pk_u8_i16_e32 v9, v0");
  EXPECT_EQ(one.v(9)[0], 0x0000'00FFU);
  one.v(0).fill(0x0012'0034);
  one.run("v_sat_pk_u8_i16_e32 v9, v0");
  EXPECT_EQ(one.v(9)[0], 0x0000'1234U);
  one.v(0).fill(1000);
  one.v(1).fill(static_cast<u32>(-1000));
  one.v(2).fill(34);  // shifts by 2
  one.v(9).fill(0xAAAA'BBBB);
  one.run("v_ashr_pk_i8_i32 v9, v0, v1, v2", Generation::cdna4);
  EXPECT_EQ(one.v(9)[0], 0xAAAA'807FU);
  one.run("v_ashr_pk_u8_i32 v9, v0, v1, v2 op_sel:[0,0,0,1]", Generation::cdna4);
  EXPECT_EQ(one.v(9)[0], 0x00FA'807FU);
}

TEST(VectorBytes, FloatsIntoBytes) {
  OneWave one;
  one.v(1).fill(6);  // byte 2
  one.v(2).fill(0x1122'3344);
  for (const auto& [value, byte] : {std::pair(2.5F, 2U), {3.5F, 4U}, {-1.0F, 0U}, {300.0F, 255U}, {NAN, 0U}}) {
    one.v(0).fill(std::bit_cast<u32>(value));
    one.run("v_cvt_pk_u8_f32 v9, v0, v1, v2");
    EXPECT_EQ(one.v(9)[0], 0x1100'3344U | byte << 16) << value;
    one.v(9).fill(0xAAAA'BBBB);
    one.run("v_cvt_pkaccum_u8_f32 v9, v0, v1");
    EXPECT_EQ(one.v(9)[0], 0xAA00'BBBBU | byte << 16) << value;
  }
}

u32 differences(u64 a, u32 b, bool masked) {
  u32 sum = 0;
  for (int byte = 0; byte < 4; ++byte) {
    const int x = static_cast<int>(a >> (8 * byte) & 0xFFU);
    const int y = static_cast<int>(b >> (8 * byte) & 0xFFU);
    if (!masked || y != 0) sum += static_cast<u32>(std::abs(x - y));
  }
  return sum;
}

TEST(VectorBytes, SumsOfDifferences) {
  OneWave one;
  Operands operands;
  for (std::size_t row = 0; row < 8; ++row) operands.fill(one.v(row));
  for (u32& lane : one.v(2)) lane &= 0xFF00'FFFFU;  // a byte that is masked
  one.run("v_msad_u8 v10, v0, v2, v3");
  one.run("v_sad_hi_u8 v11, v0, v2, v3");
  one.run("v_sad_u16 v12, v0, v2, v3");
  one.run("v_lerp_u8 v13, v0, v2, v3");
  one.run("v_qsad_pk_u16_u8 v[14:15], v[0:1], v2, v[4:5]");
  one.run("v_mqsad_pk_u16_u8 v[16:17], v[0:1], v2, v[4:5] clamp");
  one.run("v_mqsad_u32_u8 v[20:23], v[0:1], v2, v[4:7]");
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    const u32 a = one.v(0)[lane];
    const u32 b = one.v(2)[lane];
    const u32 c = one.v(3)[lane];
    const u64 bytes = a | u64{one.v(1)[lane]} << 32;
    ASSERT_EQ(one.v(10)[lane], differences(a, b, true) + c);
    ASSERT_EQ(one.v(11)[lane], differences(a, b, false) * 65536 + c);
    const i64 words = std::abs(i64{a % 65536} - b % 65536) + std::abs(i64{a / 65536} - b / 65536);
    ASSERT_EQ(one.v(12)[lane], static_cast<u32>(words) + c);
    for (u32 k = 0; k < 4; ++k) {
      const u32 average = ((a >> 8 * k & 255U) + (b >> 8 * k & 255U) + (c >> 8 * k & 1U)) / 2;
      ASSERT_EQ(one.v(13)[lane] >> 8 * k & 255U, average);
      const u32 summand = one.v(4 + k / 2)[lane] >> 16 * (k % 2) & 0xFFFFU;
      const u32 plain = differences(bytes >> 8 * k, b, false) + summand;
      const u32 masked = differences(bytes >> 8 * k, b, true) + summand;
      ASSERT_EQ(one.v(14 + k / 2)[lane] >> 16 * (k % 2) & 0xFFFFU, plain % 65536) << k;
      ASSERT_EQ(one.v(16 + k / 2)[lane] >> 16 * (k % 2) & 0xFFFFU, std::min(masked, 65535U)) << k;
      ASSERT_EQ(one.v(20 + k)[lane], differences(bytes >> 8 * k, b, true) + one.v(4 + k)[lane]) << k;
    }
  }
}

}  // namespace
}  // namespace octet::sim
