// Scalar instructions on bits, against loops over bits.
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <string>

#include "sim/one_wave.h"

namespace octet::sim {
namespace {

u64 bit(u64 a, int at) {
  return a >> at & 1U;
}

/// Of so many bits of the source; D in 64 bits.
using Reference = std::function<u64(u64 a, int bits)>;

struct Case {
  const char* mnemonic;
  int source_bits;
  int result_bits;
  bool sets_scc;
  Reference reference;
};

u64 count_zeros(u64 a, int bits) {
  u64 count = 0;
  for (int at = 0; at < bits; ++at) count += 1 - bit(a, at);
  return count;
}
u64 first_zero(u64 a, int bits) {
  for (int at = 0; at < bits; ++at) {
    if (bit(a, at) == 0) return static_cast<u64>(at);
  }
  return 0xFFFF'FFFFU;
}
u64 sign_bits(u64 a, int bits) {
  for (int count = 1; count < bits; ++count) {
    if (bit(a, bits - 1 - count) != bit(a, bits - 1)) return static_cast<u64>(count);
  }
  return 0xFFFF'FFFFU;
}
u64 reverse(u64 a, int bits) {
  u64 result = 0;
  for (int at = 0; at < bits; ++at) result = result * 2 + bit(a, at);
  return result;
}
u64 replicate(u64 a, int bits) {
  u64 result = 0;
  for (int at = bits - 1; at >= 0; --at) result = result * 4 + 3 * bit(a, at);
  return result;
}
u64 quad_mask(u64 a, int bits) {
  u64 result = 0;
  for (int at = bits - 4; at >= 0; at -= 4) result = result * 2 + ((a >> at) % 16 != 0 ? 1 : 0);
  return result;
}
u64 whole_quads(u64 a, int bits) {
  u64 result = 0;
  for (int at = bits - 4; at >= 0; at -= 4) result = result * 16 + ((a >> at) % 16 != 0 ? 15 : 0);
  return result;
}

TEST(ScalarBits, OneSource) {
  const std::array<Case, 12> cases{{{"s_bcnt0_i32_b32", 32, 32, true, count_zeros},
                                    {"s_bcnt0_i32_b64", 64, 32, true, count_zeros},
                                    {"s_ff0_i32_b32", 32, 32, false, first_zero},
                                    {"s_ff0_i32_b64", 64, 32, false, first_zero},
                                    {"s_flbit_i32", 32, 32, false, sign_bits},
                                    {"s_flbit_i32_i64", 64, 32, false, sign_bits},
                                    {"s_brev_b64", 64, 64, false, reverse},
                                    {"s_bitreplicate_b64_b32", 32, 64, false, replicate},
                                    {"s_quadmask_b32", 32, 32, true, quad_mask},
                                    {"s_quadmask_b64", 64, 64, true, quad_mask},
                                    {"s_wqm_b32", 32, 32, true, whole_quads},
                                    {"s_wqm_b64", 64, 64, true, whole_quads}}};
  OneWave one;
  Operands operands;
  for (const Case& tested : cases) {
    const std::string text = std::string(tested.mnemonic) + (tested.result_bits == 64 ? " s[4:5], " : " s4, ") +
                             (tested.source_bits == 64 ? "s[0:1]" : "s0");
    for (int trial = 0; trial < 500; ++trial) {
      const u64 all = trial % 2 == 0 ? operands.next64() : operands.next64() & operands.next64() & operands.next64();
      const u64 a = trial == 7 ? ~u64{0} : all;
      const bool scc = operands.next() % 2 != 0;
      one.set_s64(0, a);
      one.set_s64(4, 0);
      one.wave.scc = scc;
      one.run(text);
      const u64 source = tested.source_bits == 64 ? a : a & 0xFFFF'FFFFU;
      const u64 expected = tested.reference(source, tested.source_bits);
      ASSERT_EQ(one.s64(4), expected) << text << std::hex << " a=" << a;
      ASSERT_EQ(one.wave.scc, tested.sets_scc ? expected != 0 : scc) << text << std::hex << " a=" << a;
    }
  }
}

TEST(ScalarBits, FieldsOf64Bits) {
  OneWave one;
  one.s(0) = 5;
  one.s(1) = 40;
  one.run("s_bfm_b64 s[4:5], s0, s1");
  EXPECT_EQ(one.s64(4), u64{31} << 40);
  one.run("s_bitset0_b64 s[4:5], 41");
  EXPECT_EQ(one.s64(4), u64{29} << 40);
  one.run("s_bitset1_b64 s[4:5], 63");
  EXPECT_EQ(one.s64(4), u64{29} << 40 | u64{1} << 63);
  one.run("s_bitcmp1_b64 s[4:5], 63");
  EXPECT_TRUE(one.wave.scc);
  one.run("s_bitcmp0_b64 s[4:5], 40");
  EXPECT_FALSE(one.wave.scc);
}

TEST(ScalarBits, MovesByScc) {
  OneWave one;
  one.set_s64(0, 0x1234'5678'9ABC'DEF0U);
  one.set_s64(4, 7);
  one.wave.scc = false;
  one.run("s_cmov_b64 s[4:5], s[0:1]");
  one.run("s_cmovk_i32 s4, 0xfff0");
  EXPECT_EQ(one.s64(4), 7U);
  one.wave.scc = true;
  one.run("s_cmov_b64 s[4:5], s[0:1]");
  EXPECT_EQ(one.s64(4), one.s64(0));
  one.run("s_cmovk_i32 s4, 0xfff0");
  EXPECT_EQ(one.s(4), 0xFFFF'FFF0U);
}

TEST(ScalarBits, AbsoluteDifference) {
  OneWave one;
  one.s(0) = 3;
  one.s(1) = static_cast<u32>(-4);
  one.run("s_absdiff_i32 s2, s1, s0");
  EXPECT_EQ(one.s(2), 7U);
  EXPECT_TRUE(one.wave.scc);
  one.run("s_absdiff_i32 s2, s0, s0");
  EXPECT_EQ(one.s(2), 0U);
  EXPECT_FALSE(one.wave.scc);
}

TEST(ScalarBits, Exec) {
  constexpr u64 kExec = 0xFF00'F0F0'1234'5678U;
  constexpr u64 kSource = 0x0FF0'FFFF'0000'FFFFU;
  struct Exec {
    const char* mnemonic;
    u64 exec;
    bool saves;  ///< D is EXEC as it was, else as it becomes
  };
  const std::array<Exec, 6> cases{{{"s_nand_saveexec_b64", ~(kSource & kExec), true},
                                   {"s_nor_saveexec_b64", ~(kSource | kExec), true},
                                   {"s_xnor_saveexec_b64", ~(kSource ^ kExec), true},
                                   {"s_orn1_saveexec_b64", ~kSource | kExec, true},
                                   {"s_andn1_wrexec_b64", ~kSource & kExec, false},
                                   {"s_andn2_wrexec_b64", kSource & ~kExec, false}}};
  OneWave one;
  for (const Exec& tested : cases) {
    one.set_exec(kExec);
    one.set_s64(0, kSource);
    one.run(std::string(tested.mnemonic) + " s[4:5], s[0:1]");
    EXPECT_EQ(one.wave.exec(), tested.exec) << tested.mnemonic;
    EXPECT_EQ(one.s64(4), tested.saves ? kExec : tested.exec) << tested.mnemonic;
    EXPECT_TRUE(one.wave.scc);
  }
}

}  // namespace
}  // namespace octet::sim
