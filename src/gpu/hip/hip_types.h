// What Octet uses of HIP's C interface, declared by ourselves: nothing of ROCm is needed to build. Numbers and layouts
// are those of the runtimes of ROCm 6 and 7.
#pragma once

#include <cstddef>
#include <cstdint>

namespace octet::gpu::hip {

enum class Result : int {
  success = 0,
  out_of_memory = 2,
  no_device = 100,
  no_binary_for_gpu = 209,
  not_found = 500,
};

enum class CaptureMode : int { of_thread = 1 };

using Device = int;
using Stream = struct StreamHandle*;
using Module = struct ModuleHandle*;
using Function = struct FunctionHandle*;
using Event = struct EventHandle*;
using GraphHandle = struct CapturedGraph*;
using GraphExec = struct ExecutableGraph*;

inline constexpr unsigned kStreamNonBlocking = 1;

// How an array of `extra` tells a launch where its arguments lie.
inline constexpr std::uintptr_t kArgumentsPointer = 1;
inline constexpr std::uintptr_t kArgumentsSize = 2;
inline constexpr std::uintptr_t kArgumentsEnd = 3;

/// hipDeviceProp_t as hipGetDevicePropertiesR0600 fills it; members that we do not read are left out by their place.
struct DeviceProperties {
  char name[256];
  char unused0[32];  // identifiers
  std::size_t total_memory;
  std::size_t shared_bytes_a_block;
  int registers_a_block;
  int warp_size;
  char unused1[76];
  int multiprocessors;
  char unused2[224];
  int l2_bytes;
  char unused3[540];
  char arch[256];  ///< "gfx942:sramecc+:xnack-"
  char unused4[56];
};
static_assert(offsetof(DeviceProperties, total_memory) == 288);
static_assert(offsetof(DeviceProperties, warp_size) == 308);
static_assert(offsetof(DeviceProperties, multiprocessors) == 388);
static_assert(offsetof(DeviceProperties, l2_bytes) == 616);
static_assert(offsetof(DeviceProperties, arch) == 1160);
static_assert(sizeof(DeviceProperties) == 1472);

}  // namespace octet::gpu::hip
