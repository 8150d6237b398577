// Vector arithmetic on integers, with and without carries, against arithmetic of the host in more bits.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <map>
#include <string>

#include "sim/one_wave.h"

namespace octet::sim {
namespace {

using Reference = std::function<u64(u64 a, u64 b, u64 c)>;

i64 extended(u64 a) {
  return static_cast<i32>(static_cast<u32>(a));
}
i64 extended(u64 a, int bits) {
  return static_cast<i64>(a << (64 - bits)) >> (64 - bits);
}

/// All operands in VGPRs, with some lanes off; then each source as an SGPR.
void expect_lanes(const std::string& mnemonic, int sources, const Reference& reference, Generation generation,
                  const std::string& modifiers = "") {
  OneWave one;
  Operands operands;
  constexpr u64 kExec = 0xF731'FFFF'0FFF'7F1EU;
  for (int scalar = -1; scalar < sources; ++scalar) {
    std::string text = mnemonic + " v9";
    for (int source = 0; source < sources; ++source) {
      text += (source == scalar ? ", s" : ", v") + std::to_string(source);
    }
    text += modifiers;
    for (int trial = 0; trial < 20; ++trial) {
      one.set_exec(kExec);
      for (std::size_t source = 0; source < 3; ++source) {
        operands.fill(one.v(source));
        one.s(source) = operands.next();
      }
      one.v(9).fill(0xABAB'ABABU);
      one.run(text, generation);
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        const auto value = [&](int source) {
          const auto index = static_cast<std::size_t>(source);
          return u64{source == scalar ? one.s(index) : one.v(index)[lane]};
        };
        const u64 expected =
            (kExec >> lane & 1U) == 0 ? 0xABAB'ABABU : reference(value(0), value(1), value(2)) & 0xFFFF'FFFFU;
        ASSERT_EQ(one.v(9)[lane], expected)
            << text << " lane " << lane << std::hex << " a=" << value(0) << " b=" << value(1) << " c=" << value(2);
      }
    }
  }
}

TEST(VectorInteger, OneSource) {
  const std::map<std::string, Reference> references{{"v_mov_b32", [](u64 a, u64, u64) { return a; }},
                                                    {"v_not_b32", [](u64 a, u64, u64) { return ~a; }},
                                                    {"v_bfrev_b32",
                                                     [](u64 a, u64, u64) {
                                                       u64 reversed = 0;
                                                       for (int bit = 0; bit < 32; ++bit)
                                                         reversed = reversed * 2 + (a >> bit & 1U);
                                                       return reversed;
                                                     }},
                                                    {"v_ffbh_u32",
                                                     [](u64 a, u64, u64) {
                                                       for (u64 zeros = 0; zeros < 32; ++zeros) {
                                                         if ((a << zeros & 0x8000'0000U) != 0) return zeros;
                                                       }
                                                       return ~u64{0};
                                                     }},
                                                    {"v_ffbh_i32",
                                                     [](u64 a, u64, u64) {
                                                       for (u64 count = 1; count < 32; ++count) {
                                                         if ((a >> (31 - count) & 1U) != a >> 31) return count;
                                                       }
                                                       return ~u64{0};
                                                     }},
                                                    {"v_ffbl_b32", [](u64 a, u64, u64) {
                                                       for (u64 zeros = 0; zeros < 32; ++zeros) {
                                                         if ((a >> zeros & 1U) != 0) return zeros;
                                                       }
                                                       return ~u64{0};
                                                     }}};
  for (const auto& [mnemonic, reference] : references) expect_lanes(mnemonic, 1, reference, Generation::cdna3);
}

TEST(VectorInteger, TwoSources) {
  const std::map<std::string, Reference> references{
      {"v_add_u32", [](u64 a, u64 b, u64) { return a + b; }},
      {"v_sub_u32", [](u64 a, u64 b, u64) { return a - b; }},
      {"v_subrev_u32", [](u64 a, u64 b, u64) { return b - a; }},
      {"v_mul_lo_u32", [](u64 a, u64 b, u64) { return a * b; }},
      {"v_mul_hi_u32", [](u64 a, u64 b, u64) { return a * b >> 32; }},
      {"v_mul_hi_i32", [](u64 a, u64 b, u64) { return static_cast<u64>(extended(a) * extended(b)) >> 32; }},
      {"v_mul_u32_u24", [](u64 a, u64 b, u64) { return a % (1U << 24) * (b % (1U << 24)); }},
      {"v_mul_i32_i24", [](u64 a, u64 b, u64) { return static_cast<u64>(extended(a, 24) * extended(b, 24)); }},
      {"v_mul_hi_u32_u24", [](u64 a, u64 b, u64) { return a % (1U << 24) * (b % (1U << 24)) >> 32; }},
      {"v_mul_hi_i32_i24", [](u64 a, u64 b, u64) { return static_cast<u64>(extended(a, 24) * extended(b, 24)) >> 32; }},
      {"v_add_i32", [](u64 a, u64 b, u64) { return a + b; }},
      {"v_sub_i32", [](u64 a, u64 b, u64) { return a - b; }},
      {"v_min_u32", [](u64 a, u64 b, u64) { return std::min(a, b); }},
      {"v_max_u32", [](u64 a, u64 b, u64) { return std::max(a, b); }},
      {"v_min_i32", [](u64 a, u64 b, u64) { return static_cast<u64>(std::min(extended(a), extended(b))); }},
      {"v_max_i32", [](u64 a, u64 b, u64) { return static_cast<u64>(std::max(extended(a), extended(b))); }},
      {"v_and_b32", [](u64 a, u64 b, u64) { return a & b; }},
      {"v_or_b32", [](u64 a, u64 b, u64) { return a | b; }},
      {"v_xor_b32", [](u64 a, u64 b, u64) { return a ^ b; }},
      {"v_xnor_b32", [](u64 a, u64 b, u64) { return ~(a ^ b); }},
      {"v_lshlrev_b32", [](u64 a, u64 b, u64) { return b << a % 32; }},
      {"v_lshrrev_b32", [](u64 a, u64 b, u64) { return b >> a % 32; }},
      {"v_ashrrev_i32", [](u64 a, u64 b, u64) { return static_cast<u64>(extended(b) >> a % 32); }},
      {"v_bfm_b32", [](u64 a, u64 b, u64) { return ((u64{1} << a % 32) - 1) << b % 32; }},
      {"v_bcnt_u32_b32", [](u64 a, u64 b, u64) { return static_cast<u64>(std::popcount(a)) + b; }},
      {"v_add_u16", [](u64 a, u64 b, u64) { return (a + b) % 65536; }},
      {"v_sub_u16", [](u64 a, u64 b, u64) { return (a - b) % 65536; }},
      {"v_mul_lo_u16", [](u64 a, u64 b, u64) { return a * b % 65536; }},
      {"v_lshlrev_b16", [](u64 a, u64 b, u64) { return (b << a % 16) % 65536; }},
      {"v_lshrrev_b16", [](u64 a, u64 b, u64) { return b % 65536 >> a % 16; }},
      {"v_ashrrev_i16", [](u64 a, u64 b, u64) { return static_cast<u64>(extended(b, 16) >> a % 16) % 65536; }},
      {"v_min_u16", [](u64 a, u64 b, u64) { return std::min(a % 65536, b % 65536); }},
      {"v_max_i16",
       [](u64 a, u64 b, u64) { return static_cast<u64>(std::max(extended(a, 16), extended(b, 16))) % 65536; }}};
  for (const auto& [mnemonic, reference] : references) expect_lanes(mnemonic, 2, reference, Generation::cdna3);
}

u64 byte_of(u64 bytes, u64 selector) {
  if (selector > 12) return 0xFF;
  if (selector == 12) return 0;
  if (selector < 8) return bytes >> (selector * 8) & 0xFFU;
  const u64 word = bytes >> ((selector - 8) * 16) & 0xFFFFU;
  return word >= 0x8000 ? 0xFF : 0;
}

TEST(VectorInteger, ThreeSources) {
  const std::map<std::string, Reference> references{
      {"v_add3_u32", [](u64 a, u64 b, u64 c) { return a + b + c; }},
      {"v_xad_u32", [](u64 a, u64 b, u64 c) { return (a ^ b) + c; }},
      {"v_lshl_add_u32", [](u64 a, u64 b, u64 c) { return (a << b % 32) + c; }},
      {"v_add_lshl_u32", [](u64 a, u64 b, u64 c) { return (a + b) << c % 32; }},
      {"v_mad_u32_u24", [](u64 a, u64 b, u64 c) { return a % (1U << 24) * (b % (1U << 24)) + c; }},
      {"v_mad_i32_i24", [](u64 a, u64 b, u64 c) { return static_cast<u64>(extended(a, 24) * extended(b, 24)) + c; }},
      {"v_and_or_b32", [](u64 a, u64 b, u64 c) { return (a & b) | c; }},
      {"v_or3_b32", [](u64 a, u64 b, u64 c) { return a | b | c; }},
      {"v_lshl_or_b32", [](u64 a, u64 b, u64 c) { return (a << b % 32) | c; }},
      {"v_bfe_u32", [](u64 a, u64 b, u64 c) { return a >> b % 32 & ((u64{1} << c % 32) - 1); }},
      {"v_bfe_i32",
       [](u64 a, u64 b, u64 c) {
         const auto width = static_cast<int>(c % 32);
         return width == 0 ? u64{0} : static_cast<u64>(extended(static_cast<u64>(extended(a) >> b % 32), width));
       }},
      {"v_bfi_b32", [](u64 a, u64 b, u64 c) { return (a & b) | (~a & c); }},
      {"v_alignbit_b32", [](u64 a, u64 b, u64 c) { return (a << 32 | b) >> c % 32; }},
      {"v_alignbyte_b32", [](u64 a, u64 b, u64 c) { return (a << 32 | b) >> c % 4 * 8; }},
      {"v_perm_b32",
       [](u64 a, u64 b, u64 c) {
         u64 result = 0;
         for (int byte = 3; byte >= 0; --byte) result = result << 8 | byte_of(a << 32 | b, c >> (8 * byte) & 0xFFU);
         return result;
       }},
      {"v_sad_u8",
       [](u64 a, u64 b, u64 c) {
         for (int byte = 0; byte < 32; byte += 8) {
           const u64 x = a >> byte & 0xFFU;
           const u64 y = b >> byte & 0xFFU;
           c += std::max(x, y) - std::min(x, y);
         }
         return c;
       }},
      {"v_sad_u32", [](u64 a, u64 b, u64 c) { return std::max(a, b) - std::min(a, b) + c; }},
      {"v_max3_u32",
       [](u64 a, u64 b, u64 c) {
         return std::max({a, b, c});
       }},
      {"v_min3_i32",
       [](u64 a, u64 b, u64 c) {
         return static_cast<u64>(std::min({extended(a), extended(b), extended(c)}));
       }},
      {"v_med3_i32", [](u64 a, u64 b, u64 c) {
         std::array<i64, 3> sorted{extended(a), extended(b), extended(c)};
         std::sort(sorted.begin(), sorted.end());
         return static_cast<u64>(sorted[1]);
       }}};
  for (const auto& [mnemonic, reference] : references) expect_lanes(mnemonic, 3, reference, Generation::cdna4);
}

TEST(VectorInteger, ClampedSums) {
  const auto clamped = [](i64 value) { return static_cast<u64>(std::clamp<i64>(value, -0x8000'0000LL, 0x7FFF'FFFF)); };
  const auto unsigned_clamped = [](i64 value) { return static_cast<u64>(std::clamp<i64>(value, 0, 0xFFFF'FFFF)); };
  const auto sum = [](u64 a, u64 b) { return static_cast<i64>(a + b); };
  const auto difference = [](u64 a, u64 b) { return static_cast<i64>(a) - static_cast<i64>(b); };
  const std::map<std::string, Reference> references{
      {"v_add_u32_e64", [=](u64 a, u64 b, u64) { return unsigned_clamped(sum(a, b)); }},
      {"v_sub_u32_e64", [=](u64 a, u64 b, u64) { return unsigned_clamped(difference(a, b)); }},
      {"v_subrev_u32_e64", [=](u64 a, u64 b, u64) { return unsigned_clamped(difference(b, a)); }},
      {"v_add_i32", [=](u64 a, u64 b, u64) { return clamped(extended(a) + extended(b)); }},
      {"v_sub_i32", [=](u64 a, u64 b, u64) { return clamped(extended(a) - extended(b)); }}};
  for (const auto& [mnemonic, reference] : references) {
    expect_lanes(mnemonic, 2, reference, Generation::cdna3, " clamp");
  }
  expect_lanes(
      "v_mad_u32_u24", 3,
      [=](u64 a, u64 b, u64 c) { return unsigned_clamped(static_cast<i64>(a % (1U << 24) * (b % (1U << 24)) + c)); },
      Generation::cdna3, " clamp");
  expect_lanes(
      "v_mad_i32_i24", 3, [=](u64 a, u64 b, u64 c) { return clamped(extended(a, 24) * extended(b, 24) + extended(c)); },
      Generation::cdna3, " clamp");
}

TEST(VectorInteger, PseudoRandomNumbers) {
  OneWave one;
  one.v(0).fill(0x4000'0001);
  one.run("v_prng_b32_e32 v1, v0", Generation::cdna4);
  EXPECT_EQ(one.v(1)[0], 0x8000'0002U);
  one.run("v_prng_b32_e32 v1, v1", Generation::cdna4);
  EXPECT_EQ(one.v(1)[0], 4U ^ 197U);
}

TEST(VectorInteger, TruthTables) {
  for (const u32 table : {0x00U, 0x80U, 0xFEU, 0x96U, 0xCAU, 0x1BU}) {
    const auto by_bits = [table](u64 a, u64 b, u64 c) {
      u64 result = 0;
      for (int bit = 0; bit < 32; ++bit) {
        const u64 row = (a >> bit & 1U) * 4 + (b >> bit & 1U) * 2 + (c >> bit & 1U);
        result |= u64{table >> row & 1U} << bit;
      }
      return result;
    };
    expect_lanes("v_bitop3_b32", 3, by_bits, Generation::cdna4, " bitop3:" + std::to_string(table));
  }
}

TEST(VectorInteger, Carries) {
  OneWave one;
  Operands operands;
  operands.fill(one.v(0));
  operands.fill(one.v(1));
  constexpr u64 kExec = 0xFFFF'FFFF'FFFF'0FFFU;
  const u64 carry_in = 0x0123'4567'89AB'CDEFU;
  struct Case {
    const char* text;
    std::function<i64(i64 a, i64 b, i64 carry)> sum;
  };
  const std::array<Case, 6> cases{
      {{"v_add_co_u32_e32 v2, vcc, v0, v1", [](i64 a, i64 b, i64) { return a + b; }},
       {"v_sub_co_u32_e32 v2, vcc, v0, v1", [](i64 a, i64 b, i64) { return a - b; }},
       {"v_subrev_co_u32_e32 v2, vcc, v0, v1", [](i64 a, i64 b, i64) { return b - a; }},
       {"v_addc_co_u32_e32 v2, vcc, v0, v1, vcc", [](i64 a, i64 b, i64 c) { return a + b + c; }},
       {"v_subb_co_u32_e32 v2, vcc, v0, v1, vcc", [](i64 a, i64 b, i64 c) { return a - b - c; }},
       {"v_subbrev_co_u32_e32 v2, vcc, v0, v1, vcc", [](i64 a, i64 b, i64 c) { return b - a - c; }}}};
  for (const Case& tested : cases) {
    one.set_exec(kExec);
    one.set_s64(kVccLo, carry_in);
    one.run(tested.text);
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      if ((kExec >> lane & 1U) == 0) {
        ASSERT_EQ(one.wave.vcc() >> lane & 1U, 0U) << tested.text;
        continue;
      }
      const i64 sum = tested.sum(one.v(0)[lane], one.v(1)[lane], static_cast<i64>(carry_in >> lane & 1U));
      ASSERT_EQ(one.v(2)[lane], static_cast<u32>(sum)) << tested.text << " lane " << lane;
      ASSERT_EQ(one.wave.vcc() >> lane & 1U, sum < 0 || sum >> 32 != 0 ? 1U : 0U) << tested.text << " lane " << lane;
    }
  }
}

TEST(VectorInteger, ClampedCarries) {
  OneWave one;
  one.v(0).fill(0xFFFF'FFF0);
  one.v(1).fill(0x20);
  one.run("v_add_co_u32_e64 v2, s[0:1], v0, v1 clamp");
  EXPECT_EQ(one.v(2)[0], 0xFFFF'FFFFU);
  EXPECT_EQ(one.s64(0), kAllLanes);
  one.run("v_sub_co_u32_e64 v2, s[0:1], v1, v0 clamp");
  EXPECT_EQ(one.v(2)[0], 0U);
  EXPECT_EQ(one.s64(0), kAllLanes);
  one.run("v_subrev_co_u32_e64 v2, s[0:1], v1, v0 clamp");
  EXPECT_EQ(one.v(2)[0], 0xFFFF'FFD0U);
  EXPECT_EQ(one.s64(0), 0U);
}

TEST(VectorInteger, Wide) {
  OneWave one;
  Operands operands;
  for (std::size_t row = 0; row < 6; ++row) operands.fill(one.v(row));
  const auto wide = [&](std::size_t row, std::size_t lane) {
    return one.v(row)[lane] | u64{one.v(row + 1)[lane]} << 32;
  };
  one.run("v_lshlrev_b64 v[10:11], v0, v[2:3]");
  one.run("v_ashrrev_i64 v[12:13], v0, v[2:3]");
  one.run("v_lshrrev_b64 v[14:15], 7, v[2:3]");
  one.run("v_lshl_add_u64 v[16:17], v[2:3], 3, v[4:5]");
  one.run("v_mad_u64_u32 v[18:19], s[0:1], v0, v1, v[4:5]");
  one.run("v_mad_i64_i32 v[20:21], s[2:3], v0, v1, v[4:5]");
  one.run("v_mov_b64_e32 v[22:23], -1");
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    const u64 value = wide(2, lane);
    const u64 a = one.v(0)[lane];
    const u64 b = one.v(1)[lane];
    EXPECT_EQ(wide(10, lane), value << a % 64);
    EXPECT_EQ(wide(12, lane), static_cast<u64>(static_cast<i64>(value) >> a % 64));
    EXPECT_EQ(wide(14, lane), value >> 7);
    EXPECT_EQ(wide(16, lane), value * 8 + wide(4, lane));
    EXPECT_EQ(wide(18, lane), a * b + wide(4, lane));
    EXPECT_EQ(one.s64(0) >> lane & 1U, a * b > ~wide(4, lane) ? 1U : 0U);
    EXPECT_EQ(wide(20, lane), static_cast<u64>(extended(a) * extended(b)) + wide(4, lane));
    EXPECT_EQ(wide(22, lane), ~u64{0});
  }
}

TEST(VectorInteger, ADestinationMayHoldSources) {
  OneWave one;
  one.v(0).fill(3);
  one.v(1).fill(5);
  one.run("v_mad_u64_u32 v[0:1], vcc, v0, v1, v[0:1]");
  EXPECT_EQ(one.v(0)[17], 18U);
  EXPECT_EQ(one.v(1)[17], 5U);
}

}  // namespace
}  // namespace octet::sim
