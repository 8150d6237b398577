// Everything that a process has of HIP: devices, streams, modules, graphs. Callers hold the process's lock (process.h).
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "core/thread_pool.h"
#include "sim/hip/abi.h"
#include "sim/hip/device.h"
#include "sim/hip/graph.h"
#include "sim/hip/handles.h"
#include "sim/hip/module.h"
#include "sim/hip/pinned_memory.h"
#include "sim/hip/settings.h"
#include "sim/hip/stream.h"

namespace octet::sim::hip {

struct Runtime {
  explicit Runtime(Settings its_settings);

  /// HipError when there is no device of this number, or none at all.
  [[nodiscard]] Device& device(int index);
  /// That of the calling thread, without a fault: HipError when it carries one.
  [[nodiscard]] Device& current_device();
  /// The device in whose range the address lies; null if none does.
  [[nodiscard]] Device* owner(std::uint64_t address);

  /// The stream of a handle, be it a special one. HipError when there is none, or its device carries a fault.
  [[nodiscard]] ihipStream_t& stream(hipStream_t handle);
  [[nodiscard]] ihipEvent_t& event(hipEvent_t handle) const;
  [[nodiscard]] bool is_default(const ihipStream_t& stream) const;

  /// Forgets a stream or a module, and what belongs to it.
  void destroy(hipStream_t stream);
  void unload(hipModule_t module);
  /// As if the process had not used the device yet. Pinned memory stays, as it is every device's.
  void reset(Device& device);

  const Settings settings;
  std::deque<Device> devices;
  PinnedMemory pinned;
  ThreadPool pool;
  std::vector<std::unique_ptr<ihipStream_t>> default_streams;  ///< of each device
  std::map<std::pair<std::thread::id, int>, std::unique_ptr<ihipStream_t>> thread_streams;
  Handles<ihipStream_t> streams;
  Handles<ihipEvent_t> events;
  Handles<ihipModule_t> modules;
  Handles<ihipModuleSymbol_t> functions;
  Handles<ihipGraph> graphs;
  Handles<hipGraphExec> executables;
  std::vector<std::shared_ptr<Capture>> captures;  ///< under way
  unsigned long long captures_begun = 0;
};

}  // namespace octet::sim::hip
