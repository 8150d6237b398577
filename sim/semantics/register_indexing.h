// Registers that are named by a number in M0: a mode in which vector instructions add it to numbers of their registers,
// as clang has it where an array in registers is indexed. AMD CDNA4 ISA, 6.6 "VGPR Indexing".
#pragma once

#include <deque>
#include <string_view>

#include "sim/decode/instruction.h"

namespace octet::sim {

/// Makes a vector or matrix instruction, whose mnemonic is given without its encoding, obey the mode: it looks at the
/// wave's mode each time, so that only programs which ever enter the mode need it. While the mode is on, v_mov_b32 has
/// its registers moved, and any other instruction of the kind is an error. The instruction as it was goes to `inners`.
[[nodiscard]] Instruction with_register_indexing(const Instruction& instruction, std::string_view mnemonic,
                                                 std::deque<Instruction>& inners);

}  // namespace octet::sim
