// Conversions between number formats. AMD CDNA4 ISA, 7.3 "BF8 / FP8 and Smaller Formats and Conversions"; 12.8 VOP1,
// 12.11 VOP3 (V_CVT_...). CDNA3 has the same instructions but for those to and from bf16, to pairs of halves and to
// halves with random bits, and the formats without -0.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "sim/semantics/float_lanes.h"
#include "sim/semantics/small_floats.h"
#include "sim/semantics/table.h"

namespace octet::sim {
namespace {

/// D = F(bits), a float.
template <auto F>
void to_float(Wave& wave, const Instruction& instruction) {
  Lanes buffer;
  const Lanes& a = read_lanes(wave, instruction.operands[1], 0, buffer);
  Lanes result;
  for (std::size_t lane = 0; lane < kLanes; ++lane) result[lane] = as_bits(F(a[lane]));
  modify_output(instruction, result);
  write_lanes(wave, instruction.operands[0], 0, result);
}

u32 to_signed(float a) {
  return static_cast<u32>(saturated<i32>(a));
}
u32 to_signed_below(float a) {
  return static_cast<u32>(saturated<i32>(std::floor(a)));
}
/// Halves go up.
u32 to_signed_nearest(float a) {
  return static_cast<u32>(saturated<i32>(std::floor(double{a} + 0.5)));
}

/// A signed integer of four bits, in units of a sixteenth.
float sixteenths(u32 a) {
  return static_cast<float>(static_cast<i32>(a << 28) >> 28) / 16;
}

template <int Byte>
float unsigned_byte(u32 a) {
  return static_cast<float>(a >> (8 * Byte) & 0xFFU);
}

/// Bits [shift, shift + width) of a dword become `value`.
void insert(u32& dword, u32 value, u32 shift, u32 width) {
  const u32 mask = ((u32{1} << width) - 1) << shift;
  dword = (dword & ~mask) | value << shift;
}

/// Two codes into the low half of D, or with op_sel's third bit the high half; the other half stays.
template <SmallFormat Format>
void encode_pair(Wave& wave, const Instruction& instruction) {
  std::array<Lanes, 2> buffers;
  const Lanes& a = read_floats(wave, instruction.operands[1], buffers[0]);
  const Lanes& b = read_floats(wave, instruction.operands[2], buffers[1]);
  const u32 shift = (instruction.op_sel & 4U) != 0 ? 16 : 0;
  Lanes& d = vector_row(wave, instruction.operands[0]);
  for_active_lanes(wave, [&](std::size_t lane) {
    insert(d[lane], encode(as_float(a[lane]), Format) | encode(as_float(b[lane]), Format) << 8, shift, 16);
  });
}

/// A code, rounded by the random bits of the second source, into the byte of D that op_sel's third and fourth bit
/// number, or into the half that the third does; the rest stays.
template <SmallFormat Format>
void encode_stochastically(Wave& wave, const Instruction& instruction) {
  constexpr u32 kWidth = Format.bits();
  constexpr u32 kParts = 32 / kWidth;
  Lanes buffer;
  Lanes broadcast;
  const Lanes& a = read_floats(wave, instruction.operands[1], buffer);
  const Lanes& random = read_lanes(wave, instruction.operands[2], 0, broadcast);
  const u32 shift = (instruction.op_sel >> 2) % kParts * kWidth;
  Lanes& d = vector_row(wave, instruction.operands[0]);
  for_active_lanes(wave, [&](std::size_t lane) {
    insert(d[lane], encode_stochastic(as_float(a[lane]), Format, random[lane]), shift, kWidth);
  });
}

/// Which byte or half SDWA has be read; without it the lowest.
u32 selected_shift(const Instruction& instruction) {
  const Part part = instruction.sdwa.source[0];
  if (part == Part::word0 || part == Part::word1) return part == Part::word1 ? 16 : 0;
  return part == Part::dword ? 0 : 8 * static_cast<u32>(part);
}

template <SmallFormat Format>
void decode_single(Wave& wave, const Instruction& instruction) {
  Lanes buffer;
  const Lanes& a = read_lanes(wave, instruction.operands[1], 0, buffer);
  const u32 shift = selected_shift(instruction);
  Lanes result;
  for (std::size_t lane = 0; lane < kLanes; ++lane) result[lane] = as_bits(kDecoded<Format>[a[lane] >> shift & 0xFFU]);
  write_lanes(wave, instruction.operands[0], 0, result);
}

template <SmallFormat Format>
void decode_pair(Wave& wave, const Instruction& instruction) {
  Lanes buffer;
  const Lanes& a = read_lanes(wave, instruction.operands[1], 0, buffer);
  const u32 shift = selected_shift(instruction);
  std::array<Lanes, 2> results;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    results[0][lane] = as_bits(kDecoded<Format>[a[lane] >> shift & 0xFFU]);
    results[1][lane] = as_bits(kDecoded<Format>[a[lane] >> (shift + 8) & 0xFFU]);
  }
  write_lanes(wave, instruction.operands[0], 0, results[0]);
  write_lanes(wave, instruction.operands[0], 1, results[1]);
}

constexpr u32 kFloatSource = modifier::kSign;
constexpr u32 kEncode = modifier::kSign | modifier::kHalves;
constexpr u32 kDecode = modifier::kByteSelection;
constexpr std::array kRows = std::to_array<Row>({
    {"v_cvt_f32_u32", to_float<[](u32 a) { return static_cast<float>(a); }>, modifier::kOutput},
    {"v_cvt_f32_i32", to_float<[](u32 a) { return static_cast<float>(static_cast<i32>(a)); }>, modifier::kOutput},
    {"v_cvt_f32_ubyte0", to_float<unsigned_byte<0>>, modifier::kOutput},
    {"v_cvt_f32_ubyte1", to_float<unsigned_byte<1>>, modifier::kOutput},
    {"v_cvt_f32_ubyte2", to_float<unsigned_byte<2>>, modifier::kOutput},
    {"v_cvt_f32_ubyte3", to_float<unsigned_byte<3>>, modifier::kOutput},
    {"v_cvt_off_f32_i4", to_float<sixteenths>, modifier::kOutput},
    {"v_cvt_u32_f32", from_float<saturated<u32, float>>, kFloatSource},
    {"v_cvt_i32_f32", from_float<to_signed>, kFloatSource},
    {"v_cvt_flr_i32_f32", from_float<to_signed_below>, kFloatSource},
    {"v_cvt_rpi_i32_f32", from_float<to_signed_nearest>, kFloatSource},
    {"v_cvt_pk_f16_f32", pack_floats<[](float a) { return encode_half(a); }>, kFloatSource, Generation::cdna4},
    {"v_cvt_pk_bf16_f32", pack_floats<encode_bf16>, kFloatSource, Generation::cdna4},
    {"v_cvt_f32_bf16", to_float<decode_bf16>, modifier::kOutput, Generation::cdna4},
    {"v_cvt_sr_f16_f32", encode_stochastically<kHalf>, kEncode, Generation::cdna4},
    {"v_cvt_sr_bf16_f32", encode_stochastically<kBf16>, kEncode, Generation::cdna4},

    {"v_cvt_pk_fp8_f32", encode_pair<kFp8Cdna3>, kEncode, Generation::cdna3},
    {"v_cvt_sr_fp8_f32", encode_stochastically<kFp8Cdna3>, kEncode, Generation::cdna3},
    {"v_cvt_pk_bf8_f32", encode_pair<kBf8Cdna3>, kEncode, Generation::cdna3},
    {"v_cvt_sr_bf8_f32", encode_stochastically<kBf8Cdna3>, kEncode, Generation::cdna3},
    {"v_cvt_f32_fp8", decode_single<kFp8Cdna3>, kDecode, Generation::cdna3},
    {"v_cvt_f32_bf8", decode_single<kBf8Cdna3>, kDecode, Generation::cdna3},
    {"v_cvt_pk_f32_fp8", decode_pair<kFp8Cdna3>, kDecode, Generation::cdna3},
    {"v_cvt_pk_f32_bf8", decode_pair<kBf8Cdna3>, kDecode, Generation::cdna3},

    {"v_cvt_pk_fp8_f32", encode_pair<kFp8Cdna4>, kEncode, Generation::cdna4},
    {"v_cvt_sr_fp8_f32", encode_stochastically<kFp8Cdna4>, kEncode, Generation::cdna4},
    {"v_cvt_pk_bf8_f32", encode_pair<kBf8Cdna4>, kEncode, Generation::cdna4},
    {"v_cvt_sr_bf8_f32", encode_stochastically<kBf8Cdna4>, kEncode, Generation::cdna4},
    {"v_cvt_f32_fp8", decode_single<kFp8Cdna4>, kDecode, Generation::cdna4},
    {"v_cvt_f32_bf8", decode_single<kBf8Cdna4>, kDecode, Generation::cdna4},
    {"v_cvt_pk_f32_fp8", decode_pair<kFp8Cdna4>, kDecode, Generation::cdna4},
    {"v_cvt_pk_f32_bf8", decode_pair<kBf8Cdna4>, kDecode, Generation::cdna4},
});

}  // namespace

Table vector_conversion_table() {
  return kRows;
}

}  // namespace octet::sim
