// The three instructions with which clang divides floats exactly: scale, fused multiply-add with unscaling, fix-up.
// AMD CDNA4 ISA, 12.11 VOP3: V_DIV_SCALE_F32, V_DIV_FMAS_F32, V_DIV_FIXUP_F32. Where the document's formulas cannot be
// meant as printed, the comments say what stands here instead.
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

#include "sim/semantics/float_lanes.h"
#include "sim/semantics/table.h"

namespace octet::sim {
namespace {

constexpr int kScale = 64;  // powers of two

int exponent(float a) {
  return static_cast<int>(as_bits(a) >> 23 & 0xFFU);
}

bool is_denormal(double a) {
  return a != 0 && std::fabs(a) < 0x1p-126;
}

struct Scaled {
  float value;
  bool unscales;  ///< v_div_fmas_f32 has to undo the scaling
};

/// Prepares `source`, which is the numerator or the denominator, so that the steps of a division neither overflow nor
/// lose bits. The document asks whether the reciprocal is denormal "in 64 bits", which that of a float never is; what
/// can be meant is single precision, where v_rcp_f32 would make it 0. And where the quotient is denormal as well it
/// prints 2^64 for the denominator, which would overflow: 2^-64 is what makes the quotient right.
Scaled scale(float source, float denominator, float numerator) {
  const bool is_denominator = as_bits(source) == as_bits(denominator);
  const bool is_numerator = as_bits(source) == as_bits(numerator);
  const float up = std::ldexp(source, kScale);
  const float down = std::ldexp(source, -kScale);
  if (numerator == 0 || denominator == 0) return {as_float(kDefaultNan), false};
  if (exponent(numerator) - exponent(denominator) >= 96) return {is_denominator ? up : source, true};
  if (is_denormal(denominator)) return {up, false};
  const bool tiny_quotient = is_denormal(double{numerator} / double{denominator});
  const bool tiny_reciprocal = is_denormal(1 / double{denominator});
  if (tiny_reciprocal && tiny_quotient) return {is_denominator ? down : source, true};
  if (tiny_reciprocal) return {down, false};
  if (tiny_quotient) return {is_numerator ? up : source, true};
  if (exponent(numerator) <= 23) return {up, false};
  return {source, false};
}

/// Operands: D, VCC, source, denominator, numerator.
void divide_scale(Wave& wave, const Instruction& instruction) {
  std::array<Lanes, 3> buffers;
  const Lanes& source = read_floats(wave, instruction.operands[2], buffers[0]);
  const Lanes& denominator = read_floats(wave, instruction.operands[3], buffers[1]);
  const Lanes& numerator = read_floats(wave, instruction.operands[4], buffers[2]);
  Lanes result;
  u64 unscales = 0;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    const Scaled scaled = scale(as_float(source[lane]), as_float(denominator[lane]), as_float(numerator[lane]));
    result[lane] = as_bits(scaled.value);
    unscales |= u64{scaled.unscales} << lane;
  }
  settle_nans(result, std::array<const Lanes*, 1>{&source});
  write_lanes(wave, instruction.operands[0], 0, result);
  write_scalar(wave, instruction.operands[1], unscales & wave.exec());
}

/// a * b + c times a power of two, rounded once: in double precision to odd, which a second rounding does not harm.
float fused_and_scaled(float a, float b, float c, int power) {
  const double product = double{a} * double{b};  // exact
  const double sum = product + double{c};
  const double of_c = sum - product;
  const double error = (product - (sum - of_c)) + (double{c} - of_c);
  auto bits = std::bit_cast<u64>(sum);
  if (std::isfinite(sum) && error != 0 && (bits & 1U) == 0) bits += (error > 0) == (sum > 0) ? 1U : ~u64{0};
  return static_cast<float>(std::ldexp(std::bit_cast<double>(bits), power));
}

/// D = a * b + c, times 2^64 or 2^-64 where VCC says that the operands were scaled: the larger quotient was scaled
/// down. The document prints 2^32 for both; v_div_scale_f32 scales by 2^64. Rounded once: inferred, as only then are
/// quotients right that are denormal.
void divide_fused(Wave& wave, const Instruction& instruction) {
  std::array<Lanes, 3> buffers;
  const std::array<const Lanes*, 3> sources{&read_floats(wave, instruction.operands[1], buffers[0]),
                                            &read_floats(wave, instruction.operands[2], buffers[1]),
                                            &read_floats(wave, instruction.operands[3], buffers[2])};
  Lanes result;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    const float c = as_float((*sources[2])[lane]);
    const bool unscales = (wave.vcc() >> lane & 1U) != 0;
    const int power = !unscales ? 0 : exponent(c) > 127 ? kScale : -kScale;
    result[lane] = as_bits(fused_and_scaled(as_float((*sources[0])[lane]), as_float((*sources[1])[lane]), c, power));
  }
  settle_nans(result, sources);
  modify_output(instruction, result);
  write_lanes(wave, instruction.operands[0], 0, result);
}

/// The quotient where it is an ordinary number; what IEEE 754 wants where operands are special.
float fix_up(float quotient, float denominator, float numerator) {
  const bool negative = std::signbit(denominator) != std::signbit(numerator);
  const float infinity = as_float(kFloatInfinity | (negative ? kFloatSign : 0U));
  const float zero = as_float(negative ? kFloatSign : 0U);
  if (std::isnan(numerator)) return as_float(as_bits(numerator) | kQuietBit);
  if (std::isnan(denominator)) return as_float(as_bits(denominator) | kQuietBit);
  if (numerator == 0 && denominator == 0) return as_float(kDefaultNan);
  if (std::isinf(numerator) && std::isinf(denominator)) return as_float(kDefaultNan);
  if (denominator == 0 || std::isinf(numerator)) return infinity;
  if (std::isinf(denominator) || numerator == 0) return zero;
  if (exponent(numerator) - exponent(denominator) < -150) return zero;
  if (std::isnan(quotient)) return infinity;  // the steps before overflowed; not in the document
  return std::copysign(quotient, negative ? -1.0F : 1.0F);
}

void divide_fix_up(Wave& wave, const Instruction& instruction) {
  std::array<Lanes, 3> buffers;
  const Lanes& quotient = read_floats(wave, instruction.operands[1], buffers[0]);
  const Lanes& denominator = read_floats(wave, instruction.operands[2], buffers[1]);
  const Lanes& numerator = read_floats(wave, instruction.operands[3], buffers[2]);
  Lanes result;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    result[lane] = as_bits(fix_up(as_float(quotient[lane]), as_float(denominator[lane]), as_float(numerator[lane])));
  }
  modify_output(instruction, result);
  write_lanes(wave, instruction.operands[0], 0, result);
}

constexpr std::array kRows = std::to_array<Row>({
    {"v_div_scale_f32", divide_scale, modifier::kSign},
    {"v_div_fmas_f32", divide_fused, modifier::kSign | modifier::kOutput},
    {"v_div_fixup_f32", divide_fix_up, modifier::kSign | modifier::kOutput},
});

}  // namespace

Table vector_division_table() {
  return kRows;
}

}  // namespace octet::sim
