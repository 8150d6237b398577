// What can be put on a stream or into a graph: kernels, copies, fills, functions of the host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "sim/hip/abi.h"
#include "sim/launch/launch.h"

namespace octet::sim::hip {

struct Runtime;
struct LoadedCode;

struct KernelWork {
  std::weak_ptr<LoadedCode> code;  ///< gone once its module is unloaded
  std::string kernel;
  LaunchConfig config;
  std::vector<std::byte> arguments;  ///< the explicit ones, as the kernel's metadata lays them out
};

/// `height` rows of `width` bytes.
struct CopyWork {
  void* to;
  std::size_t to_pitch;
  const void* from;
  std::size_t from_pitch;
  std::size_t width;
  std::size_t height;
  hipMemcpyKind kind;
};

/// `height` rows of `width` elements of 1, 2 or 4 bytes; `pitch` is in bytes.
struct FillWork {
  void* to;
  std::size_t pitch;
  std::uint32_t value;
  std::size_t element_bytes;
  std::size_t width;
  std::size_t height;
};

struct HostWork {
  hipHostFn_t function;
  void* data;
};

struct EmptyWork {};

using Work = std::variant<KernelWork, CopyWork, FillWork, HostWork, EmptyWork>;

/// HipError for what could not be executed now: a copy from or to memory that is not allocated, or not of the side that
/// its kind names; a kernel whose module is gone.
void check_work(Runtime& runtime, const Work& work);

/// Executes it before it returns. HipError as above. A kernel's own fault is no error here: its device carries it.
void execute(Runtime& runtime, const Work& work);

}  // namespace octet::sim::hip
