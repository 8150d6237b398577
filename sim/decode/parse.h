// The text of an instruction, in LLVM's syntax, into an Instruction.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sim/decode/instruction.h"

namespace octet::sim {

/// How an instruction is encoded, as far as it changes what is executed.
enum class Form : std::uint8_t { plain, dpp, sdwa };

struct Parsed {
  std::string mnemonic;  ///< without _e32, _e64, _dpp, _sdwa; with _lds where the text ends in "lds"
  Form form = Form::plain;
  Instruction instruction;  ///< all but its function, its number, its target
  std::string unknown;      ///< the first part of the text that was not understood; empty when all was
};

/// Never throws: what is not understood is named, so that only executing it is an error.
[[nodiscard]] Parsed parse(std::string_view text);

}  // namespace octet::sim
