// Vector arithmetic in single precision. AMD Instinct MI300 ISA, "Instructions": VOP1, VOP2, VOP3.
// Instructions that are approximate on hardware are rounded correctly here.
#include <array>
#include <cmath>
#include <cstdint>

#include "sim/semantics/float_lanes.h"
#include "sim/semantics/table.h"

namespace octet::sim {
namespace {

/// The integers in this order are the floats in theirs, -0 below +0.
constexpr i32 ordered(u32 bits) {
  return static_cast<i32>(bits ^ (static_cast<u32>(static_cast<i32>(bits) >> 31) & ~kFloatSign));
}

/// In IEEE mode a NaN gives way to a number; of two NaNs the first stays. A signalling one is made quiet.
constexpr u32 larger(u32 a, u32 b) {
  const u32 number = ordered(a) > ordered(b) ? a : b;
  const u32 first = is_nan_bits(b) ? a : number;
  const u32 chosen = is_nan_bits(a) && !is_nan_bits(b) ? b : first;
  return chosen | (is_nan_bits(chosen) ? kQuietBit : 0U);
}
constexpr u32 smaller(u32 a, u32 b) {
  const u32 number = ordered(a) < ordered(b) ? a : b;
  const u32 first = is_nan_bits(b) ? a : number;
  const u32 chosen = is_nan_bits(a) && !is_nan_bits(b) ? b : first;
  return chosen | (is_nan_bits(chosen) ? kQuietBit : 0U);
}

constexpr float max2(float a, float b) {
  return as_float(larger(as_bits(a), as_bits(b)));
}
constexpr float min2(float a, float b) {
  return as_float(smaller(as_bits(a), as_bits(b)));
}
constexpr float max3(float a, float b, float c) {
  return max2(max2(a, b), c);
}
constexpr float min3(float a, float b, float c) {
  return min2(min2(a, b), c);
}

/// With a NaN among them the smallest of the numbers.
constexpr float median(float a, float b, float c) {
  if (is_nan_bits(as_bits(a)) || is_nan_bits(as_bits(b)) || is_nan_bits(as_bits(c))) return min3(a, b, c);
  return max2(min2(a, b), min2(max2(a, b), c));
}

float multiply_legacy(float a, float b) {
  return a == 0 || b == 0 ? 0.0F : a * b;
}

/// 1 minus an ulp at most: the ISA keeps it below 1.
float fraction(float a) {
  constexpr float kBelowOne = 0x1.fffffep-1F;
  return std::isinf(a) ? as_float(kDefaultNan) : min2(a - std::floor(a), kBelowOne);
}

float fused(float a, float b, float c) {
  return std::fma(a, b, c);
}

constexpr double kTwoPi = 6.283185307179586476925286766559;
float sine(float turns) {
  return static_cast<float>(std::sin(kTwoPi * double{turns}));
}
float cosine(float turns) {
  return static_cast<float>(std::cos(kTwoPi * double{turns}));
}
float power_of_two(float a) {
  return static_cast<float>(std::exp2(double{a}));
}
float logarithm(float a) {
  return static_cast<float>(std::log2(double{a}));
}
float reciprocal_root(float a) {
  return static_cast<float>(1.0 / std::sqrt(double{a}));
}
float mantissa(float a) {
  int exponent = 0;
  return std::isfinite(a) ? std::frexp(a, &exponent) : a;
}

/// D = a * b + D.
void accumulate(Wave& wave, const Instruction& instruction) {
  Instruction fused_operands = instruction;
  fused_operands.operands[3] = instruction.operands[0];
  floats3<fused>(wave, fused_operands);
}

/// D = a * 2^b, b being an integer.
void scale_by_power(Wave& wave, const Instruction& instruction) {
  std::array<Lanes, 2> buffers;
  const Lanes& a = read_floats(wave, instruction.operands[1], buffers[0]);
  const Lanes& exponents = read_lanes(wave, instruction.operands[2], 0, buffers[1]);
  Lanes result;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    result[lane] = as_bits(std::ldexp(as_float(a[lane]), static_cast<i32>(exponents[lane])));
  }
  settle_nans(result, std::array<const Lanes*, 1>{&a});
  modify_output(instruction, result);
  write_lanes(wave, instruction.operands[0], 0, result);
}

/// The exponent e with |a| = m * 2^e, m in [0.5, 1); 0 for zero, infinity and NaN.
void exponent_of(Wave& wave, const Instruction& instruction) {
  Lanes buffer;
  const Lanes& a = read_floats(wave, instruction.operands[1], buffer);
  Lanes result;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    int exponent = 0;
    if (std::isfinite(as_float(a[lane]))) std::ignore = std::frexp(as_float(a[lane]), &exponent);
    result[lane] = static_cast<u32>(exponent);
  }
  write_lanes(wave, instruction.operands[0], 0, result);
}

constexpr u32 kAccepts = modifier::kSign | modifier::kOutput;
constexpr std::array kRows = std::to_array<Row>({
    {"v_add_f32", floats2<[](float a, float b) { return a + b; }>, kAccepts},
    {"v_sub_f32", floats2<[](float a, float b) { return a - b; }>, kAccepts},
    {"v_subrev_f32", floats2<[](float a, float b) { return b - a; }>, kAccepts},
    {"v_mul_f32", floats2<[](float a, float b) { return a * b; }>, kAccepts},
    {"v_mul_legacy_f32", floats2<multiply_legacy>, kAccepts},
    {"v_fma_f32", floats3<fused>, kAccepts},
    {"v_fmac_f32", accumulate, kAccepts},
    {"v_fmamk_f32", floats3<fused>},
    {"v_fmaak_f32", floats3<fused>},
    {"v_max_f32", floats2<max2>, kAccepts},
    {"v_min_f32", floats2<min2>, kAccepts},
    {"v_max3_f32", floats3<max3>, kAccepts},
    {"v_min3_f32", floats3<min3>, kAccepts},
    {"v_med3_f32", floats3<median>, kAccepts},
    {"v_floor_f32", floats1<[](float a) { return std::floor(a); }>, kAccepts},
    {"v_ceil_f32", floats1<[](float a) { return std::ceil(a); }>, kAccepts},
    {"v_trunc_f32", floats1<[](float a) { return std::trunc(a); }>, kAccepts},
    {"v_rndne_f32", floats1<[](float a) { return std::nearbyint(a); }>, kAccepts},
    {"v_fract_f32", floats1<fraction>, kAccepts},
    {"v_ldexp_f32", scale_by_power, kAccepts},
    {"v_frexp_mant_f32", floats1<mantissa>, kAccepts},
    {"v_frexp_exp_i32_f32", exponent_of, modifier::kSign},
    {"v_rcp_f32", floats1<[](float a) { return 1 / a; }>, kAccepts},
    {"v_rcp_iflag_f32", floats1<[](float a) { return 1 / a; }>, kAccepts},
    {"v_rsq_f32", floats1<reciprocal_root>, kAccepts},
    {"v_sqrt_f32", floats1<[](float a) { return std::sqrt(a); }>, kAccepts},
    {"v_exp_f32", floats1<power_of_two>, kAccepts},
    {"v_log_f32", floats1<logarithm>, kAccepts},
    {"v_sin_f32", floats1<sine>, kAccepts},
    {"v_cos_f32", floats1<cosine>, kAccepts},
});

}  // namespace

Table vector_float_table() {
  return kRows;
}

}  // namespace octet::sim
