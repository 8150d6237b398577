// Forms of scalar instructions that several tables have: one source, with and without SCC; EXEC that is saved.
#pragma once

#include "sim/semantics/lanes.h"

namespace octet::sim {

/// D = F(a); SCC stays.
template <typename T, auto F>
void unary(Wave& wave, const Instruction& instruction) {
  write_scalar(wave, instruction.operands[0], F(read_scalar<T>(wave, instruction.operands[1])));
}

/// D = F(a); SCC = D is not 0.
template <typename T, auto F>
void unary_test(Wave& wave, const Instruction& instruction) {
  const auto result = F(read_scalar<T>(wave, instruction.operands[1]));
  write_scalar(wave, instruction.operands[0], result);
  wave.scc = result != 0;
}

/// D = EXEC, EXEC = F(source, EXEC), SCC = EXEC is not 0.
template <auto F>
void save_exec(Wave& wave, const Instruction& instruction) {
  const u64 exec = wave.exec();
  const u64 result = F(read_scalar<u64>(wave, instruction.operands[1]), exec);
  write_scalar(wave, instruction.operands[0], exec);
  wave.set_pair(kExecLo, result);
  wave.scc = result != 0;
}

}  // namespace octet::sim
