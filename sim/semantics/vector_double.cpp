// Vector arithmetic in double precision, and conversions from and to it. AMD CDNA4 ISA, 12.7 VOP2, 12.8 VOP1, 12.11
// VOP3. Instructions that are approximate on hardware, which keeps denormals here, are rounded as the host does.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "sim/semantics/float_lanes.h"
#include "sim/semantics/table.h"

namespace octet::sim {
namespace {

/// D = F(bits of the source), a double.
template <auto F>
void from_integer(Wave& wave, const Instruction& instruction) {
  Lanes buffer;
  const Lanes& a = read_lanes(wave, instruction.operands[1], 0, buffer);
  WideLanes result;
  for (std::size_t lane = 0; lane < kLanes; ++lane) result[lane] = as_bits(F(a[lane]));
  modify_output(instruction, result);
  write_wide(wave, instruction.operands[0], result);
}

void from_single(Wave& wave, const Instruction& instruction) {
  Lanes buffer;
  const Lanes& a = read_floats(wave, instruction.operands[1], buffer);
  WideLanes result;
  for (std::size_t lane = 0; lane < kLanes; ++lane) result[lane] = as_bits(double{as_float(a[lane])});
  modify_output(instruction, result);
  write_wide(wave, instruction.operands[0], result);
}

void to_single(Wave& wave, const Instruction& instruction) {
  WideLanes buffer;
  const WideLanes& a = read_floats(wave, instruction.operands[1], buffer);
  Lanes result;
  for (std::size_t lane = 0; lane < kLanes; ++lane) result[lane] = as_bits(static_cast<float>(as_float(a[lane])));
  modify_output(instruction, result);
  write_lanes(wave, instruction.operands[0], 0, result);
}

/// The first 1201 bits of 2 / pi behind the point, the highest first; zeros follow.
constexpr std::array<u64, 19> kTwoOverPi{
    0xA2F9'836E'4E44'1529, 0xFC27'57D1'F534'DDC0, 0xDB62'9599'3C43'9041, 0xFE51'63AB'DEBB'C561, 0xB724'6E3A'424D'D2E0,
    0x0649'2EEA'09D1'921C, 0xFE1D'EB1C'B129'A73E, 0xE882'35F5'2EBB'4484, 0xE99C'7026'B45F'7E41, 0x3991'D639'8353'39F4,
    0x9C84'5F8B'BDF9'283B, 0x1FF8'97FF'DE05'980F, 0xEF2F'118B'5A0A'6D1F, 0x6D36'7ECF'27CB'09B7, 0x4F46'3F66'9E5F'EA2D,
    0x7527'BAC7'EBE5'F17B, 0x3D07'39F7'8A52'92EA, 0x6BFB'5FB1'1F8D'5D08, 0x5603'3046'FC7B'0000};

/// 53 bits from so many behind the point on, as an integer.
u64 bits_of_two_over_pi(std::size_t from) {
  const auto word = [](std::size_t index) { return index < kTwoOverPi.size() ? kTwoOverPi[index] : 0; };
  const std::size_t shift = from % 64;
  const u64 high = word(from / 64) << shift;
  const u64 low = shift == 0 ? 0 : word(from / 64 + 1) >> (64 - shift);
  return (high | low) >> 11;
}

/// A segment of 2 / pi at its place, for the reduction of angles: D = the one whose number the second source is, of
/// those that matter to an angle of the first one's exponent. Segments of large angles are scaled up by 2^128.
void prepare_angle(Wave& wave, const Instruction& instruction) {
  WideLanes buffer;
  Lanes broadcast;
  const WideLanes& angles = read_floats(wave, instruction.operands[1], buffer);
  const Lanes& segments = read_lanes(wave, instruction.operands[2], 0, broadcast);
  WideLanes result;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    const int exponent = static_cast<int>(angles[lane] >> 52 & 0x7FFU);
    const int shift = static_cast<int>(segments[lane] & 31U) * 53 + std::max(exponent - 1077, 0);
    const auto bits = static_cast<double>(bits_of_two_over_pi(static_cast<std::size_t>(shift)));
    result[lane] = as_bits(std::ldexp(bits, -53 - shift + (exponent >= 1968 ? 128 : 0)));
  }
  modify_output(instruction, result);
  write_wide(wave, instruction.operands[0], result);
}

constexpr u32 kAccepts = modifier::kSign | modifier::kOutput;
constexpr std::array kRows = std::to_array<Row>({
    {"v_add_f64", floats2<[](double a, double b) { return a + b; }, double>, kAccepts},
    {"v_mul_f64", floats2<[](double a, double b) { return a * b; }, double>, kAccepts},
    {"v_fma_f64", floats3<fused<double>, double>, kAccepts},
    {"v_fmac_f64", accumulate_product<double>, kAccepts},
    {"v_max_f64", float_bits2<double, larger<u64>>, kAccepts},
    {"v_min_f64", float_bits2<double, smaller<u64>>, kAccepts},
    {"v_floor_f64", floats1<[](double a) { return std::floor(a); }, double>, kAccepts},
    {"v_ceil_f64", floats1<[](double a) { return std::ceil(a); }, double>, kAccepts},
    {"v_trunc_f64", floats1<[](double a) { return std::trunc(a); }, double>, kAccepts},
    {"v_rndne_f64", floats1<[](double a) { return std::nearbyint(a); }, double>, kAccepts},
    {"v_fract_f64", floats1<[](double a) { return fraction_of(a, 0x1.fffffffffffffp-1); }, double>, kAccepts},
    {"v_ldexp_f64", scale_by_power<double>, kAccepts},
    {"v_frexp_mant_f64", floats1<mantissa_of<double>, double>, kAccepts},
    {"v_frexp_exp_i32_f64", extract_exponent<double>, modifier::kSign},
    {"v_rcp_f64", floats1<[](double a) { return 1 / a; }, double>, kAccepts},
    {"v_rsq_f64", floats1<[](double a) { return 1 / std::sqrt(a); }, double>, kAccepts},
    {"v_sqrt_f64", floats1<[](double a) { return std::sqrt(a); }, double>, kAccepts},
    {"v_trig_preop_f64", prepare_angle, kAccepts},

    {"v_cvt_f64_f32", from_single, kAccepts},
    {"v_cvt_f64_u32", from_integer<[](u32 a) { return static_cast<double>(a); }>, modifier::kOutput},
    {"v_cvt_f64_i32", from_integer<[](u32 a) { return static_cast<double>(static_cast<i32>(a)); }>, modifier::kOutput},
    {"v_cvt_f32_f64", to_single, kAccepts},
    {"v_cvt_u32_f64", from_float<saturated<u32, double>, double>, modifier::kSign},
    {"v_cvt_i32_f64", from_float<[](double a) { return static_cast<u32>(saturated<i32>(a)); }, double>,
     modifier::kSign},
});

}  // namespace

Table vector_double_table() {
  return kRows;
}

}  // namespace octet::sim
