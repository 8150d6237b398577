// The hardware's state, clocks, and traps.
#include <gtest/gtest.h>

#include <string>

#include "sim/diary.h"
#include "sim/one_wave.h"

namespace octet::sim {
namespace {

TEST(SpecialRegisters, ModeIsClangsDefault) {
  OneWave one;
  const auto read = [&](const std::string& field) {
    one.run("s_getreg_b32 s5, hwreg(HW_REG_MODE" + field + ")");
    return one.s(5);
  };
  EXPECT_EQ(read(""), 0x3F0U);
  EXPECT_EQ(read(", 0, 4"), 0U);   // to nearest even
  EXPECT_EQ(read(", 4, 2"), 3U);   // denormals of single precision are kept
  EXPECT_EQ(read(", 6, 2"), 3U);   // of double and half precision
  EXPECT_EQ(read(", 8, 1"), 1U);   // DX10_CLAMP
  EXPECT_EQ(read(", 9, 1"), 1U);   // IEEE
  EXPECT_EQ(read(", 23, 1"), 0U);  // FP16_OVFL
  EXPECT_EQ(read(", 8, 24"), 3U);
}

TEST(SpecialRegisters, WhereAWaveRuns) {
  OneWave one;
  for (const char* name : {"hwreg(HW_REG_XCC_ID, 0, 4)", "hwreg(HW_REG_HW_ID)", "hwreg(20)"}) {
    one.s(5) = 77;
    one.run("s_getreg_b32 s5, " + std::string(name));
    EXPECT_EQ(one.s(5), 0U) << name;
  }
  EXPECT_NE(failure_of([&] { one.run("s_getreg_b32 s5, hwreg(6)"); }).find("hardware register 6 is not modelled"),
            std::string::npos);
  EXPECT_NE(failure_of([&] { one.run("s_getreg_b32 s5, hwreg(HW_REG_LDS_ALLOC)"); }).find("not implemented"),
            std::string::npos);
}

TEST(SpecialRegisters, SettingModeToWhatItIsHasNoEffect) {
  OneWave one;
  one.run("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 3");
  one.run("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 0xfffffff0");  // only four bits are written
  one.s(3) = 0x3F0;
  one.run("s_setreg_b32 hwreg(HW_REG_MODE), s3");
  const auto refusal = [&](const std::string& text) { return failure_of([&] { one.run(text); }); };
  EXPECT_NE(refusal("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 0").find("sets FP_DENORM of MODE"),
            std::string::npos);
  EXPECT_NE(refusal("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 2, 2), 1").find("sets FP_ROUND of MODE"), std::string::npos);
  EXPECT_NE(refusal("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 23, 1), 1").find("sets FP16_OVFL of MODE"),
            std::string::npos);
  one.s(3) = 0x1D5;
  EXPECT_NE(refusal("s_setreg_b32 hwreg(HW_REG_MODE), s3").find("sets FP_ROUND, FP_DENORM, IEEE of MODE"),
            std::string::npos)
      << refusal("s_setreg_b32 hwreg(HW_REG_MODE), s3");
  EXPECT_NE(refusal("s_setreg_imm32_b32 hwreg(2), 0").find("setting hardware register 2"), std::string::npos);
}

TEST(SpecialRegisters, ClocksCountInstructions) {
  OneWave one;
  one.wave.clock = 0x1'0000'0005;
  one.run("s_memtime s[4:5]");
  one.run("s_memrealtime s[6:7]");
  EXPECT_EQ(one.s64(4), 0x1'0000'0005U);
  EXPECT_EQ(one.s64(6), 0x1'0000'0005U);
}

TEST(SpecialRegisters, ATrapEndsTheLaunchByName) {
  OneWave one;
  EXPECT_NE(failure_of([&] { one.run("s_trap 2"); }).find("the kernel stops itself by trap 2"), std::string::npos);
  EXPECT_NE(failure_of([&] { one.run("s_sethalt 1"); }).find("not implemented"), std::string::npos);
  one.run("s_sleep 1");
  one.run("s_setprio 3");
  one.run("s_dcache_inv");
  one.run("buffer_inv sc0 sc1");
}

TEST(SpecialRegisters, NoScalarStores) {
  OneWave one;
  for (const char* text : {"s_store_dword s0, s[2:3], 0x0", "s_atomic_add s0, s[2:3], 0x0"}) {
    EXPECT_NE(failure_of([&] { one.run(text); }).find("not implemented"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace octet::sim
