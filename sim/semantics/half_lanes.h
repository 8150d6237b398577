// How functions of families read and write halves in registers of 32 bits: which half op_sel names, neg and abs, clamp.
// AMD CDNA4 ISA, 6.2 and 6.5; 12.11 VOP3: one with op_sel leaves the other half as it is. That what an instruction
// without it writes has zeros above it is LLVM's GCNSubtarget::zeroesHigh16BitsOfDest.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <tuple>
#include <utility>

#include "sim/semantics/float_bits.h"
#include "sim/semantics/float_lanes.h"
#include "sim/semantics/half.h"
#include "sim/semantics/lanes.h"

namespace octet::sim {

using HalfBits = FloatBits<std::uint16_t>;

/// What becomes of the half of D that is not the result's.
enum class OtherHalf : std::uint8_t { zero, kept };

/// 16 bits of a source, with zeros above them: the upper ones where op_sel says so.
[[nodiscard]] inline const Lanes& read_words(const Wave& wave, const Instruction& instruction, std::size_t source,
                                             Lanes& buffer) {
  const Lanes& plain = read_lanes(wave, instruction.operands[source + 1], 0, buffer);
  const std::uint32_t shift = (instruction.op_sel >> source & 1U) != 0 ? 16 : 0;
  for (std::size_t lane = 0; lane < kLanes; ++lane) buffer[lane] = plain[lane] >> shift & 0xFFFFU;
  return buffer;
}

/// The same with abs and neg applied.
[[nodiscard]] inline const Lanes& read_halves(const Wave& wave, const Instruction& instruction, std::size_t source,
                                              Lanes& buffer) {
  std::ignore = read_words(wave, instruction, source, buffer);
  const Operand& operand = instruction.operands[source + 1];
  const std::uint32_t keep = operand.absolute ? 0x7FFFU : 0xFFFFU;
  const std::uint32_t flip = operand.negated ? 0x8000U : 0U;
  for (std::uint32_t& bits : buffer) bits = (bits & keep) ^ flip;
  return buffer;
}

/// Of instructions that leave the other half, op_sel's bit behind those of the sources names the half to be written.
template <OtherHalf Other>
void write_words(Wave& wave, const Instruction& instruction, const Lanes& values) {
  if constexpr (Other == OtherHalf::zero) {
    write_lanes(wave, instruction.operands[0], 0, values);
  } else {
    const std::uint32_t shift = (instruction.op_sel >> (instruction.operand_count - 1) & 1U) != 0 ? 16 : 0;
    const Lanes& before = vector_row(wave, instruction.operands[0]);
    Lanes result;
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      result[lane] = (before[lane] & ~(0xFFFFU << shift)) | values[lane] << shift;
    }
    write_lanes(wave, instruction.operands[0], 0, result);
  }
}

/// Clamp to [0, 1], where NaN becomes 0.
inline void modify_halves(const Instruction& instruction, Lanes& result) {
  if (!instruction.clamp) return;
  constexpr std::uint32_t kOne = 0x3C00;
  for (std::uint32_t& bits : result) bits = bits > HalfBits::kInfinity ? 0 : std::min(bits, kOne);
}

/// D = F(halves): F takes floats, or doubles where a float would round what it computes, and its result is rounded
/// once.
template <auto F, OtherHalf Other, std::size_t... Source>
void halves_of(Wave& wave, const Instruction& instruction, std::index_sequence<Source...> /*sources*/) {
  std::array<Lanes, sizeof...(Source)> buffers;
  const std::array<const Lanes*, sizeof...(Source)> sources{
      &read_halves(wave, instruction, Source, buffers[Source])...};
  Lanes result;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    result[lane] = encode_half(F(decode_half((*sources[Source])[lane])...));
  }
  settle_nans_of<std::uint16_t>(result, sources);
  modify_halves(instruction, result);
  write_words<Other>(wave, instruction, result);
}

/// D = F(bits of halves), where F knows of NaNs itself.
template <auto F, OtherHalf Other, std::size_t... Source>
void half_bits_of(Wave& wave, const Instruction& instruction, std::index_sequence<Source...> /*sources*/) {
  std::array<Lanes, sizeof...(Source)> buffers;
  const std::array<const Lanes*, sizeof...(Source)> sources{
      &read_halves(wave, instruction, Source, buffers[Source])...};
  Lanes result;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    result[lane] = F(static_cast<std::uint16_t>((*sources[Source])[lane])...);
  }
  modify_halves(instruction, result);
  write_words<Other>(wave, instruction, result);
}

template <auto F>
void halves1(Wave& wave, const Instruction& instruction) {
  halves_of<F, OtherHalf::zero>(wave, instruction, std::make_index_sequence<1>());
}
template <auto F>
void halves2(Wave& wave, const Instruction& instruction) {
  halves_of<F, OtherHalf::zero>(wave, instruction, std::make_index_sequence<2>());
}
template <auto F, OtherHalf Other = OtherHalf::kept>
void halves3(Wave& wave, const Instruction& instruction) {
  halves_of<F, Other>(wave, instruction, std::make_index_sequence<3>());
}
template <auto F>
void half_bits2(Wave& wave, const Instruction& instruction) {
  half_bits_of<F, OtherHalf::zero>(wave, instruction, std::make_index_sequence<2>());
}
template <auto F, OtherHalf Other = OtherHalf::kept>
void half_bits3(Wave& wave, const Instruction& instruction) {
  half_bits_of<F, Other>(wave, instruction, std::make_index_sequence<3>());
}

}  // namespace octet::sim
