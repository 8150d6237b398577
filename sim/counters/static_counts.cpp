#include "sim/counters/static_counts.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "sim/counters/mnemonics.h"

namespace octet::sim {
namespace {

void count_memory(const MemoryInstruction& memory, CodeCounts& counts) {
  const bool is_lds = memory.space == MemorySpace::lds;
  if (memory.space == MemorySpace::scratch) {
    ++counts.scratch;
  } else if (memory.use == MemoryUse::load) {
    ++(is_lds ? counts.lds_loads : counts.global_loads)[memory.bytes];
  } else if (memory.use == MemoryUse::store) {
    ++(is_lds ? counts.lds_stores : counts.global_stores)[memory.bytes];
  } else {
    ++(is_lds ? counts.lds_atomics : counts.global_atomics);
  }
}

/// Of the instructions from `begin` up to `end`, which is not counted.
CodeCounts count_code(const Program& program, std::uint32_t begin, std::uint32_t end) {
  CodeCounts counts;
  for (std::uint32_t number = begin; number < end; ++number) {
    const std::string_view name = mnemonic(program.text(number));
    ++counts.instructions;
    if (const std::optional<MemoryInstruction> memory = memory_instruction(name)) count_memory(*memory, counts);
    if (matrix_operations(name)) ++counts.matrix;
    if (is_barrier(name)) ++counts.barriers;
    if (is_wait(name)) ++counts.waits;
    if (is_cache_maintenance(name)) ++counts.cache_maintenance;
    if (is_branch(name)) ++counts.branches;
    if (!program.is_known(number)) ++counts.not_implemented;
  }
  return counts;
}

}  // namespace

StaticCounts static_counts(const Program& program, const Kernel& kernel) {
  const std::uint32_t begin = program.entry(kernel);
  const std::uint32_t end = program.end(kernel);
  std::map<std::uint32_t, std::uint32_t> last_branch;  // by the instruction to which it goes back
  for (std::uint32_t number = begin; number < end; ++number) {
    const std::optional<std::uint32_t> target = program.branch_target(number);
    if (target && *target >= begin && *target <= number) last_branch[*target] = number;
  }
  StaticCounts counts;
  counts.whole = count_code(program, begin, end);
  for (const auto& [first, last] : last_branch) {
    counts.loops.push_back({program.address(first), program.address(last), count_code(program, first, last + 1)});
  }
  return counts;
}

}  // namespace octet::sim
