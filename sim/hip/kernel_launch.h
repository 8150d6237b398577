// Launches: from what a client passes to what the simulator runs.
#pragma once

#include <cstdint>

#include "sim/hip/abi.h"
#include "sim/hip/module.h"
#include "sim/hip/work.h"
#include "sim/launch/launch.h"

namespace octet::sim::hip {

/// Arguments come in one of two ways: `parameters` points to each; or `extra` is a list of tags that names one buffer
/// with all of them, laid out as the kernel's metadata says.
struct LaunchRequest {
  Extent grid;   ///< in workgroups
  Extent block;  ///< in lanes
  std::uint64_t dynamic_lds_bytes = 0;
  void* const* parameters = nullptr;
  void* const* extra = nullptr;
};

/// Copies the arguments. HipError, with HIP's code, for a launch that the kernel or `device`, on which it would run,
/// does not allow.
[[nodiscard]] KernelWork kernel_work(const ihipModuleSymbol_t& function, const LaunchRequest& request,
                                     const Device& device);

/// The most workgroups of so many lanes that a compute unit holds at once, by waves and LDS.
[[nodiscard]] int workgroups_per_unit(const ihipModuleSymbol_t& function, std::uint32_t lanes,
                                      std::uint32_t dynamic_lds_bytes);

/// HipError when the module was unloaded.
void check_kernel(const KernelWork& work);

/// Runs the kernel, with what CDNA_SIM_CHECK, _COUNTS and _TRAFFIC ask for. Its fault is reported, and its device
/// carries it.
void run_kernel(Runtime& runtime, const KernelWork& work);

}  // namespace octet::sim::hip
