#include "sim/hip/runtime.h"

#include <algorithm>

#include "sim/hip/errors.h"
#include "sim/hip/process.h"

namespace octet::sim::hip {

Runtime::Runtime(Settings its_settings) : settings(std::move(its_settings)), pinned(devices), pool(settings.threads) {
  for (const Processor* processor : settings.processors) {
    Device& device = devices.emplace_back(static_cast<int>(devices.size()), *processor, settings.memory_bytes);
    if (settings.check) device.memory().track_writes();
    default_streams.push_back(std::make_unique<ihipStream_t>(ihipStream_t{device}));
  }
}

Device& Runtime::device(int index) {
  require(!devices.empty(), hipErrorNoDevice);
  require(index >= 0 && static_cast<std::size_t>(index) < devices.size(), hipErrorInvalidDevice);
  return devices[static_cast<std::size_t>(index)];
}

Device& Runtime::current_device() {
  Device& current = device(thread_state().device);
  current.require_sound();
  return current;
}

Device* Runtime::owner(std::uint64_t address) {
  const auto found =
      std::find_if(devices.begin(), devices.end(), [&](const Device& candidate) { return candidate.owns(address); });
  return found == devices.end() ? nullptr : &*found;
}

ihipStream_t& Runtime::stream(hipStream_t handle) {
  const auto value = reinterpret_cast<std::uintptr_t>(handle);
  if (handle == nullptr || value == hipStreamLegacyValue) {
    return *default_streams[static_cast<std::size_t>(current_device().index())];
  }
  if (value == hipStreamPerThreadValue) {
    Device& current = current_device();
    auto& of_thread = thread_streams[{std::this_thread::get_id(), current.index()}];
    if (of_thread == nullptr) of_thread = std::make_unique<ihipStream_t>(ihipStream_t{current});
    return *of_thread;
  }
  ihipStream_t& found = streams.get(handle, hipErrorContextIsDestroyed);
  found.device.require_sound();
  return found;
}

ihipEvent_t& Runtime::event(hipEvent_t handle) const {
  ihipEvent_t& found = events.get(handle, hipErrorInvalidHandle);
  found.device.require_sound();
  return found;
}

bool Runtime::is_default(const ihipStream_t& stream) const {
  return std::any_of(default_streams.begin(), default_streams.end(),
                     [&](const auto& candidate) { return candidate.get() == &stream; });
}

void Runtime::destroy(hipStream_t stream) {
  // By value: abandoning the capture clears the stream's own reference to it.
  const std::shared_ptr<Capture> capture = stream->capture;
  if (capture != nullptr) abandon(*this, capture);
  streams.remove(stream);
}

void Runtime::unload(hipModule_t module) {
  functions.remove_if([&](const ihipModuleSymbol_t& function) { return function.module == module; });
  modules.remove(module);
}

void Runtime::reset(Device& device) {
  const auto on_device = [&](const auto& object) { return &object.device == &device; };
  const std::vector<std::shared_ptr<Capture>> under_way = captures;
  for (const auto& capture : under_way) {
    const bool concerned = std::any_of(capture->streams.begin(), capture->streams.end(),
                                       [&](const hipStream_t stream) { return on_device(*stream); });
    if (concerned) abandon(*this, capture);
  }
  std::erase_if(thread_streams, [&](const auto& entry) { return on_device(*entry.second); });
  streams.remove_if(on_device);
  events.remove_if(on_device);
  functions.remove_if([&](const ihipModuleSymbol_t& function) { return &function.module->code->device == &device; });
  modules.remove_if([&](const ihipModule_t& module) { return &module.code->device == &device; });
  device.release_all();
  device.clear_fault();
}

}  // namespace octet::sim::hip
