#include "sim/counters/instruction_counts.h"

#include <algorithm>

namespace octet::sim {

std::string_view name(Family family) {
  switch (family) {
    case Family::control:
      return "control";
    case Family::scalar:
      return "scalar";
    case Family::scalar_memory:
      return "scalar memory";
    case Family::vector:
      return "vector";
    case Family::matrix:
      return "matrix";
    case Family::lds:
      return "lds";
    case Family::global:
      return "global";
    case Family::atomic:
      return "atomic";
    case Family::scratch:
      return "scratch";
  }
  return "";
}

InstructionCounts count_instructions(const Program& program, const LaunchResult& result) {
  InstructionCounts counts;
  for (std::uint32_t number = 0; number < result.executed.size(); ++number) {
    const std::uint64_t times = result.executed[number];
    if (times == 0) continue;
    const std::string& text = program.text(number);
    const std::string mnemonic = text.substr(0, text.find(' '));
    counts.total += times;
    counts.of_family[program.family(number)] += times;
    counts.of_mnemonic[mnemonic] += times;
    if (mnemonic == "s_barrier") counts.barriers += times;
    if (mnemonic == "buffer_wbl2" || mnemonic == "buffer_inv") counts.cache_maintenance += times;
  }
  return counts;
}

std::uint32_t waves_per_simd(const Kernel& kernel) {
  constexpr std::uint32_t kRegisters = 512;
  constexpr std::uint32_t kMost = 8;
  const std::uint32_t taken = (std::max(kernel.vgprs, 1U) + 7) / 8 * 8;
  return std::min(kMost, kRegisters / taken);
}

}  // namespace octet::sim
