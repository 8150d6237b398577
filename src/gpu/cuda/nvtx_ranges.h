// Ranges for NVIDIA's profilers: Nsight Systems and Nsight Compute.
#pragma once

#include <memory>

#include "gpu/ranges.h"

namespace octet::gpu {

/// Ranges of the domain "octet"; null where no profiler is attached, and in a build without NVTX.
[[nodiscard]] std::unique_ptr<Ranges> find_nvtx_ranges();

}  // namespace octet::gpu
