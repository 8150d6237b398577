// Dot products of the parts of two registers: of halves, of bf16, of integers of 16, 8 and 4 bits, plus a third source
// of 32 bits. AMD CDNA4 ISA, 12.10 VOP3P; 12.7 VOP2 for those that accumulate into D. Sums of floats are exact to
// double precision and rounded once; in which steps hardware rounds is not said.
#include <array>
#include <cstdint>

#include "sim/semantics/packed_lanes.h"
#include "sim/semantics/saturation.h"
#include "sim/semantics/small_floats.h"
#include "sim/semantics/table.h"

namespace octet::sim {
namespace {

/// D = a . b + c of two elements each, which Decode takes from 16 bits.
template <auto Decode>
void dot_floats(Wave& wave, const Instruction& instruction) {
  constexpr u32 kSummand = 4;  // its bit in neg_lo and neg_hi
  if (((instruction.neg_lo | instruction.neg_hi) & kSummand) != 0) throw Failure("the summand is not negated here");
  std::array<Lanes, 5> buffers;
  const Lanes& a_low = read_packed_halves(wave, instruction, 0, 0, buffers[0]);
  const Lanes& a_high = read_packed_halves(wave, instruction, 0, 1, buffers[1]);
  const Lanes& b_low = read_packed_halves(wave, instruction, 1, 0, buffers[2]);
  const Lanes& b_high = read_packed_halves(wave, instruction, 1, 1, buffers[3]);
  const Lanes& c = read_lanes(wave, instruction.operands[3], 0, buffers[4]);
  Lanes result;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    const double products = double{Decode(a_low[lane])} * double{Decode(b_low[lane])} +
                            double{Decode(a_high[lane])} * double{Decode(b_high[lane])};
    result[lane] = as_bits(static_cast<float>(products + double{as_float(c[lane])}));
    if (is_nan_bits(result[lane])) result[lane] = kDefaultNan;
  }
  modify_output(instruction, result);
  write_lanes(wave, instruction.operands[0], 0, result);
}

/// Element `k` of a register of integers of so many bits.
template <typename Sum, int Bits>
i64 element(u32 elements, int k) {
  const u32 upmost = elements << (32 - Bits - Bits * k);
  return std::is_signed_v<Sum> ? i64{static_cast<i32>(upmost) >> (32 - Bits)} : i64{upmost >> (32 - Bits)};
}

/// D = a . b + c of integers, whose signs are those of `Sum`.
template <typename Sum, int Bits>
void dot_integers(Wave& wave, const Instruction& instruction) {
  constexpr std::uint8_t kLow = 0;
  constexpr std::uint8_t kHigh = 7;
  refuse_negation(instruction);
  if (instruction.op_sel != kLow || instruction.op_sel_hi != kHigh) throw Failure("op_sel is not implemented here");
  std::array<Lanes, 3> buffers;
  const Lanes& a = read_lanes(wave, instruction.operands[1], 0, buffers[0]);
  const Lanes& b = read_lanes(wave, instruction.operands[2], 0, buffers[1]);
  const Lanes& c = read_lanes(wave, instruction.operands[3], 0, buffers[2]);
  Lanes result;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    i64 sum = static_cast<Sum>(c[lane]);
    for (int k = 0; k < 32 / Bits; ++k) sum += element<Sum, Bits>(a[lane], k) * element<Sum, Bits>(b[lane], k);
    result[lane] = fitted<Sum>(sum, instruction.clamp);
  }
  write_lanes(wave, instruction.operands[0], 0, result);
}

/// D += a . b.
template <auto Dot>
void accumulated(Wave& wave, const Instruction& instruction) {
  Instruction with_summand = instruction;
  with_summand.operands[3] = instruction.operands[0];
  Dot(wave, with_summand);
}

constexpr u32 kAccepts = modifier::kHalves | modifier::kPacked | modifier::kOutput;
constexpr auto kDotHalf = dot_floats<decode_half>;
constexpr auto kDotBf16 = dot_floats<decode_bf16>;
constexpr std::array kRows = std::to_array<Row>({
    {"v_dot2_f32_f16", kDotHalf, kAccepts},
    {"v_dot2_f32_bf16", kDotBf16, kAccepts, Generation::cdna4},
    {"v_dot2_i32_i16", dot_integers<i32, 16>, kAccepts},
    {"v_dot2_u32_u16", dot_integers<u32, 16>, kAccepts},
    {"v_dot4_i32_i8", dot_integers<i32, 8>, kAccepts},
    {"v_dot4_u32_u8", dot_integers<u32, 8>, kAccepts},
    {"v_dot8_i32_i4", dot_integers<i32, 4>, kAccepts},
    {"v_dot8_u32_u4", dot_integers<u32, 4>, kAccepts},
    {"v_dot2c_f32_f16", accumulated<kDotHalf>},
    {"v_dot2c_f32_bf16", accumulated<kDotBf16>, modifier::kNone, Generation::cdna4},
    {"v_dot2c_i32_i16", accumulated<dot_integers<i32, 16>>},
    {"v_dot4c_i32_i8", accumulated<dot_integers<i32, 8>>},
    {"v_dot8c_i32_i4", accumulated<dot_integers<i32, 4>>},
});

}  // namespace

Table vector_dot_table() {
  return kRows;
}

}  // namespace octet::sim
