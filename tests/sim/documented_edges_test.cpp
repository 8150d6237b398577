// Edges of instructions that exist, as AMD's CDNA4 ISA document decides them: its functional examples, and what its
// formulas give for operands that tests against plain arithmetic do not single out. Numbers are sections.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "core/error.h"
#include "sim/one_wave.h"

namespace octet::sim {
namespace {

constexpr u32 kInfinity = 0x7F80'0000U;
constexpr u32 kSign = 0x8000'0000U;
constexpr u32 kInvalid = 0xFFC0'0000U;  // what an operation without a result gives
constexpr u32 kLargestFloat = 0x7F7F'FFFFU;

u32 bits(float value) {
  return std::bit_cast<u32>(value);
}

/// What `mnemonic` makes of up to three sources, the same in all lanes.
u32 vector_result(const std::string& mnemonic, const std::vector<u32>& sources, const std::string& modifiers = "",
                  Generation generation = Generation::cdna3) {
  OneWave one;
  std::string text = mnemonic + " v9";
  for (std::size_t source = 0; source < sources.size(); ++source) {
    one.v(source).fill(sources[source]);
    text += ", v" + std::to_string(source);
  }
  one.v(9).fill(0xABCD'1234U);
  one.run(text + modifiers, generation);
  return one.v(9)[17];
}

struct Scalar {
  u32 value;
  bool scc;
  bool operator==(const Scalar&) const = default;
};
Scalar scalar_result(const std::string& mnemonic, u32 a, u32 b, bool scc) {
  OneWave one;
  one.s(0) = a;
  one.s(1) = b;
  one.wave.scc = scc;
  one.run(mnemonic + " s9, s0" + (mnemonic.starts_with("s_ff1") || mnemonic.starts_with("s_fl") ? "" : ", s1"));
  return {one.s(9), one.wave.scc};
}

struct Example {
  std::string mnemonic;
  std::vector<u32> sources;
  u32 result;
};

void expect_examples(const std::vector<Example>& examples) {
  for (const Example& example : examples) {
    std::string sources;
    for (const u32 source : example.sources) sources += " " + std::to_string(source);
    EXPECT_EQ(vector_result(example.mnemonic, example.sources), example.result) << example.mnemonic << sources;
  }
}

TEST(DocumentedEdges, ScalarExtremesAndFields) {  // 12.1
  for (const bool before : {false, true}) {
    EXPECT_EQ(scalar_result("s_max_u32", 5, 5, before), (Scalar{5, true}));  // the first one is chosen
    EXPECT_EQ(scalar_result("s_max_i32", 5, 5, before), (Scalar{5, true}));
    EXPECT_EQ(scalar_result("s_min_u32", 5, 5, before), (Scalar{5, false}));
    EXPECT_EQ(scalar_result("s_min_i32", 5, 5, before), (Scalar{5, false}));
    EXPECT_EQ(scalar_result("s_lshl_b32", 3, 32, before), (Scalar{3, true}));
    EXPECT_EQ(scalar_result("s_lshl_b32", 2, 31, before), (Scalar{0, false}));
    EXPECT_EQ(scalar_result("s_bfm_b32", 32, 4, before), (Scalar{0, before}));
    EXPECT_EQ(scalar_result("s_bfe_i32", kSign, 31 | 4U << 16, before), (Scalar{~0U, true}));
    EXPECT_EQ(scalar_result("s_bfe_u32", kSign, 31 | 4U << 16, before), (Scalar{1, true}));
    EXPECT_EQ(scalar_result("s_bfe_u32", ~0U, 0, before), (Scalar{0, false}));
  }
}

TEST(DocumentedEdges, ScalarSearchesLeaveScc) {  // 12.3
  const std::vector<Example> examples{
      {"s_ff1_i32_b32", {0xAAAA'AAAA}, 1},   {"s_ff1_i32_b32", {0x5555'5555}, 0}, {"s_ff1_i32_b32", {0}, ~0U},
      {"s_ff1_i32_b32", {0x0001'0000}, 16},  {"s_flbit_i32_b32", {0}, ~0U},       {"s_flbit_i32_b32", {0xCCCC}, 16},
      {"s_flbit_i32_b32", {0x7FFF'FFFF}, 1}, {"s_flbit_i32_b32", {kSign}, 0},     {"s_flbit_i32_b32", {~0U}, 0}};
  for (const Example& example : examples) {
    for (const bool scc : {false, true}) {
      EXPECT_EQ(scalar_result(example.mnemonic, example.sources[0], 0, scc), (Scalar{example.result, scc}))
          << example.mnemonic << " " << example.sources[0];
    }
  }
}

TEST(DocumentedEdges, WhatLeavesScc) {  // 5.4 to 5.7: "Sets SCC? n"
  for (const char* text : {"s_mov_b32 s4, 0", "s_mov_b64 s[4:5], 0", "s_movk_i32 s4, 0x0", "s_cselect_b32 s4, 0, 0",
                           "s_mul_i32 s4, 0, 0", "s_mul_hi_u32 s4, 0, 0", "s_mulk_i32 s4, 0x0", "s_sext_i32_i8 s4, 0",
                           "s_sext_i32_i16 s4, 0", "s_brev_b32 s4, 0", "s_ff1_i32_b64 s4, 0", "s_flbit_i32_b64 s4, 0",
                           "s_bitset0_b32 s4, 0", "s_pack_ll_b32_b16 s4, 0, 0", "s_getpc_b64 s[4:5]", "s_nop 0"}) {
    for (const bool scc : {false, true}) {
      CodeMap code{0x1000, {0, 1}, {0}};
      OneWave one;
      one.wave.code = &code;
      one.wave.scc = scc;
      one.run(text);
      EXPECT_EQ(one.wave.scc, scc) << text;
    }
  }
}

TEST(DocumentedEdges, SavedExecIsWrittenBeforeItsSourceIsLost) {  // 12.3: D and the source may be the same pair
  OneWave one;
  one.set_exec(0xFF00);
  one.set_s64(0, 0x0FF0);
  one.run("s_and_saveexec_b64 s[0:1], s[0:1]");
  EXPECT_EQ(one.s64(0), 0xFF00U);
  EXPECT_EQ(one.wave.exec(), 0x0F00U);
  EXPECT_TRUE(one.wave.scc);
  one.run("s_xor_saveexec_b64 s[0:1], 0xf00");
  EXPECT_EQ(one.s64(0), 0x0F00U);
  EXPECT_EQ(one.wave.exec(), 0U);
  EXPECT_FALSE(one.wave.scc);
}

TEST(DocumentedEdges, VectorSearchesFieldsAndBytes) {  // 12.8, 12.11
  expect_examples({{"v_ffbh_u32_e32", {0}, ~0U},
                   {"v_ffbh_u32_e32", {0x8000'00FF}, 0},
                   {"v_ffbh_u32_e32", {0x1000'00FF}, 3},
                   {"v_ffbh_u32_e32", {1}, 31},
                   {"v_ffbl_b32_e32", {0}, ~0U},
                   {"v_ffbl_b32_e32", {0xFF00'0008}, 3},
                   {"v_ffbl_b32_e32", {kSign}, 31},
                   {"v_bfe_i32", {kSign, 31, 4}, ~0U},  // beyond the top: the sign
                   {"v_bfe_u32", {kSign, 31, 4}, 1},
                   {"v_bfe_i32", {~0U, 0, 32}, 0},  // five bits of the width count
                   {"v_bfm_b32", {32, 4}, 0},
                   {"v_lshlrev_b32_e32", {33, 1}, 2},
                   {"v_ashrrev_i32_e32", {32, kSign}, kSign},
                   {"v_alignbit_b32", {0xA, 0xB, 32}, 0xB},
                   {"v_alignbyte_b32", {0xAA, 0xBB00'0000, 7}, 0xAABB},
                   {"v_perm_b32", {0x8000'0000, 0, 0x0D0C'0B0A}, 0xFF00'FF00},
                   {"v_perm_b32", {0, 0x8000'8000, 0x0908'0908}, 0xFFFF'FFFF}});
}

TEST(DocumentedEdges, SixteenBitsKeepTheUpperHalfOnlyWhereNotLegacy) {  // 12.11
  EXPECT_EQ(vector_result("v_mad_u16", {0x1'0003, 5, 7}), 0xABCD'0016U);
  EXPECT_EQ(vector_result("v_mad_legacy_u16", {0x1'0003, 5, 7}), 0x16U);
  EXPECT_EQ(vector_result("v_add_u16_e32", {0xFFFF, 2}), 1U);
}

TEST(DocumentedEdges, AWideShiftedSumShiftsByFourAtMost) {  // 12.11 V_LSHL_ADD_U64
  OneWave one;
  one.v(0).fill(3);
  one.v(1).fill(1);
  one.v(2).fill(1);
  one.v(3).fill(0);
  const auto sum = [&](u32 count) {
    one.v(4).fill(count);
    one.run("v_lshl_add_u64 v[6:7], v[0:1], v4, v[2:3]");
    return one.v(6)[9] | u64{one.v(7)[9]} << 32;
  };
  EXPECT_EQ(sum(0), 0x1'0000'0004U);
  EXPECT_EQ(sum(4), 0x10'0000'0031U);
  for (const u32 unsupported : {5U, 7U, 8U}) EXPECT_EQ(sum(unsupported), sum(0)) << unsupported;
}

TEST(DocumentedEdges, TheCarryOfAProductAndASumIsTheirHighestBit) {  // 12.11 V_MAD_U64_U32, V_MAD_I64_I32
  OneWave one;
  const auto carry = [&](const std::string& mnemonic, u32 a, u32 b, u64 c) {
    one.v(0).fill(a);
    one.v(1).fill(b);
    one.v(2).fill(static_cast<u32>(c));
    one.v(3).fill(static_cast<u32>(c >> 32));
    one.run(mnemonic + " v[4:5], s[4:5], v0, v1, v[2:3]");
    return one.s64(4) == kAllLanes;
  };
  const u64 least = u64{1} << 63;
  EXPECT_TRUE(carry("v_mad_i64_i32", ~0U, 1, 0));         // -1
  EXPECT_FALSE(carry("v_mad_i64_i32", 1, 1, least - 1));  // 2^63, which does not fit in 64 bits
  EXPECT_TRUE(carry("v_mad_i64_i32", ~0U, 1, least));
  EXPECT_FALSE(carry("v_mad_i64_i32", ~0U, 1, 1));
  EXPECT_TRUE(carry("v_mad_u64_u32", 1, 1, ~u64{0}));
  EXPECT_FALSE(carry("v_mad_u64_u32", ~0U, ~0U, 0));
}

TEST(DocumentedEdges, ExtremesOfNansAndZeros) {  // 12.7 V_MIN_F32, V_MAX_F32; 12.11 V_MED3_F32
  constexpr u32 kSignalling = 0x7F80'0123U;
  constexpr u32 kSignalling2 = 0xFF80'0456U;
  constexpr u32 kQuiet = 0x7FC0'0789U;
  constexpr u32 kQuiet2 = 0xFFC0'0ABCU;
  const u32 one = bits(1);
  for (const char* name : {"v_max_f32_e32", "v_min_f32_e32"}) {
    EXPECT_EQ(vector_result(name, {kSignalling, one}), 0x7FC0'0123U) << name;  // made quiet, not given up
    EXPECT_EQ(vector_result(name, {one, kSignalling}), 0x7FC0'0123U) << name;
    EXPECT_EQ(vector_result(name, {kSignalling2, kSignalling}), 0xFFC0'0456U) << name;
    EXPECT_EQ(vector_result(name, {kQuiet, kSignalling}), 0x7FC0'0123U) << name;
    EXPECT_EQ(vector_result(name, {kQuiet, one}), one) << name;
    EXPECT_EQ(vector_result(name, {one, kQuiet}), one) << name;
    EXPECT_EQ(vector_result(name, {kQuiet, kQuiet2}), kQuiet2) << name;  // S0 is NaN: S1
  }
  EXPECT_EQ(vector_result("v_max_f32_e32", {0, kSign}), 0U);
  EXPECT_EQ(vector_result("v_max_f32_e32", {kSign, 0}), 0U);
  EXPECT_EQ(vector_result("v_min_f32_e32", {0, kSign}), kSign);
  EXPECT_EQ(vector_result("v_min_f32_e32", {kSign, 0}), kSign);
  EXPECT_EQ(vector_result("v_max3_f32", {kSignalling, one, bits(2)}), bits(2));  // quiet after the first step
  EXPECT_EQ(vector_result("v_max3_f32", {one, bits(2), kSignalling}), 0x7FC0'0123U);
  EXPECT_EQ(vector_result("v_med3_f32", {kQuiet, bits(3), one}), one);  // the smallest
  EXPECT_EQ(vector_result("v_med3_f32", {kQuiet, kQuiet, bits(3)}), bits(3));
  EXPECT_EQ(vector_result("v_med3_f32", {bits(5), bits(-1), bits(3)}), bits(3));
}

TEST(DocumentedEdges, ApproximateFunctions) {  // 12.8, functional examples
  expect_examples({{"v_exp_f32_e32", {kInfinity | kSign}, 0},
                   {"v_exp_f32_e32", {kSign}, bits(1)},
                   {"v_exp_f32_e32", {kInfinity}, kInfinity},
                   {"v_log_f32_e32", {kInfinity | kSign}, kInvalid},
                   {"v_log_f32_e32", {bits(-1)}, kInvalid},
                   {"v_log_f32_e32", {kSign}, kInfinity | kSign},
                   {"v_log_f32_e32", {bits(1)}, 0},
                   {"v_rcp_f32_e32", {kInfinity | kSign}, kSign},
                   {"v_rcp_f32_e32", {bits(-2)}, bits(-0.5F)},
                   {"v_rcp_f32_e32", {kSign}, kInfinity | kSign},
                   {"v_rcp_f32_e32", {kInfinity}, 0},
                   {"v_rsq_f32_e32", {kInfinity | kSign}, kInvalid},
                   {"v_rsq_f32_e32", {kSign}, kInfinity | kSign},
                   {"v_rsq_f32_e32", {bits(4)}, bits(0.5F)},
                   {"v_sqrt_f32_e32", {kInfinity | kSign}, kInvalid},
                   {"v_sqrt_f32_e32", {kSign}, kSign},
                   {"v_sqrt_f32_e32", {bits(4)}, bits(2)},
                   {"v_sin_f32_e32", {kInfinity}, kInvalid},
                   {"v_sin_f32_e32", {kLargestFloat | kSign}, 0},
                   {"v_sin_f32_e32", {kSign}, kSign},
                   {"v_sin_f32_e32", {bits(0.25F)}, bits(1)},
                   {"v_cos_f32_e32", {kLargestFloat | kSign}, bits(1)},
                   {"v_cos_f32_e32", {kSign}, bits(1)},
                   {"v_cos_f32_e32", {bits(0.25F)}, 0},
                   {"v_cos_f32_e32", {kInfinity}, kInvalid}});
}

TEST(DocumentedEdges, SineAndCosineAllAround) {
  constexpr double kPi = 3.14159265358979323846;
  for (int step = -200; step <= 200; ++step) {
    const float turns = static_cast<float>(step) / 64;
    const double angle = 2 * kPi * double{turns};
    EXPECT_NEAR(std::bit_cast<float>(vector_result("v_sin_f32_e32", {bits(turns)})), std::sin(angle), 1e-7) << turns;
    EXPECT_NEAR(std::bit_cast<float>(vector_result("v_cos_f32_e32", {bits(turns)})), std::cos(angle), 1e-7) << turns;
  }
  const float small = -0x1p-60F;
  EXPECT_EQ(vector_result("v_sin_f32_e32", {bits(small)}), bits(static_cast<float>(2 * kPi * double{small})));
}

TEST(DocumentedEdges, ApproximateFunctionsFlushDenormals) {  // 12.8: "denormals are flushed"
  constexpr u32 kDenormal = 0x0040'0000U;
  expect_examples({{"v_rcp_f32_e32", {kDenormal}, kInfinity},
                   {"v_rcp_f32_e32", {kDenormal | kSign}, kInfinity | kSign},
                   {"v_rcp_f32_e32", {bits(-0x1p127F)}, kSign},
                   {"v_rcp_f32_e32", {bits(0x1p126F)}, bits(0x1p-126F)},
                   {"v_rsq_f32_e32", {kDenormal}, kInfinity},
                   {"v_sqrt_f32_e32", {kDenormal}, 0},
                   {"v_log_f32_e32", {kDenormal}, kInfinity | kSign},
                   {"v_exp_f32_e32", {bits(-127)}, 0},
                   {"v_exp_f32_e32", {bits(-126)}, bits(0x1p-126F)},
                   {"v_mul_f32_e32", {kDenormal, bits(0.5F)}, 0x0020'0000}});  // the exact ones keep them
}

TEST(DocumentedEdges, ApproximateFunctionsOfHalvesKeepDenormals) {  // 12.8, functional examples
  expect_examples({{"v_rcp_f16_e32", {0xFC00}, 0x8000},
                   {"v_rcp_f16_e32", {0xC000}, 0xB800},
                   {"v_rcp_f16_e32", {0x8000}, 0xFC00},
                   {"v_rcp_f16_e32", {0x7C00}, 0},
                   {"v_rcp_f16_e32", {0x7800}, 0x0200},
                   {"v_rcp_f16_e32", {0x0200}, 0x7800},
                   {"v_sqrt_f16_e32", {0xFC00}, 0xFE00},
                   {"v_sqrt_f16_e32", {0x8000}, 0x8000},
                   {"v_sqrt_f16_e32", {0x4400}, 0x4000},
                   {"v_sqrt_f16_e32", {0x0100}, 0x1C00},
                   {"v_rsq_f16_e32", {0xFC00}, 0xFE00},
                   {"v_rsq_f16_e32", {0x8000}, 0xFC00},
                   {"v_rsq_f16_e32", {0x4400}, 0x3800},
                   {"v_log_f16_e32", {0xFC00}, 0xFE00},
                   {"v_log_f16_e32", {0xBC00}, 0xFE00},
                   {"v_log_f16_e32", {0x8000}, 0xFC00},
                   {"v_log_f16_e32", {0x3C00}, 0},
                   {"v_log_f16_e32", {0x0001}, 0xCE00},
                   {"v_exp_f16_e32", {0xFC00}, 0},
                   {"v_exp_f16_e32", {0x8000}, 0x3C00},
                   {"v_exp_f16_e32", {0x7C00}, 0x7C00},
                   {"v_exp_f16_e32", {0xCE00}, 0x0001},
                   {"v_sin_f16_e32", {0xFC00}, 0xFE00},
                   {"v_sin_f16_e32", {0xFBFF}, 0},
                   {"v_sin_f16_e32", {0x8000}, 0x8000},
                   {"v_sin_f16_e32", {0x3400}, 0x3C00},
                   {"v_cos_f16_e32", {0x7C00}, 0xFE00},
                   {"v_cos_f16_e32", {0xFBFF}, 0x3C00},
                   {"v_cos_f16_e32", {0x3400}, 0},
                   {"v_cos_f16_e32", {0x8000}, 0x3C00},
                   {"v_div_fixup_legacy_f16", {0, 0, 0}, 0xFE00}});
}

TEST(DocumentedEdges, Doubles) {  // 12.8: "supports denormals"; 12.11 V_DIV_SCALE_F64, V_DIV_FIXUP_F64
  OneWave one;
  const auto result = [&](const std::string& text, const std::vector<double>& sources) {
    for (std::size_t source = 0; source < sources.size(); ++source) {
      const auto whole = std::bit_cast<u64>(sources[source]);
      one.v(2 * source).fill(static_cast<u32>(whole));
      one.v(2 * source + 1).fill(static_cast<u32>(whole >> 32));
    }
    one.run(text);
    return std::bit_cast<double>(one.v(8)[33] | u64{one.v(9)[33]} << 32);
  };
  EXPECT_EQ(result("v_rcp_f64_e32 v[8:9], v[0:1]", {0x1p1023}), 0x1p-1023);
  EXPECT_EQ(result("v_sqrt_f64_e32 v[8:9], v[0:1]", {0x1p-1074}), 0x1p-537);
  EXPECT_EQ(std::bit_cast<u64>(result("v_sqrt_f64_e32 v[8:9], v[0:1]", {-1})), u64{0xFFF8} << 48);
  const std::string fixup = "v_div_fixup_f64 v[8:9], v[0:1], v[2:3], v[4:5]";
  EXPECT_EQ(std::bit_cast<u64>(result(fixup, {1, 0, 0})), u64{0xFFF8} << 48);
  const auto scaled = [&](double source, double denominator, double numerator) {
    return result("v_div_scale_f64 v[8:9], vcc, v[0:1], v[2:3], v[4:5]", {source, denominator, numerator});
  };
  EXPECT_EQ(scaled(0x1p1023, 0x1p1023, 2), 0x1p895);  // a denormal reciprocal: both, downwards
  EXPECT_EQ(scaled(2, 0x1p1023, 2), 0x1p-127);
  EXPECT_EQ(one.wave.vcc(), 0U);
  EXPECT_EQ(scaled(0x1p1023, 0x1p1023, 0x1p-10), 0x1p895);  // and quotient: the denominator
  EXPECT_EQ(scaled(0x1p-10, 0x1p1023, 0x1p-10), 0x1p-10);
  EXPECT_EQ(one.wave.vcc(), kAllLanes);
  EXPECT_EQ(scaled(0x1p1000, 0x1p1000, 0x1p-50), 0x1p1000);  // a denormal quotient: the numerator
  EXPECT_EQ(scaled(0x1p-50, 0x1p1000, 0x1p-50), 0x1p78);
  EXPECT_EQ(one.wave.vcc(), kAllLanes);
}

TEST(DocumentedEdges, ConversionsToIntegersSaturate) {  // 12.8
  const u32 nan = 0x7FC0'0000U;
  expect_examples({{"v_cvt_u32_f32_e32", {nan}, 0},
                   {"v_cvt_u32_f32_e32", {bits(-0.99F)}, 0},
                   {"v_cvt_u32_f32_e32", {bits(-5e9F)}, 0},
                   {"v_cvt_u32_f32_e32", {kInfinity}, ~0U},
                   {"v_cvt_u32_f32_e32", {bits(4294967296.0F)}, ~0U},
                   {"v_cvt_u32_f32_e32", {bits(4294967040.0F)}, 4294967040U},
                   {"v_cvt_i32_f32_e32", {nan}, 0},
                   {"v_cvt_i32_f32_e32", {bits(-1.99F)}, ~0U},
                   {"v_cvt_i32_f32_e32", {kInfinity}, 0x7FFF'FFFF},
                   {"v_cvt_i32_f32_e32", {kInfinity | kSign}, kSign},
                   {"v_cvt_i32_f32_e32", {bits(2147483648.0F)}, 0x7FFF'FFFF},
                   {"v_frexp_exp_i32_f32_e32", {kInfinity}, 0},
                   {"v_frexp_exp_i32_f32_e32", {nan}, 0},
                   {"v_frexp_exp_i32_f32_e32", {1}, static_cast<u32>(-148)},
                   {"v_frexp_mant_f32_e32", {kInfinity | kSign}, kInfinity | kSign},
                   {"v_frexp_mant_f32_e32", {1}, bits(0.5F)},
                   {"v_ldexp_f32", {bits(1), static_cast<u32>(-149)}, 1},
                   {"v_ldexp_f32", {bits(1), kSign}, 0},
                   {"v_fract_f32_e32", {bits(-0x1p-40F)}, 0x3F7F'FFFF},
                   {"v_fract_f32_e32", {bits(-1.25F)}, bits(0.75F)}});
}

TEST(DocumentedEdges, Fp8OfNansInfinitiesAndOverflow) {  // 7.3, the rule of FP16_OVFL = 0; CDNA3: NaN is 0x80
  const auto codes = [](const std::string& mnemonic, u32 a, u32 b, Generation generation) {
    return vector_result(mnemonic, {a, b}, "", generation) & 0xFFFFU;
  };
  const u32 nan = 0x7FC0'0000U;
  const u32 large = bits(1e6F);
  for (const u32 value : {nan, nan | kSign, kInfinity, kInfinity | kSign, large, large | kSign}) {
    EXPECT_EQ(codes("v_cvt_pk_fp8_f32", value, value, Generation::cdna3), 0x8080U) << value;
    EXPECT_EQ(codes("v_cvt_pk_bf8_f32", value, value, Generation::cdna3), 0x8080U) << value;
    EXPECT_EQ(codes("v_cvt_pk_fp8_f32", value, value, Generation::cdna4) & 0x7F7FU, 0x7F7FU) << value;
  }
  EXPECT_EQ(codes("v_cvt_pk_bf8_f32", kInfinity, kInfinity | kSign, Generation::cdna4), 0xFC7CU);
  EXPECT_EQ(codes("v_cvt_pk_bf8_f32", large, large | kSign, Generation::cdna4), 0xFC7CU);
  EXPECT_GT(codes("v_cvt_pk_bf8_f32", nan, nan, Generation::cdna4) & 0x7FU, 0x7CU);
  EXPECT_EQ(codes("v_cvt_pk_fp8_f32", kSign, bits(448), Generation::cdna4), 0x7E80U);
  EXPECT_EQ(codes("v_cvt_pk_fp8_f32", kSign, bits(240), Generation::cdna3), 0x7F00U);  // there is no -0
  EXPECT_EQ(codes("v_cvt_pk_bf8_f32", bits(57344), bits(0x1p-16F), Generation::cdna4), 0x017BU);
}

TEST(DocumentedEdges, DivisionsPreparation) {  // 12.11 V_DIV_SCALE_F32
  struct Case {
    float source, denominator, numerator;
    float result;
    bool vcc;
  };
  const float tiny = 0x1p-140F;
  const std::vector<Case> cases{{3, 3, 2, 3, false},
                                {2, 3, 2, 2, false},
                                {0x1p-20F, 0x1p-20F, 0x1p80F, 0x1p44F, true},  // exponents 100 apart: the denominator
                                {0x1p80F, 0x1p-20F, 0x1p80F, 0x1p80F, true},
                                {tiny, tiny, 0x1p-60F, 0x1p-76F, false},  // a denormal denominator: both
                                {0x1p-60F, tiny, 0x1p-60F, 0x1p4F, false},
                                {0x1p127F, 0x1p127F, 2, 0x1p63F, false},  // a denormal reciprocal: both, downwards
                                {2, 0x1p127F, 2, 0x1p-63F, false},
                                {0x1p127F, 0x1p127F, 0x1p-10F, 0x1p63F, true},  // and quotient: the denominator
                                {0x1p-10F, 0x1p127F, 0x1p-10F, 0x1p-10F, true},
                                {0x1p100F, 0x1p100F, 0x1p-30F, 0x1p100F, true},  // a denormal quotient: the numerator
                                {0x1p-30F, 0x1p100F, 0x1p-30F, 0x1p34F, true},
                                {0x1p-110F, 4, 0x1p-110F, 0x1p-46F, false},  // a tiny numerator: both
                                {4, 4, 0x1p-110F, 0x1p66F, false}};
  for (const Case& tested : cases) {
    OneWave one;
    one.v(0).fill(bits(tested.source));
    one.v(1).fill(bits(tested.denominator));
    one.v(2).fill(bits(tested.numerator));
    one.run("v_div_scale_f32 v3, vcc, v0, v1, v2");
    EXPECT_EQ(one.v(3)[5], bits(tested.result))
        << tested.source << ": " << tested.numerator << "/" << tested.denominator;
    EXPECT_EQ(one.wave.vcc(), tested.vcc ? kAllLanes : 0) << tested.numerator << "/" << tested.denominator;
  }
  EXPECT_TRUE(std::isnan(std::bit_cast<float>(vector_result("v_div_scale_f32", {}, ", vcc, 1.0, 0, 1.0"))));
}

TEST(DocumentedEdges, DivisionsEnd) {  // 12.11 V_DIV_FIXUP_F32: quotient, denominator, numerator
  const u32 one = bits(1);
  expect_examples({{"v_div_fixup_f32", {one, 0x7F80'0001, 0xFFC0'1234}, 0xFFC0'1234},  // the numerator's NaN first
                   {"v_div_fixup_f32", {one, 0x7F80'0001, one}, 0x7FC0'0001},
                   {"v_div_fixup_f32", {one, 0, 0}, kInvalid},
                   {"v_div_fixup_f32", {one, kInfinity, kInfinity}, kInvalid},
                   {"v_div_fixup_f32", {one, kSign, one}, kInfinity | kSign},
                   {"v_div_fixup_f32", {one, one | kSign, kInfinity}, kInfinity | kSign},
                   {"v_div_fixup_f32", {one, kInfinity | kSign, one}, kSign},
                   {"v_div_fixup_f32", {one, one, kSign}, kSign},
                   {"v_div_fixup_f32", {one, bits(0x1p127F), bits(0x1p-40F)}, 0},
                   {"v_div_fixup_f32", {bits(3), bits(-2), bits(6)}, bits(-3)},
                   {"v_div_fixup_f32", {bits(-3), bits(2), bits(6)}, bits(3)}});
}

TEST(DocumentedEdges, Permutes) {  // 12.12: the examples, with waves of four lanes
  OneWave one;
  for (u32 lane = 0; lane < 4; ++lane) {
    one.v(0)[lane] = std::array{0U, 0U, 12U, 4U}[lane];
    one.v(1)[lane] = 'A' + lane;
  }
  const auto result = [&](const std::string& mnemonic, u64 exec) {
    one.v(2).fill('-');
    one.set_exec(exec);
    one.run(mnemonic + " v2, v0, v1");
    std::string text;
    for (std::size_t lane = 0; lane < 4; ++lane) text += one.v(2)[lane] == 0 ? '0' : static_cast<char>(one.v(2)[lane]);
    return text;
  };
  EXPECT_EQ(result("ds_permute_b32", 0xF), "BD0C");
  EXPECT_EQ(result("ds_permute_b32", 0xA), "-D-0");
  EXPECT_EQ(result("ds_bpermute_b32", 0xF), "AADB");
  EXPECT_EQ(result("ds_bpermute_b32", 0xA), "-0-B");
}

TEST(DocumentedEdges, SwizzlesReadZeroFromInactiveLanesAndOtherPatternsAreRefused) {  // 12.12 DS_SWIZZLE_B32
  OneWave one;
  for (u32 lane = 0; lane < kLanes; ++lane) one.v(0)[lane] = 100 + lane;
  one.set_exec(~u64{0x10});
  one.run("ds_swizzle_b32 v1, v0 offset:swizzle(SWAP,1)");
  EXPECT_EQ(one.v(1)[5], 0U);
  EXPECT_EQ(one.v(1)[6], 107U);
  EXPECT_EQ(one.v(1)[37], 136U);  // lanes 32 to 63 among themselves
  EXPECT_THROW(one.run("ds_swizzle_b32 v1, v0 offset:57345"), Failure);
  EXPECT_THROW(one.run("ds_swizzle_b32 v1, v0 offset:49184"), Failure);
}

TEST(DocumentedEdges, AScaleThatIsAConstantIsAFloatsExponent) {  // 7.2.1
  OneWave one;
  one.v(8).fill(0x3838'3838);  // ones
  for (std::size_t row = 9; row < 24; ++row) one.v(row) = one.v(8);
  const auto product = [&](const std::string& scales) {
    one.run("v_mfma_scale_f32_16x16x128_f8f6f4 v[0:3], v[8:15], v[16:23], 0, " + scales + " op_sel_hi:[0,0,0]",
            Generation::cdna4);
    return std::bit_cast<float>(one.v(2)[33]);
  };
  EXPECT_EQ(product("1.0, 1.0"), 128);
  EXPECT_EQ(product("2.0, -4.0"), 1024);
}

}  // namespace
}  // namespace octet::sim
