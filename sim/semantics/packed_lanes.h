// How functions of families read the halves of VOP3P's sources. AMD CDNA4 ISA, 6.7 "Packed Math".
#pragma once

#include <cstdint>

#include "sim/semantics/half_lanes.h"
#include "sim/semantics/lanes.h"

namespace octet::sim {

/// Half 0 (low) or 1 of an instruction's two halves of work: which 16 bits of a source it reads, op_sel says for the
/// low half and op_sel_hi for the high one. A constant is 32 bits wide, a float's bits being its low half.
[[nodiscard]] inline const Lanes& read_packed_words(const Wave& wave, const Instruction& instruction,
                                                    std::size_t source, int half, Lanes& buffer) {
  const Lanes& plain = read_lanes(wave, instruction.operands[source + 1], 0, buffer);
  const std::uint32_t selection = half == 0 ? instruction.op_sel : instruction.op_sel_hi;
  const std::uint32_t shift = (selection >> source & 1U) != 0 ? 16 : 0;
  for (std::size_t lane = 0; lane < kLanes; ++lane) buffer[lane] = plain[lane] >> shift & 0xFFFFU;
  return buffer;
}

/// The same with neg_lo or neg_hi applied.
[[nodiscard]] inline const Lanes& read_packed_halves(const Wave& wave, const Instruction& instruction,
                                                     std::size_t source, int half, Lanes& buffer) {
  std::ignore = read_packed_words(wave, instruction, source, half, buffer);
  const std::uint32_t negation = half == 0 ? instruction.neg_lo : instruction.neg_hi;
  const std::uint32_t flip = (negation >> source & 1U) != 0 ? 0x8000U : 0U;
  for (std::uint32_t& bits : buffer) bits ^= flip;
  return buffer;
}

/// Instructions on integers do not negate.
inline void refuse_negation(const Instruction& instruction) {
  if ((instruction.neg_lo | instruction.neg_hi) != 0)
    throw Failure("neg_lo and neg_hi of integers are not implemented");
}

}  // namespace octet::sim
