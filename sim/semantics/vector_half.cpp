// Vector arithmetic in half precision, and conversions between halves, floats and integers of 16 bits. AMD CDNA4 ISA,
// 12.7 VOP2, 12.8 VOP1, 12.11 VOP3. What the host computes in single or double precision is rounded once, and so is
// what is approximate on hardware, which keeps denormals here. v_mad_f16 and v_mac_f16, which flush them, are absent:
// clang has no use for them.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>

#include "sim/semantics/half_lanes.h"
#include "sim/semantics/table.h"
#include "sim/semantics/turns.h"

namespace octet::sim {
namespace {

// A product of halves is exact in single precision, and with a third half added in double precision near any tie. A sum
// of two, rounded to single precision first, is right as well: 24 bits are twice 11 and two more.
float sum(float a, float b) {
  return a + b;
}
float difference(float a, float b) {
  return a - b;
}
float product(float a, float b) {
  return a * b;
}
double fused_halves(double a, double b, double c) {
  return a * b + c;
}

/// D = a * 2^b, b being an integer of 16 bits.
void scale_half(Wave& wave, const Instruction& instruction) {
  std::array<Lanes, 2> buffers;
  const Lanes& a = read_halves(wave, instruction, 0, buffers[0]);
  const Lanes& exponents = read_words(wave, instruction, 1, buffers[1]);
  Lanes result;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    result[lane] = encode_half(std::ldexp(double{decode_half(a[lane])}, static_cast<i16>(exponents[lane])));
  }
  settle_nans_of<u16>(result, std::array<const Lanes*, 1>{&a});
  modify_halves(instruction, result);
  write_words<OtherHalf::zero>(wave, instruction, result);
}

/// D = F(half), an integer of 16 bits, or of 32 bits where F has them.
template <auto F>
void from_half(Wave& wave, const Instruction& instruction) {
  Lanes buffer;
  const Lanes& a = read_halves(wave, instruction, 0, buffer);
  Lanes result;
  for (std::size_t lane = 0; lane < kLanes; ++lane) result[lane] = F(decode_half(a[lane]));
  write_lanes(wave, instruction.operands[0], 0, result);
}

template <typename T>
void from_integer(Wave& wave, const Instruction& instruction) {
  Lanes buffer;
  const Lanes& a = read_words(wave, instruction, 0, buffer);
  Lanes result;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    result[lane] = encode_half(static_cast<float>(static_cast<T>(a[lane])));
  }
  modify_halves(instruction, result);
  write_words<OtherHalf::zero>(wave, instruction, result);
}

void to_single(Wave& wave, const Instruction& instruction) {
  Lanes buffer;
  const Lanes& a = read_halves(wave, instruction, 0, buffer);
  Lanes result;
  for (std::size_t lane = 0; lane < kLanes; ++lane) result[lane] = as_bits(decode_half(a[lane]));
  modify_output(instruction, result);
  write_lanes(wave, instruction.operands[0], 0, result);
}

void from_single(Wave& wave, const Instruction& instruction) {
  Lanes buffer;
  const Lanes& a = read_floats(wave, instruction.operands[1], buffer);
  Lanes result;
  for (std::size_t lane = 0; lane < kLanes; ++lane) result[lane] = encode_half(as_float(a[lane]));
  modify_halves(instruction, result);
  write_words<OtherHalf::zero>(wave, instruction, result);
}

/// A float in [-1, 1], or [0, 1] where T is unsigned, as a fraction of T's largest value; to nearest even, 0 for NaN.
template <typename T>
u32 normalized(float a) {
  constexpr T kMost = std::numeric_limits<T>::max();
  const double scaled = std::nearbyint(double{a} * kMost);
  return static_cast<u16>(scaled < -double{kMost} ? saturated<T>(-double{kMost}) : saturated<T>(scaled));
}

/// Two of them side by side, a below.
template <typename T>
void normalize_halves(Wave& wave, const Instruction& instruction) {
  std::array<Lanes, 2> buffers;
  const Lanes& a = read_halves(wave, instruction, 0, buffers[0]);
  const Lanes& b = read_halves(wave, instruction, 1, buffers[1]);
  Lanes result;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    result[lane] = normalized<T>(decode_half(a[lane])) | normalized<T>(decode_half(b[lane])) << 16;
  }
  write_lanes(wave, instruction.operands[0], 0, result);
}

