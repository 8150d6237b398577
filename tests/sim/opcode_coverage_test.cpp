// Every scalar, vector and matrix opcode that LLVM knows of the two processors is in a table, or in the list here of
// those that are not, each with its reason.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "sim/decode/disassembler.h"
#include "sim/decode/parse.h"
#include "sim/semantics/table.h"

namespace octet::sim {
namespace {

/// Prefixes of mnemonics.
constexpr std::array kAbsent{
    // Debuggers, handlers of traps, messages, counters of performance, forks of older processors.
    "s_cbranch_cdbg", "s_cbranch_g_fork", "s_cbranch_i_fork", "s_cbranch_join", "s_decperflevel", "s_incperflevel",
    "s_rfe_", "s_sendmsg", "s_sethalt", "s_setkill", "s_setvskip", "s_ttracedata", "v_clrexcp",
    // Not fused and without denormals: clang has no use for them where denormals are kept.
    "v_mac_f16", "v_mad_f16", "v_mad_legacy_f16", "v_madak_f16", "v_madmk_f16",
    // What differs from those without "legacy" is not said.
    "v_exp_legacy_f32", "v_log_legacy_f32",
    // Of the rasteriser.
    "v_screen_partition_"};

bool is_absent(std::string_view mnemonic) {
  return std::any_of(kAbsent.begin(), kAbsent.end(),
                     [&](std::string_view prefix) { return mnemonic.starts_with(prefix); });
}

/// An encoding's opcodes: the first two dwords of an instruction, with 0 as its opcode, and where the opcode lies.
struct Encoding {
  std::uint32_t first, second;
  int opcode_at;
  std::uint32_t opcodes;
};
constexpr std::array<Encoding, 9> kEncodings{{{0x8004'0206, 0, 23, 96},               // SOP2 s4, s6, s2
                                              {0xB004'0005, 0x0102'0304, 23, 28},     // SOPK s4, 5
                                              {0xBE84'0006, 0, 8, 256},               // SOP1 s4, s6
                                              {0xBF00'0206, 0, 16, 128},              // SOPC s6, s2
                                              {0xBF80'0001, 0, 16, 128},              // SOPP 1
                                              {0x0008'1106, 0x0102'0304, 25, 62},     // VOP2 v4, v6, v8
                                              {0x7E08'0106, 0, 9, 256},               // VOP1 v4, v6
                                              {0xD000'0004, 0x042A'1106, 16, 1024},   // VOP3 and VOPC: v4, v6, v8, v10
                                              {0xD380'4004, 0x1C2A'1106, 16, 128}}};  // VOP3P v4, v6, v8, v10

class OpcodeCoverage : public testing::TestWithParam<Generation> {};

TEST_P(OpcodeCoverage, EachIsInATableOrKnownToBeAbsent) {
  const Disassembler disassemble(GetParam());
  std::set<std::string> seen;
  for (const Encoding& encoding : kEncodings) {
    for (std::uint32_t opcode = 0; opcode < encoding.opcodes; ++opcode) {
      const std::array<std::uint32_t, 4> code{encoding.first | opcode << encoding.opcode_at, encoding.second, 0, 0};
      const Disassembled text = disassemble(std::as_bytes(std::span(code)));
      if (text.bytes != 0) seen.insert(parse(text.text).mnemonic);
    }
  }
  EXPECT_GT(seen.size(), 700U);
  for (const std::string& mnemonic : seen) {
    EXPECT_TRUE(is_absent(mnemonic) || find_row(mnemonic, GetParam())) << mnemonic;
  }
}

INSTANTIATE_TEST_SUITE_P(Generations, OpcodeCoverage, testing::Values(Generation::cdna3, Generation::cdna4),
                         [](const auto& generation) { return std::string(processor(generation.param)); });

}  // namespace
}  // namespace octet::sim
