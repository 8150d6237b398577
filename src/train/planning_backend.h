// A backend for plans alone: it has every op, runs none, and asks for no workspace, which differs from device to
// device.
#pragma once

#include "ops/backend.h"

namespace octet {

/// Where the device that is planned for computes, which decides how much a model does at once, and whether casts
/// compute their input again as on GPUs or read it as on a CPU.
enum class PlannedMemory : std::uint8_t { host, device };

/// Computes in both format families. Running an op or allocating an arena is a Failure.
[[nodiscard]] std::unique_ptr<ops::Backend> make_planning_backend(PlannedMemory memory);

}  // namespace octet
