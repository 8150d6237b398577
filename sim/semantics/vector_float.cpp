// Vector arithmetic in single precision. AMD CDNA4 ISA, 12.7 VOP2, 12.8 VOP1, 12.11 VOP3.
// Instructions that are approximate on hardware are rounded correctly here.
#include <array>
#include <cmath>
#include <cstdint>

#include "sim/semantics/float_lanes.h"
#include "sim/semantics/table.h"
#include "sim/semantics/turns.h"

namespace octet::sim {
namespace {

float multiply_legacy(float a, float b) {
  return a == 0 || b == 0 ? 0.0F : a * b;
}

float sine(float turns) {
  return static_cast<float>(sine_of_turns(turns));
}
float cosine(float turns) {
  return static_cast<float>(cosine_of_turns(turns));
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

/// Faces of a cube: which one the vector (x, y, z) meets, by its longest component, z before y before x.
struct CubeFace {
  float id;
  float s;  ///< coordinate on the face, times the longest component
  float t;
  float major;
};
CubeFace cube_face(float x, float y, float z) {
  if (std::fabs(z) >= std::fabs(x) && std::fabs(z) >= std::fabs(y)) {
    return z < 0 ? CubeFace{5, -x, -y, z} : CubeFace{4, x, -y, z};
  }
  if (std::fabs(y) >= std::fabs(x)) return y < 0 ? CubeFace{3, x, -z, y} : CubeFace{2, x, z, y};
  return x < 0 ? CubeFace{1, z, -y, x} : CubeFace{0, -z, -y, x};
}

constexpr u32 kAccepts = modifier::kSign | modifier::kOutput;
constexpr std::array kRows = std::to_array<Row>({
    {"v_add_f32", floats2<[](float a, float b) { return a + b; }>, kAccepts},
    {"v_sub_f32", floats2<[](float a, float b) { return a - b; }>, kAccepts},
    {"v_subrev_f32", floats2<[](float a, float b) { return b - a; }>, kAccepts},
    {"v_mul_f32", floats2<[](float a, float b) { return a * b; }>, kAccepts},
    {"v_mul_legacy_f32", floats2<multiply_legacy>, kAccepts},
    {"v_fma_f32", floats3<fused<float>>, kAccepts},
    {"v_fmac_f32", accumulate_product<float>, kAccepts},
    {"v_fmamk_f32", floats3<fused<float>>},
    {"v_fmaak_f32", floats3<fused<float>>},
    {"v_max_f32", float_bits2<float, larger<u32>>, kAccepts},
    {"v_min_f32", float_bits2<float, smaller<u32>>, kAccepts},
    {"v_max3_f32", float_bits3<float, largest<u32>>, kAccepts},
    {"v_min3_f32", float_bits3<float, smallest<u32>>, kAccepts},
    {"v_med3_f32", float_bits3<float, median_float<u32>>, kAccepts},
    {"v_minimum3_f32", float_bits3<float, minimum3<u32>>, kAccepts, Generation::cdna4},
    {"v_maximum3_f32", float_bits3<float, maximum3<u32>>, kAccepts, Generation::cdna4},
    {"v_floor_f32", floats1<[](float a) { return std::floor(a); }>, kAccepts},
    {"v_ceil_f32", floats1<[](float a) { return std::ceil(a); }>, kAccepts},
    {"v_trunc_f32", floats1<[](float a) { return std::trunc(a); }>, kAccepts},
    {"v_rndne_f32", floats1<[](float a) { return std::nearbyint(a); }>, kAccepts},
    {"v_fract_f32", floats1<[](float a) { return fraction_of(a, 0x1.fffffep-1F); }>, kAccepts},
    {"v_ldexp_f32", scale_by_power<float>, kAccepts},
    {"v_frexp_mant_f32", floats1<mantissa_of<float>>, kAccepts},
    {"v_frexp_exp_i32_f32", extract_exponent<float>, modifier::kSign},
    {"v_rcp_f32", floats1<flushing<reciprocal>>, kAccepts},
    {"v_rcp_iflag_f32", floats1<flushing<reciprocal>>, kAccepts},
    {"v_rsq_f32", floats1<flushing<reciprocal_root>>, kAccepts},
    {"v_sqrt_f32", floats1<flushing<root>>, kAccepts},
    {"v_exp_f32", floats1<flushing<power_of_two>>, kAccepts},
    {"v_log_f32", floats1<flushing<logarithm>>, kAccepts},
    {"v_sin_f32", floats1<sine>, kAccepts},
    {"v_cos_f32", floats1<cosine>, kAccepts},
    {"v_cubeid_f32", floats3<[](float x, float y, float z) { return cube_face(x, y, z).id; }>, kAccepts},
    {"v_cubesc_f32", floats3<[](float x, float y, float z) { return cube_face(x, y, z).s; }>, kAccepts},
    {"v_cubetc_f32", floats3<[](float x, float y, float z) { return cube_face(x, y, z).t; }>, kAccepts},
    {"v_cubema_f32", floats3<[](float x, float y, float z) { return 2 * cube_face(x, y, z).major; }>, kAccepts},
});

}  // namespace

Table vector_float_table() {
  return kRows;
}

}  // namespace octet::sim
