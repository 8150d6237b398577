// Vector arithmetic in single precision. AMD CDNA4 ISA, 12.7 VOP2, 12.8 VOP1, 12.11 VOP3.
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

constexpr u32 larger_number(u32 a, u32 b) {
  return ordered(a) > ordered(b) ? a : b;
}
constexpr u32 smaller_number(u32 a, u32 b) {
  return ordered(a) < ordered(b) ? a : b;
}

constexpr bool is_signalling(u32 bits) {
  return is_nan_bits(bits) && (bits & kQuietBit) == 0;
}

/// In IEEE mode a signalling NaN wins, the first one, and becomes quiet; a quiet one gives way to whatever the other
/// is; else `number` is chosen.
constexpr u32 choose(u32 a, u32 b, u32 number) {
  const u32 other = is_nan_bits(a) ? b : is_nan_bits(b) ? a : number;
  const u32 second = is_signalling(b) ? b | kQuietBit : other;
  return is_signalling(a) ? a | kQuietBit : second;
}
constexpr u32 larger(u32 a, u32 b) {
  return choose(a, b, larger_number(a, b));
}
constexpr u32 smaller(u32 a, u32 b) {
  return choose(a, b, smaller_number(a, b));
}
constexpr u32 largest(u32 a, u32 b, u32 c) {
  return larger(larger(a, b), c);
}
constexpr u32 smallest(u32 a, u32 b, u32 c) {
  return smaller(smaller(a, b), c);
}

/// With a NaN among them as the smallest.
constexpr u32 median(u32 a, u32 b, u32 c) {
  const u32 middle = larger_number(smaller_number(a, b), smaller_number(larger_number(a, b), c));
  return is_nan_bits(a) || is_nan_bits(b) || is_nan_bits(c) ? smallest(a, b, c) : middle;
}

/// D = F(bits), one of the sources: NaNs are F's affair.
template <auto F, std::size_t... Source>
void chosen_of(Wave& wave, const Instruction& instruction, std::index_sequence<Source...> /*sources*/) {
  std::array<Lanes, sizeof...(Source)> buffers;
  const std::array<const Lanes*, sizeof...(Source)> sources{
      &read_floats(wave, instruction.operands[Source + 1], buffers[Source])...};
  Lanes result;
  for (std::size_t lane = 0; lane < kLanes; ++lane) result[lane] = F((*sources[Source])[lane]...);
  modify_output(instruction, result);
  write_lanes(wave, instruction.operands[0], 0, result);
}
template <auto F>
void choose2(Wave& wave, const Instruction& instruction) {
  chosen_of<F>(wave, instruction, std::make_index_sequence<2>());
}
template <auto F>
void choose3(Wave& wave, const Instruction& instruction) {
  chosen_of<F>(wave, instruction, std::make_index_sequence<3>());
}

float multiply_legacy(float a, float b) {
  return a == 0 || b == 0 ? 0.0F : a * b;
}

/// 1 minus an ulp at most: the ISA keeps it below 1.
float fraction(float a) {
  constexpr float kBelowOne = 0x1.fffffep-1F;
  const float part = a - std::floor(a);
  return part >= 1 ? kBelowOne : part;
}

float fused(float a, float b, float c) {
  return std::fma(a, b, c);
}

/// sin(2 pi (turns + quarters / 4)), exact where that is 0 or 1, as the ISA's examples are; never -0.
float sine_of_turns(float turns, int quarters) {
  constexpr double kTwoPi = 6.283185307179586476925286766559;
  if (!std::isfinite(turns)) return as_float(kDefaultNan);
  const double nearest = std::nearbyint(4 * double{turns});
  const double angle = kTwoPi * (double{turns} - nearest / 4);
  const int quadrant = (static_cast<int>(std::fmod(nearest, 4.0)) + quarters) & 3;
  const double value = quadrant % 2 == 0 ? std::sin(angle) : std::cos(angle);
  return static_cast<float>(quadrant < 2 ? value : -value) + 0.0F;
}
float sine(float turns) {
  return turns == 0 ? turns : sine_of_turns(turns, 0);
}
float cosine(float turns) {
  return sine_of_turns(turns, 1);
}

/// Most approximate instructions take a denormal for 0 and give 0 for one, whatever the mode is.
float without_denormal(float a) {
  return std::fabs(a) < 0x1p-126F ? std::copysign(0.0F, a) : a;
}
template <auto F>
float flushing(float a) {
  return without_denormal(F(without_denormal(a)));
}
float reciprocal(float a) {
  return 1 / a;
}
float root(float a) {
  return std::sqrt(a);
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
    {"v_max_f32", choose2<larger>, kAccepts},
    {"v_min_f32", choose2<smaller>, kAccepts},
    {"v_max3_f32", choose3<largest>, kAccepts},
    {"v_min3_f32", choose3<smallest>, kAccepts},
    {"v_med3_f32", choose3<median>, kAccepts},
    {"v_floor_f32", floats1<[](float a) { return std::floor(a); }>, kAccepts},
    {"v_ceil_f32", floats1<[](float a) { return std::ceil(a); }>, kAccepts},
    {"v_trunc_f32", floats1<[](float a) { return std::trunc(a); }>, kAccepts},
    {"v_rndne_f32", floats1<[](float a) { return std::nearbyint(a); }>, kAccepts},
    {"v_fract_f32", floats1<fraction>, kAccepts},
    {"v_ldexp_f32", scale_by_power, kAccepts},
    {"v_frexp_mant_f32", floats1<mantissa>, kAccepts},
    {"v_frexp_exp_i32_f32", exponent_of, modifier::kSign},
    {"v_rcp_f32", floats1<flushing<reciprocal>>, kAccepts},
    {"v_rcp_iflag_f32", floats1<flushing<reciprocal>>, kAccepts},
    {"v_rsq_f32", floats1<flushing<reciprocal_root>>, kAccepts},
    {"v_sqrt_f32", floats1<flushing<root>>, kAccepts},
    {"v_exp_f32", floats1<flushing<power_of_two>>, kAccepts},
    {"v_log_f32", floats1<flushing<logarithm>>, kAccepts},
    {"v_sin_f32", floats1<sine>, kAccepts},
    {"v_cos_f32", floats1<cosine>, kAccepts},
});

}  // namespace

Table vector_float_table() {
  return kRows;
}

}  // namespace octet::sim
