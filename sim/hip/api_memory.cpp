// Exported functions: memory of devices, and of the host as devices see it.
#include "sim/hip/api.h"
#include "sim/hip/errors.h"
#include "sim/hip/process.h"
#include "sim/hip/runtime.h"

using namespace octet::sim::hip;

namespace {

void allocate(Device& device, void** pointer, std::size_t size) {
  require(pointer != nullptr, hipErrorInvalidValue);
  *pointer = size == 0 ? nullptr : reinterpret_cast<void*>(device.allocate(size));
}

/// Of the device's own memory, or managed.
void free_memory(Runtime& runtime, void* pointer) {
  if (pointer == nullptr) return;
  const auto address = reinterpret_cast<std::uint64_t>(pointer);
  if (Device* device = runtime.owner(address)) {
    device->require_sound();
    return device->release(address);
  }
  runtime.pinned.release(pointer, Pinning::managed, hipErrorInvalidValue);
}

void allocate_pinned(Runtime& runtime, void** pointer, std::size_t size, Pinning how, unsigned flags) {
  require(pointer != nullptr, hipErrorInvalidValue);
  const int device = runtime.current_device().index();
  *pointer = size == 0 ? nullptr : runtime.pinned.allocate(size, how, flags, device);
}

}  // namespace

hipError_t hipMalloc(void** pointer, std::size_t size) {
  return answer([&](Runtime& runtime) {
    forbid_during_capture(runtime);
    allocate(runtime.current_device(), pointer, size);
  });
}

hipError_t hipFree(void* pointer) {
  return answer([&](Runtime& runtime) {
    forbid_during_capture(runtime);
    free_memory(runtime, pointer);
  });
}

hipError_t hipMallocAsync(void** pointer, std::size_t size, hipStream_t stream) {
  return answer([&](Runtime& runtime) {
    const ihipStream_t& on = runtime.stream(stream);
    forbid_while_capturing(on);
    allocate(on.device, pointer, size);
  });
}

hipError_t hipFreeAsync(void* pointer, hipStream_t stream) {
  return answer([&](Runtime& runtime) {
    forbid_while_capturing(runtime.stream(stream));
    require(pointer != nullptr, hipErrorInvalidValue);
    free_memory(runtime, pointer);
  });
}

hipError_t hipMallocManaged(void** pointer, std::size_t size, unsigned flags) {
  return answer([&](Runtime& runtime) {
    forbid_during_capture(runtime);
    require(size != 0, hipErrorInvalidValue);
    allocate_pinned(runtime, pointer, size, Pinning::managed, flags);
  });
}

hipError_t hipHostMalloc(void** pointer, std::size_t size, unsigned flags) {
  return answer([&](Runtime& runtime) {
    constexpr unsigned kBoth = hipHostMallocCoherent | hipHostMallocNonCoherent;
    forbid_during_capture(runtime);
    require((flags & kBoth) != kBoth, hipErrorInvalidValue);
    allocate_pinned(runtime, pointer, size, Pinning::allocated, flags);
  });
}

hipError_t hipHostFree(void* pointer) {
  return answer([&](Runtime& runtime) {
    forbid_during_capture(runtime);
    if (pointer != nullptr) runtime.pinned.release(pointer, Pinning::allocated, hipErrorInvalidValue);
  });
}

hipError_t hipHostRegister(void* pointer, std::size_t size, unsigned flags) {
  return answer([&](Runtime& runtime) {
    require(pointer != nullptr && size != 0, hipErrorInvalidValue);
    require(runtime.owner(reinterpret_cast<std::uint64_t>(pointer)) == nullptr, hipErrorInvalidValue);
    runtime.pinned.enroll(pointer, size, flags, runtime.current_device().index());
  });
}

hipError_t hipHostUnregister(void* pointer) {
  return answer([&](Runtime& runtime) {
    require(pointer != nullptr, hipErrorInvalidValue);
    runtime.pinned.release(pointer, Pinning::registered, hipErrorHostMemoryNotRegistered);
  });
}

hipError_t hipHostGetDevicePointer(void** device, void* host, unsigned flags) {
  return answer([&](Runtime& runtime) {
    require(device != nullptr && host != nullptr && flags == 0, hipErrorInvalidValue);
    require(runtime.pinned.find(reinterpret_cast<std::uint64_t>(host)) != nullptr, hipErrorInvalidValue);
    *device = host;
  });
}

hipError_t hipPointerGetAttributes(hipPointerAttribute_t* attributes, const void* pointer) {
  return answer([&](Runtime& runtime) {
    require(attributes != nullptr, hipErrorInvalidValue);
    const auto address = reinterpret_cast<std::uint64_t>(pointer);
    auto* const usable = reinterpret_cast<void*>(address);
    if (Device* device = runtime.owner(address)) {
      require(device->memory().find(address) != nullptr, hipErrorInvalidValue);
      *attributes = {hipMemoryTypeDevice, device->index(), usable, nullptr, 0, 0};
    } else if (const PinnedRange* range = runtime.pinned.find(address)) {
      const bool managed = range->how == Pinning::managed;
      *attributes = {managed ? hipMemoryTypeManaged : hipMemoryTypeHost,
                     range->device,
                     usable,
                     usable,
                     managed ? 1 : 0,
                     range->flags};
    } else {
      *attributes = {hipMemoryTypeUnregistered, hipInvalidDeviceId, nullptr, nullptr, 0, 0};
    }
  });
}
