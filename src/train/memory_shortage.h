// A device that cannot hold a plan: said before anything is allocated, with what would make it fit.
#pragma once

#include <cstddef>
#include <optional>

#include "io/config.h"
#include "train/engine.h"

namespace octet {

/// Of the memory that is free before a plan is allocated, for what nobody plans: kernels that a library loads when they
/// first run, captured graphs.
inline constexpr std::size_t kLibraryReserve = std::size_t{512} << 20;

/// UserError where the device of the engine has less memory free than its plan and the reserve take. Names the least
/// drastic settings whose plan fits. They are found without op workspace, which is taken to stay what it is.
void check_memory(const Engine& engine, const Config& config);

/// UserError where the host, with `available` bytes free, cannot hold the copy from which checkpoints are written while
/// training goes on, beside the plan of a device that computes in its memory. Without such a copy nothing is asked.
void check_host_memory(const Engine& engine, const Config& config, std::optional<std::size_t> available);

}  // namespace octet
