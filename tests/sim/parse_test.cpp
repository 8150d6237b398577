// Texts of LLVM's disassembler into operands and modifiers; nothing that is not understood passes.
#include "sim/decode/parse.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <string>

namespace octet::sim {
namespace {

Operand only_source(const std::string& text) {
  const Parsed parsed = parse(text);
  EXPECT_EQ(parsed.unknown, "") << text;
  EXPECT_EQ(parsed.instruction.operand_count, 2) << text;
  return parsed.instruction.operands[1];
}

TEST(Parse, Registers) {
  EXPECT_EQ(only_source("v_mov_b32_e32 v0, v255").index, 255);
  EXPECT_EQ(only_source("v_accvgpr_read_b32 v0, a7").index, kFirstAccumulator + 7);
  EXPECT_EQ(only_source("s_mov_b64 s[0:1], vcc").index, kVccLo);
  EXPECT_EQ(only_source("s_mov_b64 s[0:1], exec").dwords, 2);
  EXPECT_EQ(only_source("s_mov_b32 s0, m0").index, kM0);
  const Operand four = only_source("global_load_dwordx4 v[4:7], v[10:11]");
  EXPECT_EQ(four.bank, Bank::vector);
  EXPECT_EQ(four.index, 10);
  EXPECT_EQ(four.dwords, 2);
}

TEST(Parse, Literals) {
  EXPECT_EQ(only_source("s_mov_b64 s[0:1], -1").literal, ~std::uint64_t{0});
  EXPECT_EQ(only_source("s_mov_b64 s[0:1], 0xfffffff0").literal, 0xFFFF'FFF0U);
  EXPECT_EQ(only_source("v_ashrrev_i64 v[0:1], 0xfffffff0").literal, 0xFFFF'FFFF'FFFF'FFF0U);
  EXPECT_EQ(only_source("s_mov_b32 s0, lit(0xffffffff)").literal, 0xFFFF'FFFFU);
  EXPECT_EQ(only_source("v_mov_b32_e32 v0, -0.5").literal, std::bit_cast<std::uint32_t>(-0.5F));
  EXPECT_EQ(only_source("v_mov_b32_e32 v0, 0.15915494").literal, 0x3E22'F983U);
  EXPECT_EQ(only_source("v_rcp_f16 v0, 1.0").literal, 0x3C00U);
  EXPECT_EQ(only_source("v_rcp_f16 v0, -4.0").literal, 0xC400U);
  EXPECT_EQ(only_source("v_rcp_f16 v0, 0.15915494").literal, 0x3118U);
  EXPECT_EQ(only_source("v_rcp_f64 v[0:1], 0.5").literal, std::bit_cast<std::uint64_t>(0.5));
  EXPECT_EQ(only_source("v_rcp_f64 v[0:1], 0x3fe00000").literal, std::bit_cast<std::uint64_t>(0.5));
  EXPECT_EQ(only_source("v_rcp_f64 v[0:1], 1").literal, 1U);  // the least denormal
  EXPECT_EQ(only_source("s_set_gpr_idx_on s2, gpr_idx(SRC0,DST)").literal, 9U);
  EXPECT_EQ(only_source("s_set_gpr_idx_on s2, gpr_idx()").literal, 0U);
  EXPECT_EQ(parse("s_set_gpr_idx_on s2, gpr_idx(SRC3)").unknown, "gpr_idx(SRC3)");
  const auto addend = [](const std::string& text) { return parse(text).instruction.operands[3].literal; };
  EXPECT_EQ(addend("v_mfma_f64_4x4x4_4b_f64 v[0:1], v[2:3], v[4:5], 1.0"), std::bit_cast<std::uint64_t>(1.0));
  EXPECT_EQ(addend("v_mfma_f32_16x16x16_f16 v[0:3], v[4:5], v[6:7], 1.0"), std::bit_cast<std::uint32_t>(1.0F));
  EXPECT_EQ(addend("v_cvt_scalef32_sr_fp8_f16 v0, v1, v2, 4.0"), std::bit_cast<std::uint32_t>(4.0F));
}

TEST(Parse, SignsOfSources) {
  const Operand both = only_source("v_mul_f32_e64 v0, -|v3|");
  EXPECT_TRUE(both.negated);
  EXPECT_TRUE(both.absolute);
  EXPECT_EQ(both.index, 3);
  EXPECT_TRUE(only_source("v_add_u32_sdwa v0, sext(v3)").sign_extended);
  EXPECT_EQ(parse("v_mul_f32_e64 v0, -v1, v2").instruction.used, modifier::kSign);
  EXPECT_EQ(parse("v_mul_f32_e64 v0, -1.0, v2").instruction.used, modifier::kNone);
}

TEST(Parse, MnemonicsLoseTheirEncoding) {
  EXPECT_EQ(parse("v_add_u32_e32 v0, v1, v2").mnemonic, "v_add_u32");
  EXPECT_EQ(parse("v_add_u32_e64 v0, v1, v2").mnemonic, "v_add_u32");
  EXPECT_EQ(parse("v_mov_b32_dpp v0, v1 row_shl:1").form, Form::dpp);
  EXPECT_EQ(parse("v_mov_b32_sdwa v0, v1 src0_sel:BYTE_1").form, Form::sdwa);
  EXPECT_EQ(parse("s_endpgm").mnemonic, "s_endpgm");
}

TEST(Parse, Modifiers) {
  const Instruction packed =
      parse(
          "v_pk_fma_f32 v[0:1], v[2:3], v[4:5], v[6:7] op_sel:[1,0,1] op_sel_hi:[0,1,1] neg_lo:[1,0,0] neg_hi:[0,0,1]")
          .instruction;
  EXPECT_EQ(packed.op_sel, 5);
  EXPECT_EQ(packed.op_sel_hi, 6);
  EXPECT_EQ(packed.neg_lo, 1);
  EXPECT_EQ(packed.neg_hi, 4);
  const Instruction output = parse("v_add_f32_e64 v0, v1, v2 clamp mul:4").instruction;
  EXPECT_TRUE(output.clamp);
  EXPECT_EQ(parse("v_add_f32_e64 v0, v1, v2 div:2").instruction.used, modifier::kOutput);
  EXPECT_EQ(parse("v_add_f32_e64 v0, v1, v2 div:4").unknown, "div:4");
  const Instruction memory = parse("global_load_dword v0, v1, s[2:3] offset:-16 sc0 nt sc1").instruction;
  EXPECT_EQ(memory.offset, -16);
  EXPECT_EQ(memory.used, modifier::kOffset | modifier::kCache);
  const Instruction two = parse("ds_read2_b32 v[0:1], v2 offset0:3 offset1:255").instruction;
  EXPECT_EQ(two.offset, 3);
  EXPECT_EQ(two.offset1, 255);
  const Instruction matrix =
      parse("v_mfma_f32_16x16x128_f8f6f4 v[0:3], v[0:7], v[0:7], v[0:3] cbsz:1 blgp:2").instruction;
  EXPECT_EQ(matrix.cbsz, 1);
  EXPECT_EQ(matrix.blgp, 2);
  const Instruction negated = parse("v_mfma_f64_4x4x4_4b_f64 v[0:1], v[2:3], v[4:5], v[0:1] neg:[1,0,1]").instruction;
  EXPECT_EQ(negated.blgp, 5);
  EXPECT_EQ(negated.used, modifier::kMatrix);
}

TEST(Parse, Buffers) {
  const Parsed load = parse("buffer_load_dwordx2 v[4:5], v[0:1], s[8:11], s3 idxen offen offset:4095 sc0 nt");
  EXPECT_EQ(load.mnemonic, "buffer_load_dwordx2");
  EXPECT_EQ(load.instruction.operand_count, 4);
  EXPECT_EQ(load.instruction.operands[2].dwords, 4);
  EXPECT_TRUE(load.instruction.offen && load.instruction.idxen && load.instruction.sc0);
  EXPECT_EQ(load.instruction.used, modifier::kOffset | modifier::kCache | modifier::kBuffer);
  const Parsed plain = parse("buffer_load_dword v5, off, s[8:11], 0 nt sc1");
  EXPECT_FALSE(plain.instruction.offen || plain.instruction.idxen || plain.instruction.sc0);
  EXPECT_EQ(plain.instruction.operands[1].bank, Bank::none);
  const Parsed to_lds = parse("buffer_load_dword v1, s[8:11], m0 offen offset:16 lds");
  EXPECT_EQ(to_lds.mnemonic, "buffer_load_dword_lds");
  EXPECT_EQ(to_lds.instruction.operands[2].index, kM0);
  EXPECT_EQ(to_lds.unknown, "");
}

TEST(Parse, NamesThatStandForNumbers) {
  const auto literal = [](const std::string& text) { return only_source(text).literal; };
  EXPECT_EQ(literal("s_mov_b64 s[0:1], src_shared_base"), kSharedBase);
  EXPECT_EQ(literal("s_mov_b64 s[0:1], src_private_base"), kPrivateBase);
  EXPECT_EQ(literal("s_mov_b64 s[0:1], src_shared_limit"), kSharedBase + 0xFFFF'FFFFU);
  EXPECT_EQ(literal("s_mov_b64 s[0:1], src_private_limit"), kPrivateBase + 0xFFFF'FFFFU);
  EXPECT_EQ(literal("s_getreg_b32 s0, hwreg(HW_REG_MODE)"), 1U | 31U << 11);
  EXPECT_EQ(literal("s_getreg_b32 s0, hwreg(HW_REG_XCC_ID, 3, 7)"), 20U | 3U << 6 | 6U << 11);
  EXPECT_EQ(literal("s_getreg_b32 s0, hwreg(HW_REG_HW_ID, 8, 4)"), 4U | 8U << 6 | 3U << 11);
  EXPECT_EQ(literal("s_getreg_b32 s0, hwreg(63, 31, 1)"), 63U | 31U << 6);
}

TEST(Parse, Dpp) {
  EXPECT_EQ(parse("v_mov_b32_dpp v0, v1 quad_perm:[1,0,3,2] row_mask:0xa bank_mask:0x5").instruction.dpp.control, 0xB1);
  const Dpp masked = parse("v_mov_b32_dpp v0, v1 row_shr:15 row_mask:0xa bank_mask:0x5 bound_ctrl:1").instruction.dpp;
  EXPECT_EQ(masked.control, 0x11F);
  EXPECT_EQ(masked.row_mask, 10);
  EXPECT_EQ(masked.bank_mask, 5);
  EXPECT_TRUE(masked.zero_outside);
  EXPECT_EQ(parse("v_mov_b32_dpp v0, v1 row_bcast:31 row_mask:0xf").instruction.dpp.control, 0x143);
  EXPECT_EQ(parse("v_mov_b32_dpp v0, v1 row_newbcast:3 row_mask:0xf").instruction.dpp.control, 0x153);
}

TEST(Parse, Swizzles) {
  const auto pattern = [](const std::string& macro) {
    return parse("ds_swizzle_b32 v0, v1 offset:" + macro).instruction.offset;
  };
  EXPECT_EQ(pattern("swizzle(SWAP,16)"), 16 << 10 | 31);
  EXPECT_EQ(pattern("swizzle(REVERSE,8)"), 7 << 10 | 31);
  EXPECT_EQ(pattern("swizzle(BROADCAST,4,2)"), 28 | 2 << 5);
  EXPECT_EQ(pattern("swizzle(QUAD_PERM,0,1,2,3)"), 0x80E4);
  EXPECT_EQ(pattern("swizzle(BITMASK_PERM,\"10i0p\")"), 5 | 16 << 5 | 4 << 10);
  EXPECT_EQ(pattern("65535"), 65535);
}

TEST(Parse, WhatIsNotUnderstoodIsNamed) {
  for (const char* text : {"v_add_u32_e32 v0, v1, v256",
                           "v_add_u32_e32 v0, v1, x7",
                           "v_mov_b32_e32 v0, v1 shiny:1",
                           "v_mov_b32_dpp v0, v1 row_shr:16",
                           "v_mov_b32_sdwa v0, v1 src0_sel:BYTE_4",
                           "v_add_f32_e64 v0, v1, v2 mul:3",
                           "s_mov_b64 s[0:1], src_pops_exiting_wave_id",
                           "s_mov_b32 s0, src_shared_base",
                           "s_mov_b32 s0, s103",
                           "v_mov_b64_e32 v[0:1], v[3:2]",
                           "v_mov_b32_e32 v0, 0x",
                           "v_mov_b32_e32 v0, 1.5x",
                           "ds_swizzle_b32 v0, v1 offset:swizzle(TURN,1)",
                           "s_getreg_b32 s0, hwreg(HW_REG_LDS_ALLOC)",
                           "s_getreg_b32 s0, hwreg(64)",
                           "s_getreg_b32 s0, hwreg(1, 32, 1)",
                           "s_getreg_b32 s0, hwreg(1, 0)",
                           "s_getreg_b32 s0, hwreg(1, 0, 0)",
                           "s_getreg_b32 s0, hwreg(1, 0, 33)",
                           "s_getreg_b32 s0, hwreg()",
                           "buffer_load_dword v5, v0, s[8:11], 0 offen:1",
                           "x a, b, c, d, e, f, g",
                           "v_mov_b32 v0, []"}) {
    EXPECT_NE(parse(text).unknown, "") << text;
  }
}

TEST(Parse, DamagedTextsNeverCrash) {
  const std::string text =
      "v_pk_fma_f32 v[0:1], -|v2|, s[4:5], 0.5 op_sel:[1,0,1] offset:swizzle(BITMASK_PERM,\"10i0p\")";
  for (std::size_t at = 0; at < text.size(); ++at) {
    for (const char character : {'[', ']', ',', ':', '|', '-', ' ', '(', ')', '\0', '9'}) {
      std::string damaged = text;
      damaged[at] = character;
      EXPECT_LE(parse(damaged).instruction.operand_count, 6);
      EXPECT_LE(parse(text.substr(at)).instruction.operand_count, 6);
    }
  }
}

}  // namespace
}  // namespace octet::sim
