#include "sim/counters/instruction_counts.h"

#include <optional>

#include "sim/counters/mnemonics.h"

namespace octet::sim {
namespace {

void count_name(std::string_view name, std::uint64_t times, InstructionCounts& counts) {
  counts.of_mnemonic[std::string(name)] += times;
  if (const std::optional<std::uint64_t> operations = matrix_operations(name)) {
    MatrixCount& matrix = counts.matrix[std::string(name)];
    matrix.instructions += times;
    matrix.operations += times * *operations;
  }
  const std::optional<MemoryInstruction> memory = memory_instruction(name);
  if (memory && memory->use == MemoryUse::atomic) {
    (memory->space == MemorySpace::lds ? counts.lds_atomics : counts.global_atomics) += times;
  }
  if (is_barrier(name)) counts.barriers += times;
  if (is_wait(name)) counts.waits += times;
  if (is_cache_maintenance(name)) counts.cache_maintenance += times;
  if (is_branch(name)) counts.branches += times;
  counts.scalar_load_bytes += times * scalar_load_bytes(name);
}

}  // namespace

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

MatrixCount InstructionCounts::all_matrix() const {
  MatrixCount sum;
  for (const auto& [name, count] : matrix) {
    sum.instructions += count.instructions;
    sum.operations += count.operations;
  }
  return sum;
}

InstructionCounts count_instructions(const Program& program, const LaunchResult& result) {
  InstructionCounts counts;
  counts.branches_taken = result.branches_taken;
  for (std::uint32_t number = 0; number < result.executed.size(); ++number) {
    const std::uint64_t times = result.executed[number];
    if (times == 0) continue;
    counts.total += times;
    counts.of_family[program.family(number)] += times;
    count_name(mnemonic(program.text(number)), times, counts);
  }
  return counts;
}

}  // namespace octet::sim
