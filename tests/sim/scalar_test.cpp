// Scalar arithmetic, against 64- and 128-bit arithmetic of the host.
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>

#include "core/error.h"
#include "sim/one_wave.h"

namespace octet::sim {
namespace {

struct Expected {
  u64 value;
  bool scc;
};
using Reference = std::function<Expected(u64 a, u64 b, bool scc)>;

i64 extended(u64 a) {
  return static_cast<i32>(static_cast<u32>(a));
}
Expected tested32(u64 value) {
  return {value & 0xFFFF'FFFFU, (value & 0xFFFF'FFFFU) != 0};
}
Expected tested64(u64 value) {
  return {value, value != 0};
}
Expected overflowing(i64 sum) {
  return {static_cast<u64>(sum) & 0xFFFF'FFFFU, sum != extended(static_cast<u64>(sum))};
}

void expect_binary(const std::string& mnemonic, bool wide, const Reference& reference) {
  OneWave one;
  Operands operands;
  const std::string text = mnemonic + (wide ? " s[4:5], s[0:1], s[2:3]" : " s4, s0, s2");
  for (int trial = 0; trial < 2000; ++trial) {
    const u64 a = wide ? operands.next64() : operands.next();
    const u64 b = wide ? operands.next64() : operands.next();
    const bool scc = operands.next() % 2 != 0;
    one.set_s64(0, a);
    one.set_s64(2, b);
    one.set_s64(4, 0);
    one.wave.scc = scc;
    one.run(text);
    const Expected expected = reference(a, b, scc);
    ASSERT_EQ(one.s64(4), expected.value) << text << std::hex << " a=" << a << " b=" << b;
    ASSERT_EQ(one.wave.scc, expected.scc) << text << std::hex << " a=" << a << " b=" << b;
  }
}

TEST(Scalar, Binary32) {
  const std::map<std::string, Reference> references{
      {"s_add_u32",
       [](u64 a, u64 b, bool) {
         return Expected{(a + b) & 0xFFFF'FFFFU, a + b > 0xFFFF'FFFFU};
       }},
      {"s_addc_u32",
       [](u64 a, u64 b, bool scc) {
         return Expected{(a + b + scc) & 0xFFFF'FFFFU, a + b + scc > 0xFFFF'FFFFU};
       }},
      {"s_sub_u32",
       [](u64 a, u64 b, bool) {
         return Expected{(a - b) & 0xFFFF'FFFFU, a < b};
       }},
      {"s_subb_u32",
       [](u64 a, u64 b, bool scc) {
         return Expected{(a - b - scc) & 0xFFFF'FFFFU, a < b + scc};
       }},
      {"s_add_i32", [](u64 a, u64 b, bool) { return overflowing(extended(a) + extended(b)); }},
      {"s_sub_i32", [](u64 a, u64 b, bool) { return overflowing(extended(a) - extended(b)); }},
      {"s_mul_i32",
       [](u64 a, u64 b, bool scc) {
         return Expected{(a * b) & 0xFFFF'FFFFU, scc};
       }},
      {"s_mul_hi_u32",
       [](u64 a, u64 b, bool scc) {
         return Expected{a * b >> 32, scc};
       }},
      {"s_mul_hi_i32",
       [](u64 a, u64 b, bool scc) {
         return Expected{static_cast<u64>(extended(a) * extended(b)) >> 32, scc};
       }},
      {"s_lshl1_add_u32",
       [](u64 a, u64 b, bool) {
         return Expected{(a * 2 + b) & 0xFFFF'FFFFU, (a * 2 + b) >> 32 != 0};
       }},
      {"s_lshl4_add_u32",
       [](u64 a, u64 b, bool) {
         return Expected{(a * 16 + b) & 0xFFFF'FFFFU, (a * 16 + b) >> 32 != 0};
       }},
      {"s_min_u32",
       [](u64 a, u64 b, bool) {
         return Expected{std::min(a, b), a < b};
       }},
      {"s_max_i32",
       [](u64 a, u64 b, bool) {
         return Expected{extended(a) > extended(b) ? a : b, extended(a) >= extended(b)};
       }},
      {"s_and_b32", [](u64 a, u64 b, bool) { return tested32(a & b); }},
      {"s_orn2_b32", [](u64 a, u64 b, bool) { return tested32(a | ~b); }},
      {"s_nand_b32", [](u64 a, u64 b, bool) { return tested32(~(a & b)); }},
      {"s_xnor_b32", [](u64 a, u64 b, bool) { return tested32(~(a ^ b)); }},
      {"s_lshl_b32", [](u64 a, u64 b, bool) { return tested32(a << b % 32); }},
      {"s_lshr_b32", [](u64 a, u64 b, bool) { return tested32(a >> b % 32); }},
      {"s_ashr_i32", [](u64 a, u64 b, bool) { return tested32(static_cast<u64>(extended(a) >> b % 32)); }},
      {"s_bfe_u32",
       [](u64 a, u64 b, bool) {
         const u64 width = b >> 16 & 127U;
         return tested32(width >= 32 ? a >> b % 32 : a >> b % 32 & ((u64{1} << width) - 1));
       }},
      {"s_bfm_b32",
       [](u64 a, u64 b, bool scc) {
         return Expected{((u64{1} << a % 32) - 1) << b % 32 & 0xFFFF'FFFFU, scc};
       }},
      {"s_pack_lh_b32_b16", [](u64 a, u64 b, bool scc) {
         return Expected{a % 65536 + (b / 65536) * 65536, scc};
       }}};
  for (const auto& [mnemonic, reference] : references) expect_binary(mnemonic, false, reference);
}

TEST(Scalar, Binary64) {
  const std::map<std::string, Reference> references{
      {"s_and_b64", [](u64 a, u64 b, bool) { return tested64(a & b); }},
      {"s_andn2_b64", [](u64 a, u64 b, bool) { return tested64(a & ~b); }},
      {"s_nor_b64", [](u64 a, u64 b, bool) { return tested64(~(a | b)); }},
      {"s_lshl_b64", [](u64 a, u64 b, bool) { return tested64(a << b % 64); }},
      {"s_ashr_i64", [](u64 a, u64 b, bool) { return tested64(static_cast<u64>(static_cast<i64>(a) >> b % 64)); }},
      {"s_bfe_u64", [](u64 a, u64 b, bool) {
         const u64 width = b >> 16 & 127U;
         return tested64(width >= 64 ? a >> b % 64 : a >> b % 64 & ((u64{1} << width) - 1));
       }}};
  for (const auto& [mnemonic, reference] : references) expect_binary(mnemonic, true, reference);
}

TEST(Scalar, SignedBitField) {
  OneWave one;
  one.s(0) = 0x0000'0F50;
  one.s(1) = 4 | 4U << 16;  // bits 4 to 7 are 5, positive
  one.run("s_bfe_i32 s2, s0, s1");
  EXPECT_EQ(one.s(2), 5U);
  one.s(1) = 8 | 4U << 16;  // bits 8 to 11 are 15: -1
  one.run("s_bfe_i32 s2, s0, s1");
  EXPECT_EQ(one.s(2), ~0U);
  one.s(1) = 8;  // no bits
  one.run("s_bfe_i32 s2, s0, s1");
  EXPECT_EQ(one.s(2), 0U);
  EXPECT_FALSE(one.wave.scc);
}

TEST(Scalar, CountsAndSearches) {
  OneWave one;
  one.set_s64(0, 0x0000'0010'0000'0000U);
  one.run("s_ff1_i32_b64 s4, s[0:1]");
  EXPECT_EQ(one.s(4), 36U);
  one.run("s_flbit_i32_b64 s4, s[0:1]");
  EXPECT_EQ(one.s(4), 27U);
  one.run("s_bcnt1_i32_b64 s4, s[0:1]");
  EXPECT_EQ(one.s(4), 1U);
  EXPECT_TRUE(one.wave.scc);
  one.run("s_ff1_i32_b32 s4, 0");
  EXPECT_EQ(one.s(4), ~0U);
  one.run("s_brev_b32 s4, 0x12345678");
  EXPECT_EQ(one.s(4), 0x1E6A'2C48U);
  one.run("s_abs_i32 s4, 0x80000000");
  EXPECT_EQ(one.s(4), 0x8000'0000U);
  one.run("s_sext_i32_i8 s4, 0x1fe");
  EXPECT_EQ(one.s(4), 0xFFFF'FFFEU);
  one.run("s_bitset1_b32 s4, 0");
  EXPECT_EQ(one.s(4), 0xFFFF'FFFFU);
  one.run("s_bitset0_b32 s4, 35");
  EXPECT_EQ(one.s(4), 0xFFFF'FFF7U);
}

TEST(Scalar, ShortLiteralsAreSignExtendedWhereTheComparisonIsSigned) {
  OneWave one;
  one.run("s_movk_i32 s0, 0xff80");
  EXPECT_EQ(one.s(0), 0xFFFF'FF80U);
  one.run("s_cmpk_eq_i32 s0, 0xff80");
  EXPECT_TRUE(one.wave.scc);
  one.run("s_cmpk_eq_u32 s0, 0xff80");
  EXPECT_FALSE(one.wave.scc);
  one.s(0) = 0x7FFF'FFFF;
  one.run("s_addk_i32 s0, 0x1");
  EXPECT_EQ(one.s(0), 0x8000'0000U);
  EXPECT_TRUE(one.wave.scc);
  one.s(0) = 7;
  one.run("s_mulk_i32 s0, 0xfffe");
  EXPECT_EQ(one.s(0), 0xFFFF'FFF2U);
}

TEST(Scalar, Comparisons) {
  OneWave one;
  one.s(0) = 0xFFFF'FFFF;
  one.s(1) = 1;
  const std::map<std::string, bool> expected{{"s_cmp_gt_u32", true},  {"s_cmp_gt_i32", false}, {"s_cmp_lt_i32", true},
                                             {"s_cmp_lt_u32", false}, {"s_cmp_eq_u32", false}, {"s_cmp_lg_i32", true},
                                             {"s_cmp_ge_u32", true},  {"s_cmp_le_i32", true}};
  for (const auto& [mnemonic, scc] : expected) {
    one.wave.scc = !scc;
    one.run(mnemonic + " s0, s1");
    EXPECT_EQ(one.wave.scc, scc) << mnemonic;
  }
  one.run("s_bitcmp1_b32 s1, 32");
  EXPECT_TRUE(one.wave.scc);
  one.run("s_bitcmp0_b32 s1, 0");
  EXPECT_FALSE(one.wave.scc);
}

TEST(Scalar, SelectionByScc) {
  OneWave one;
  one.wave.scc = true;
  one.run("s_cselect_b64 s[0:1], -1, 0");
  EXPECT_EQ(one.s64(0), ~u64{0});
  one.wave.scc = false;
  one.run("s_cselect_b32 s0, 1, 2");
  EXPECT_EQ(one.s(0), 2U);
  one.run("s_cmov_b32 s0, 3");
  EXPECT_EQ(one.s(0), 2U);
}

TEST(Scalar, SavedExec) {
  OneWave one;
  one.set_exec(0xF0F0);
  one.set_s64(2, 0xFF00);
  one.run("s_and_saveexec_b64 s[0:1], s[2:3]");
  EXPECT_EQ(one.s64(0), 0xF0F0U);
  EXPECT_EQ(one.wave.exec(), 0xF000U);
  EXPECT_TRUE(one.wave.scc);
  one.run("s_andn2_saveexec_b64 s[0:1], s[2:3]");  // source and not EXEC
  EXPECT_EQ(one.wave.exec(), 0x0F00U);
  one.run("s_andn1_saveexec_b64 s[0:1], s[2:3]");  // not source and EXEC
  EXPECT_EQ(one.wave.exec(), 0U);
  EXPECT_FALSE(one.wave.scc);
}

TEST(Scalar, LoadsReadLiveMemoryOnly) {
  OneWave one;
  const u64 address = one.memory.allocate(64, "numbers");
  for (u32 i = 0; i < 16; ++i) std::memcpy(one.memory.translate(address + 4 * i, 4), &i, 4);
  one.set_s64(2, address);
  one.run("s_load_dwordx4 s[8:11], s[2:3], 0x10");
  EXPECT_EQ(one.s(8), 4U);
  EXPECT_EQ(one.s(11), 7U);
  one.s(4) = 0x18;
  one.run("s_load_dwordx2 s[8:9], s[2:3], s4 offset:0x8");
  EXPECT_EQ(one.s(8), 8U);
  one.run("s_load_dword s8, s[2:3], 0x3f");  // the two low bits do not count
  EXPECT_EQ(one.s(8), 15U);
  EXPECT_THROW(one.run("s_load_dwordx2 s[8:9], s[2:3], 0x3c"), Failure);
  EXPECT_THROW(one.run("s_load_dword s8, s[2:3], -4"), Failure);
}

}  // namespace
}  // namespace octet::sim
