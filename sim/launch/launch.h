// Running a kernel: workgroups over threads, waves of a workgroup taking turns at barriers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/thread_pool.h"
#include "sim/launch/program.h"
#include "sim/machine/access.h"

namespace octet::sim {

struct Extent {
  std::uint32_t x = 1, y = 1, z = 1;
};

struct LaunchConfig {
  Extent workgroups;  ///< in the grid
  Extent lanes;       ///< in a workgroup
  std::uint32_t dynamic_lds_bytes = 0;
};

/// What a launch did. Counted the same whatever the number of threads.
struct LaunchResult {
  std::vector<std::uint64_t> executed;  ///< [instructions] how often each instruction of the program was executed
  std::uint64_t branches_taken = 0;     ///< by waves; calls and returns are among them
  [[nodiscard]] std::uint64_t total() const;
};

/// Runs the kernel to its end. `arguments` are the explicit ones, laid out as the kernel's metadata says; hidden ones
/// are filled in. UserError for a configuration that the kernel does not allow; Failure for a fault of the kernel: its
/// message names the kernel, workgroup, wave and instruction. The same memory contents, and the same fault, for any
/// pool. `listeners` are told of accesses: none, or one for each thread of the pool. Where one of them needs_order(),
/// or the result depends on the order of workgroups, thread 0 runs all of them.
LaunchResult launch(const Program& program, std::string_view kernel, const LaunchConfig& config,
                    std::span<const std::byte> arguments, Memory& memory, ThreadPool& pool,
                    std::span<AccessListener* const> listeners = {});

}  // namespace octet::sim