/// Two halves side by side, a below.
void pack_halves(Wave& wave, const Instruction& instruction) {
  std::array<Lanes, 2> buffers;
  const Lanes& a = read_halves(wave, instruction, 0, buffers[0]);
  const Lanes& b = read_halves(wave, instruction, 1, buffers[1]);
  Lanes result;
  for (std::size_t lane = 0; lane < kLanes; ++lane) result[lane] = a[lane] | b[lane] << 16;
  write_lanes(wave, instruction.operands[0], 0, result);
}

constexpr u32 kAccepts = modifier::kSign | modifier::kOutput;
constexpr u32 kSelects = kAccepts | modifier::kHalves;
constexpr OtherHalf kZero = OtherHalf::zero;
constexpr std::array kRows = std::to_array<Row>({
    {"v_add_f16", halves2<sum>, kAccepts},
    {"v_sub_f16", halves2<difference>, kAccepts},
    {"v_subrev_f16", halves2<[](float a, float b) { return b - a; }>, kAccepts},
    {"v_mul_f16", halves2<product>, kAccepts},
    {"v_fma_f16", halves3<fused_halves>, kSelects},
    {"v_fma_legacy_f16", halves3<fused_halves, kZero>, kAccepts},
    {"v_max_f16", half_bits2<larger<u16>>, kAccepts},
    {"v_min_f16", half_bits2<smaller<u16>>, kAccepts},
    {"v_max3_f16", half_bits3<largest<u16>>, kSelects},
    {"v_min3_f16", half_bits3<smallest<u16>>, kSelects},
    {"v_med3_f16", half_bits3<median_float<u16>>, kSelects},
    {"v_floor_f16", halves1<[](float a) { return std::floor(a); }>, kAccepts},
    {"v_ceil_f16", halves1<[](float a) { return std::ceil(a); }>, kAccepts},
    {"v_trunc_f16", halves1<[](float a) { return std::trunc(a); }>, kAccepts},
    {"v_rndne_f16", halves1<[](float a) { return std::nearbyint(a); }>, kAccepts},
    {"v_fract_f16", halves1<[](float a) { return fraction_of(a, 0x1.ffcp-1F); }>, kAccepts},
    {"v_ldexp_f16", scale_half, kAccepts},
    {"v_frexp_mant_f16", halves1<mantissa_of<float>>, kAccepts},
    {"v_frexp_exp_i16_f16", from_half<[](float a) { return exponent_of(a) & 0xFFFFU; }>, modifier::kSign},
    {"v_rcp_f16", halves1<[](double a) { return 1 / a; }>, kAccepts},
    {"v_rsq_f16", halves1<[](double a) { return 1 / std::sqrt(a); }>, kAccepts},
    {"v_sqrt_f16", halves1<[](double a) { return std::sqrt(a); }>, kAccepts},
    {"v_exp_f16", halves1<[](double a) { return std::exp2(a); }>, kAccepts},
    {"v_log_f16", halves1<[](double a) { return std::log2(a); }>, kAccepts},
    {"v_sin_f16", halves1<[](double turns) { return sine_of_turns(turns); }>, kAccepts},
    {"v_cos_f16", halves1<cosine_of_turns>, kAccepts},

    {"v_cvt_f32_f16", to_single, kAccepts},
    {"v_cvt_f16_f32", from_single, kAccepts},
    {"v_cvt_f16_u16", from_integer<u16>, modifier::kOutput},
    {"v_cvt_f16_i16", from_integer<i16>, modifier::kOutput},
    {"v_cvt_u16_f16", from_half<[](float a) { return u32{saturated<u16>(a)}; }>, modifier::kSign},
    {"v_cvt_i16_f16", from_half<[](float a) { return u32{static_cast<u16>(saturated<i16>(a))}; }>, modifier::kSign},
    {"v_cvt_pkrtz_f16_f32", pack_floats<truncate_to_half>, modifier::kSign},
    {"v_cvt_norm_u16_f16", from_half<normalized<u16>>, modifier::kSign},
    {"v_cvt_norm_i16_f16", from_half<normalized<i16>>, modifier::kSign},
    {"v_cvt_pknorm_u16_f16", normalize_halves<u16>, modifier::kSign | modifier::kHalves},
    {"v_cvt_pknorm_i16_f16", normalize_halves<i16>, modifier::kSign | modifier::kHalves},
    {"v_cvt_pknorm_u16_f32", pack_floats<normalized<u16>>, modifier::kSign},
    {"v_cvt_pknorm_i16_f32", pack_floats<normalized<i16>>, modifier::kSign},
    {"v_pack_b32_f16", pack_halves, modifier::kSign | modifier::kHalves},
});

}  // namespace

Table vector_half_table() {
  return kRows;
}

}  // namespace octet::sim
