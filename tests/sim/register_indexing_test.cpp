// Registers that M0 names: what is added to which number, and what is refused.
#include "sim/semantics/register_indexing.h"

#include <gtest/gtest.h>

#include <deque>
#include <string_view>

#include "core/error.h"
#include "sim/one_wave.h"

namespace octet::sim {
namespace {

/// As a program runs it that turns the mode on somewhere.
void run_indexed(OneWave& one, std::string_view text) {
  std::deque<Instruction> inners;
  const Parsed parsed = parse(text);
  const Instruction instruction =
      with_register_indexing(bind(parsed, Generation::cdna3, inners), parsed.mnemonic, inners);
  instruction.execute(one.wave, instruction);
}

class RegisterIndexing : public testing::Test {
 protected:
  RegisterIndexing() {
    for (std::size_t row = 0; row < 16; ++row) one_.v(row).fill(static_cast<u32>(100 + row));
  }
  OneWave one_;
};

TEST_F(RegisterIndexing, SourcesAndDestinations) {
  one_.wave.scalar[kM0] = 0xABCD'0000;
  one_.s(2) = 3;
  one_.run("s_set_gpr_idx_on s2, gpr_idx(SRC0)");
  EXPECT_EQ(one_.wave.scalar[kM0], 0xABCD'1003U);
  run_indexed(one_, "v_mov_b32_e32 v0, v4");
  EXPECT_EQ(one_.v(0)[5], 107U);
  one_.run("s_set_gpr_idx_mode gpr_idx(DST)");
  run_indexed(one_, "v_mov_b32_e32 v5, 1");
  EXPECT_EQ(one_.v(8)[5], 1U);
  EXPECT_EQ(one_.v(5)[5], 105U);
  one_.s(2) = 0x105;  // of which eight bits count
  one_.run("s_set_gpr_idx_idx s2");
  one_.run("s_set_gpr_idx_mode gpr_idx(SRC0,DST)");
  run_indexed(one_, "v_mov_b32_e32 v1, v2");
  EXPECT_EQ(one_.v(6)[5], 107U);
  run_indexed(one_, "v_mov_b32_e32 v2, s2");  // a scalar is not moved
  EXPECT_EQ(one_.v(7)[5], 0x105U);
  one_.run("s_set_gpr_idx_off");
  run_indexed(one_, "v_mov_b32_e32 v9, v10");
  EXPECT_EQ(one_.v(9)[5], 110U);
}

TEST_F(RegisterIndexing, WhatItDoesNotCoverIsRefusedWhileTheModeIsOn) {
  run_indexed(one_, "v_add_u32_e32 v0, v1, v2");
  EXPECT_EQ(one_.v(0)[0], 203U);
  one_.s(2) = 250;
  one_.run("s_set_gpr_idx_on s2, gpr_idx(SRC0)");
  EXPECT_THROW(run_indexed(one_, "v_add_u32_e32 v0, v1, v2"), Failure);
  EXPECT_THROW(run_indexed(one_, "v_mov_b32_e32 v0, v6"), Failure);  // v256
  EXPECT_THROW(run_indexed(one_, "v_mov_b32_e32 v0, a0"), Failure);
  run_indexed(one_, "v_mov_b32_e32 v0, v5");
}

TEST_F(RegisterIndexing, ScalarRegisters) {
  one_.s(9) = 77;
  one_.set_s64(12, 0x1111'2222'3333'4444U);
  one_.wave.scalar[kM0] = 4;
  one_.run("s_movrels_b32 s0, s5");
  EXPECT_EQ(one_.s(0), 77U);
  one_.run("s_movrels_b64 s[0:1], s[8:9]");
  EXPECT_EQ(one_.s64(0), 0x1111'2222'3333'4444U);
  one_.run("s_movreld_b32 s2, 5");
  EXPECT_EQ(one_.s(6), 5U);
  one_.run("s_movreld_b64 s[20:21], s[0:1]");
  EXPECT_EQ(one_.s64(24), 0x1111'2222'3333'4444U);
  one_.wave.scalar[kM0] = 97;
  EXPECT_THROW(one_.run("s_movrels_b32 s0, s5"), Failure);
  one_.wave.scalar[kM0] = ~0U;
  EXPECT_THROW(one_.run("s_movrels_b32 s0, s5"), Failure);
}

}  // namespace
}  // namespace octet::sim
