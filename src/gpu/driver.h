// Driver: one GPU as the rest of the program sees it, whoever made it. Memory, kernels, order, time, captured graphs.
//
// Everything is put on one stream and happens in the order of the calls; only `download`, `finish` and `seconds` wait.
// Errors of the device surface as DeviceFault at a later call, at the latest at the next that waits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "core/graph.h"

namespace octet::gpu {

struct DeviceFacts {
  std::string name;         ///< "NVIDIA H200"
  std::string arch;         ///< "sm_90", "gfx942"
  int multiprocessors = 0;  ///< compute units on AMD
  int warp_size = 0;
  std::size_t memory_bytes = 0;
  std::size_t l2_bytes = 0;
  std::size_t shared_bytes = 0;    ///< the most that a block may have
  int barriers = 1;                ///< of a block, at which some of its threads meet without the others
  bool copies_run_beside = false;  ///< kernels' copies to shared memory, while their threads go on
  std::string runtime;             ///< "CUDA 13.0, /usr/lib/x86_64-linux-gnu/libcuda.so.1"
};

struct DeviceMemory {
  std::size_t free_bytes = 0;  ///< at this moment; other programs may hold the rest
  std::size_t total_bytes = 0;
};

/// A function of a loaded image.
struct Kernel {
  void* handle = nullptr;
};

struct LaunchShape {
  unsigned blocks_x = 1;
  unsigned blocks_y = 1;
  unsigned threads = 1;    ///< of a row; whole warps where there are several rows
  unsigned threads_y = 1;  ///< rows of threads: at most one less than a block has barriers
  unsigned shared_bytes = 0;
};

/// A moment in the stream's order.
struct TimeMark {
  std::int64_t index = -1;
};

class Driver {
 public:
  Driver() = default;
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;
  virtual ~Driver() = default;

  [[nodiscard]] virtual const DeviceFacts& facts() const = 0;
  [[nodiscard]] virtual DeviceMemory memory() const = 0;

  /// Device memory for as long as the pointer lives. UserError, with what is free, where the device cannot give it.
  [[nodiscard]] virtual std::shared_ptr<std::byte> allocate(std::size_t bytes) = 0;
  /// Memory that the host addresses too, at the same place: small and slow. The host reads it after `finish`.
  [[nodiscard]] virtual std::shared_ptr<std::byte> allocate_shared(std::size_t bytes) = 0;
  virtual void upload(void* to, const void* from, std::size_t bytes) = 0;  ///< from host memory, which may change after
  virtual void download(void* to, const void* from, std::size_t bytes) = 0;  ///< to host memory; waits
  virtual void copy(void* to, const void* from, std::size_t bytes) = 0;      ///< within the device
  virtual void zero(void* to, std::size_t bytes) = 0;

  /// A kernel of the embedded images by its name. Throws Failure where no image has it.
  [[nodiscard]] virtual Kernel kernel(const std::string& name) = 0;
  /// `arguments` is the one struct that every kernel takes by value.
  virtual void launch(Kernel kernel, const LaunchShape& shape, const void* arguments, std::size_t bytes) = 0;
  /// Waits for all that was put on the stream; throws DeviceFault where any of it failed.
  virtual void finish() = 0;

  [[nodiscard]] virtual TimeMark mark() = 0;
  [[nodiscard]] virtual double seconds(TimeMark from, TimeMark to) = 0;
  virtual void forget_marks() = 0;

  /// What this thread puts on the stream between the two is captured, not run. In between only launches, copies within
  /// the device and clears are allowed; other calls throw Failure, then or in `end_capture`. After any failure
  /// `abandon_capture` leaves the stream as it was; it does nothing where no capture is under way.
  virtual void begin_capture() = 0;
  [[nodiscard]] virtual std::unique_ptr<Graph> end_capture() = 0;
  virtual void abandon_capture() noexcept = 0;
  virtual void replay(const Graph& graph) = 0;

  /// The vendor's stream, for its libraries.
  [[nodiscard]] virtual void* native_stream() const = 0;
};

}  // namespace octet::gpu
