// Two halves at once in a register, and sums of products that mix halves and floats. AMD CDNA4 ISA, 6.7 "Packed Math";
// 12.10 VOP3P.
#include <array>
#include <cmath>
#include <cstdint>
#include <utility>

#include "sim/semantics/packed_lanes.h"
#include "sim/semantics/table.h"

namespace octet::sim {
namespace {

/// Whether a function on bits leaves it to its caller which NaN a result is.
enum class Nans : std::uint8_t { settled, to_settle };

/// D = F(halves) for the low and the high half; F takes and gives bits.
template <auto F, Nans OfF, std::size_t... Source>
void packed_of(Wave& wave, const Instruction& instruction, std::index_sequence<Source...> /*sources*/) {
  std::array<Lanes, 2> results;
  for (int half = 0; half < 2; ++half) {
    std::array<Lanes, sizeof...(Source)> buffers;
    const std::array<const Lanes*, sizeof...(Source)> sources{
        &read_packed_halves(wave, instruction, Source, half, buffers[Source])...};
    Lanes& result = results[static_cast<std::size_t>(half)];
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      result[lane] = F(static_cast<u16>((*sources[Source])[lane])...);
    }
    if (OfF == Nans::to_settle) settle_nans_of<u16>(result, sources);
    modify_halves(instruction, result);
  }
  for (std::size_t lane = 0; lane < kLanes; ++lane) results[0][lane] |= results[1][lane] << 16;
  write_lanes(wave, instruction.operands[0], 0, results[0]);
}

template <auto F, Nans OfF>
void packed2(Wave& wave, const Instruction& instruction) {
  packed_of<F, OfF>(wave, instruction, std::make_index_sequence<2>());
}
template <auto F, Nans OfF>
void packed3(Wave& wave, const Instruction& instruction) {
  packed_of<F, OfF>(wave, instruction, std::make_index_sequence<3>());
}

u32 sum(u16 a, u16 b) {
  return encode_half(decode_half(a) + decode_half(b));
}
u32 product(u16 a, u16 b) {
  return encode_half(decode_half(a) * decode_half(b));
}
/// The product is exact in double precision, and the sum is so near any tie of halves.
u32 fused_halves(u16 a, u16 b, u16 c) {
  return encode_half(double{decode_half(a)} * double{decode_half(b)} + double{decode_half(c)});
}

/// D = a * b + D.
void accumulate(Wave& wave, const Instruction& instruction) {
  Instruction with_summand = instruction;
  with_summand.operands[3] = instruction.operands[0];
  packed3<fused_halves, Nans::to_settle>(wave, with_summand);
}

/// A source of v_fma_mix: a half that op_sel selects where op_sel_hi has its bit, else a float. LLVM leaves op_sel_hi
/// out where it has no bits, and writes neg and abs at the operand.
const Lanes& read_mixed(const Wave& wave, const Instruction& instruction, std::size_t source, Lanes& buffer) {
  const u32 halves = (instruction.used & modifier::kPacked) != 0 ? instruction.op_sel_hi : 0;
  const Operand& operand = instruction.operands[source + 1];
  if ((halves >> source & 1U) == 0) return read_floats(wave, operand, buffer);
  if (operand.bank == Bank::literal) throw Failure("a constant that is a half is not implemented here");
  const Lanes& bits = read_halves(wave, instruction, source, buffer);
  for (std::size_t lane = 0; lane < kLanes; ++lane) buffer[lane] = as_bits(decode_half(bits[lane]));
  return buffer;
}

Lanes mixed(const Wave& wave, const Instruction& instruction) {
  std::array<Lanes, 3> buffers;
  const std::array<const Lanes*, 3> sources{&read_mixed(wave, instruction, 0, buffers[0]),
                                            &read_mixed(wave, instruction, 1, buffers[1]),
                                            &read_mixed(wave, instruction, 2, buffers[2])};
  Lanes result;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    result[lane] =
        as_bits(fused(as_float((*sources[0])[lane]), as_float((*sources[1])[lane]), as_float((*sources[2])[lane])));
  }
  settle_nans(result, sources);
  return result;
}

void mix(Wave& wave, const Instruction& instruction) {
  Lanes result = mixed(wave, instruction);
  modify_output(instruction, result);
  write_lanes(wave, instruction.operands[0], 0, result);
}

/// The float is rounded again to a half, as clang has it: it writes a conversion after a sum this way. The other half
/// of D stays.
template <u32 Shift>
void mix_into_half(Wave& wave, const Instruction& instruction) {
  Lanes result = mixed(wave, instruction);
  for (u32& bits : result) bits = encode_half(as_float(bits));
  modify_halves(instruction, result);
  const Lanes& before = vector_row(wave, instruction.operands[0]);
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    result[lane] = (before[lane] & ~(0xFFFFU << Shift)) | result[lane] << Shift;
  }
  write_lanes(wave, instruction.operands[0], 0, result);
}

constexpr u32 kPackedHalves = modifier::kHalves | modifier::kPacked | modifier::kOutput;
constexpr u32 kMixed = kPackedHalves | modifier::kSign;
constexpr std::array kRows = std::to_array<Row>({
    {"v_pk_add_f16", packed2<sum, Nans::to_settle>, kPackedHalves},
    {"v_pk_mul_f16", packed2<product, Nans::to_settle>, kPackedHalves},
    {"v_pk_fma_f16", packed3<fused_halves, Nans::to_settle>, kPackedHalves},
    {"v_pk_fmac_f16", accumulate},
    {"v_pk_max_f16", packed2<larger<u16>, Nans::settled>, kPackedHalves},
    {"v_pk_min_f16", packed2<smaller<u16>, Nans::settled>, kPackedHalves},
    {"v_pk_maximum3_f16", packed3<maximum3<u16>, Nans::settled>, kPackedHalves, Generation::cdna4},
    {"v_pk_minimum3_f16", packed3<minimum3<u16>, Nans::settled>, kPackedHalves, Generation::cdna4},
    {"v_fma_mix_f32", mix, kMixed},
    {"v_fma_mixlo_f16", mix_into_half<0>, kMixed},
    {"v_fma_mixhi_f16", mix_into_half<16>, kMixed},
});

}  // namespace

Table vector_packed_half_table() {
  return kRows;
}

}  // namespace octet::sim
