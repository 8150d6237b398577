// Branches, jumps, barriers and the end; and the exact division's middle step, which kernels seldom drive to its edges.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <map>
#include <string>

#include "core/error.h"
#include "sim/one_wave.h"

namespace octet::sim {
namespace {

TEST(Control, Branches) {
  struct State {
    bool scc;
    u64 vcc, exec;
  };
  const auto taken = [](const std::string& mnemonic, const State& state) {
    OneWave one;
    one.wave.scc = state.scc;
    one.set_s64(kVccLo, state.vcc);
    one.set_exec(state.exec);
    one.wave.next = 7;
    one.run(mnemonic + " 5");  // whose target, which a program resolves, is number 0 here
    return one.wave.next == 0;
  };
  const State none{false, 0, 0};
  const State all{true, u64{1} << 63, u64{1} << 63};
  EXPECT_TRUE(taken("s_branch", none));
  const std::map<std::string, bool> taken_when_set{{"s_cbranch_scc0", false},  {"s_cbranch_scc1", true},
                                                   {"s_cbranch_vccz", false},  {"s_cbranch_vccnz", true},
                                                   {"s_cbranch_execz", false}, {"s_cbranch_execnz", true}};
  for (const auto& [mnemonic, when_set] : taken_when_set) {
    EXPECT_EQ(taken(mnemonic, all), when_set) << mnemonic;
    EXPECT_EQ(taken(mnemonic, none), !when_set) << mnemonic;
  }
}

TEST(Control, JumpsGoWhereInstructionsBegin) {
  // Instructions of 4, 8 and 4 bytes.
  CodeMap code{0x1000, {0, 1, 3, 4}, {0, 1, CodeMap::kNoInstruction, 2}};
  OneWave one;
  one.wave.code = &code;
  one.wave.next = 1;
  one.run("s_getpc_b64 s[0:1]");
  EXPECT_EQ(one.s64(0), 0x1004U);
  one.set_s64(2, 0x100C);
  one.run("s_swappc_b64 s[0:1], s[2:3]");
  EXPECT_EQ(one.s64(0), 0x1004U);
  EXPECT_EQ(one.wave.next, 2U);
  one.run("s_setpc_b64 s[0:1]");
  EXPECT_EQ(one.wave.next, 1U);
  one.wave.next = 1;
  one.run("s_call_b64 s[0:1], 2");  // dwords behind the next instruction
  EXPECT_EQ(one.s64(0), 0x1004U);
  EXPECT_EQ(one.wave.next, 2U);
  one.run("s_call_b64 s[0:1], 65533");
  EXPECT_EQ(one.wave.next, 0U);
  for (const u64 nowhere : {u64{0x1008}, u64{0x1002}, u64{0x1010}, u64{0xFFC}}) {
    one.set_s64(2, nowhere);
    EXPECT_THROW(one.run("s_setpc_b64 s[2:3]"), Failure) << nowhere;
  }
}

TEST(Control, BarriersEndAndWhatHasNoEffect) {
  OneWave one;
  one.run("s_waitcnt vmcnt(0) lgkmcnt(0)");
  one.run("s_nop 3");
  one.run("buffer_wbl2 sc1");
  EXPECT_EQ(one.wave.status, Status::running);
  one.run("s_barrier");
  EXPECT_EQ(one.wave.status, Status::at_barrier);
  one.run("s_endpgm");
  EXPECT_EQ(one.wave.status, Status::ended);
}

TEST(Division, TheFusedStepIsRoundedOnce) {
  OneWave one;
  Operands operands;
  const auto f = [](u32 bits) { return std::bit_cast<float>(bits); };
  for (int trial = 0; trial < 300; ++trial) {
    for (std::size_t row = 0; row < 3; ++row) operands.fill(one.v(row));
    // Half an ulp above an odd float, less 2^-70, which rounding to double first would lose.
    one.v(0)[0] = std::bit_cast<u32>(0x1.000002p-24F);
    one.v(1)[0] = std::bit_cast<u32>(1 - 0x1p-23F);
    one.v(2)[0] = std::bit_cast<u32>(1 + 0x1p-23F);
    one.run("v_div_fmas_f32 v3, v0, v1, v2");
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const float expected = std::fma(f(one.v(0)[lane]), f(one.v(1)[lane]), f(one.v(2)[lane]));
      if (!std::isnan(expected)) {
        ASSERT_EQ(one.v(3)[lane], std::bit_cast<u32>(expected)) << lane;
      }
    }
  }
}

}  // namespace
}  // namespace octet::sim
