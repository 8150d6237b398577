// What the machine code of a kernel holds, counted without running it. Tests of kernels hold it against what they
// expect: no scratch, wide accesses in loops, no cache maintenance. It stands in for what is not simulated.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "sim/launch/program.h"

namespace octet::sim {

/// From bytes that a lane accesses to the number of instructions; 0 bytes where a name does not say.
using WidthCounts = std::map<std::uint32_t, std::uint32_t>;

/// Numbers of instructions. `global_` counts global_, buffer_ and flat_ instructions.
struct CodeCounts {
  std::uint32_t instructions = 0;
  WidthCounts global_loads, global_stores;
  WidthCounts lds_loads, lds_stores;  ///< ds_read2_... and ds_write2_... by the width of one of their two
  std::uint32_t global_atomics = 0, lds_atomics = 0;
  std::uint32_t scratch = 0;  ///< spilled registers, and arrays that did not fit into registers
  std::uint32_t matrix = 0;   ///< v_mfma_... and v_smfmac_...
  std::uint32_t barriers = 0;
  std::uint32_t waits = 0;
  std::uint32_t cache_maintenance = 0;
  std::uint32_t branches = 0;
  std::uint32_t not_implemented = 0;
};

/// Instructions from the target of a branch backwards up to the last such branch, both included.
struct LoopCounts {
  std::uint64_t begin, end;  ///< addresses of the first and the last instruction, as in a disassembly
  CodeCounts counts;         ///< with those of loops within
};

struct StaticCounts {
  CodeCounts whole;
  std::vector<LoopCounts> loops;  ///< in the order of their begin
};

/// Of the kernel's own code: functions that it calls and that were not inlined are not looked into.
[[nodiscard]] StaticCounts static_counts(const Program& program, const Kernel& kernel);

}  // namespace octet::sim
