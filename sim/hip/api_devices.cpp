// Exported functions: devices and errors.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "sim/hip/api.h"
#include "sim/hip/errors.h"
#include "sim/hip/process.h"
#include "sim/hip/properties.h"
#include "sim/hip/runtime.h"

using namespace octet::sim::hip;

namespace {

constexpr int kVersion = 70'000'000;  // HIP 7.0.0: what its layouts and error codes are taken from

hipDeviceProp_tR0600 properties_of(Runtime& runtime, int index) {
  const Device& device = runtime.device(index);
  return properties(device.processor(), index, device.capacity());
}

void copy_text(std::string_view text, char* to, int size) {
  require(to != nullptr && size > 0, hipErrorInvalidValue);
  const std::size_t length = std::min(text.size(), static_cast<std::size_t>(size) - 1);
  *std::copy_n(text.begin(), length, to) = '\0';
}

template <typename T>
void set(T* to, T value) {
  require(to != nullptr, hipErrorInvalidValue);
  *to = value;
}

}  // namespace

hipError_t hipInit(unsigned flags) {
  return answer([&](Runtime& runtime) {
    require(flags == 0, hipErrorInvalidValue);
    require(!runtime.devices.empty(), hipErrorNoDevice);
  });
}

hipError_t hipDriverGetVersion(int* version) {
  return answer([&](Runtime& /*runtime*/) { set(version, kVersion); });
}

hipError_t hipRuntimeGetVersion(int* version) {
  return answer([&](Runtime& /*runtime*/) { set(version, kVersion); });
}

hipError_t hipGetDeviceCount(int* count) {
  return answer([&](Runtime& runtime) {
    set(count, static_cast<int>(runtime.devices.size()));
    require(!runtime.devices.empty(), hipErrorNoDevice);
  });
}

hipError_t hipGetDevice(int* device) {
  return answer([&](Runtime& runtime) { set(device, runtime.device(thread_state().device).index()); });
}

hipError_t hipSetDevice(int device) {
  return answer([&](Runtime& runtime) { thread_state().device = runtime.device(device).index(); });
}

hipError_t hipDeviceGet(hipDevice_t* device, int ordinal) {
  return answer([&](Runtime& runtime) { set(device, runtime.device(ordinal).index()); });
}

hipError_t hipDeviceGetName(char* name, int size, hipDevice_t device) {
  return answer([&](Runtime& runtime) { copy_text(runtime.device(device).processor().product, name, size); });
}

hipError_t hipDeviceGetPCIBusId(char* id, int size, int device) {
  return answer([&](Runtime& runtime) {
    const std::string text = fmt::format("{:04x}:{:02x}:{:02x}.0", 0, properties_of(runtime, device).pciBusID, 0);
    copy_text(text, id, size);
    require(static_cast<std::size_t>(size) > text.size(), hipErrorInvalidValue);
  });
}

hipError_t hipDeviceComputeCapability(int* major, int* minor, hipDevice_t device) {
  return answer([&](Runtime& runtime) {
    const Processor& processor = runtime.device(device).processor();
    set(major, processor.major);
    set(minor, processor.minor);
  });
}

hipError_t hipDeviceTotalMem(std::size_t* bytes, hipDevice_t device) {
  return answer([&](Runtime& runtime) { set(bytes, std::size_t{runtime.device(device).capacity()}); });
}

hipError_t hipDeviceGetAttribute(int* value, hipDeviceAttribute_t attribute, int device) {
  return answer([&](Runtime& runtime) {
    const auto found = octet::sim::hip::attribute(properties_of(runtime, device), attribute);
    require(found.has_value(), hipErrorInvalidValue);
    set(value, *found);
  });
}

hipError_t hipGetDevicePropertiesR0600(hipDeviceProp_tR0600* properties, int device) {
  return answer([&](Runtime& runtime) { set(properties, properties_of(runtime, device)); });
}

hipError_t hipGetDevicePropertiesR0000(hipDeviceProp_tR0000* properties, int device) {
  return answer([&](Runtime& runtime) {
    const hipDeviceProp_tR0600 all = properties_of(runtime, device);
    set(properties, older(all, runtime.device(device).processor()));
  });
}

hipError_t hipGetDeviceProperties(hipDeviceProp_tR0000* properties, int device) {
  return hipGetDevicePropertiesR0000(properties, device);
}

hipError_t hipDeviceGetStreamPriorityRange(int* least, int* greatest) {
  return answer([&](Runtime& /*runtime*/) {
    if (least != nullptr) *least = 1;
    if (greatest != nullptr) *greatest = -1;
  });
}

hipError_t hipDeviceCanAccessPeer(int* can, int device, int peer) {
  return answer([&](Runtime& runtime) {
    for (const int index : {device, peer}) static_cast<void>(runtime.device(index));
    set(can, 0);
  });
}

hipError_t hipDeviceSynchronize() {
  return answer([](Runtime& runtime) {
    forbid_during_capture(runtime);
    static_cast<void>(runtime.current_device());
  });
}

hipError_t hipDeviceReset() {
  return answer([](Runtime& runtime) { runtime.reset(runtime.device(thread_state().device)); });
}

hipError_t hipMemGetInfo(std::size_t* free, std::size_t* total) {
  return answer([&](Runtime& runtime) {
    const Device& device = runtime.current_device();
    set(free, std::size_t{device.capacity() - device.used()});
    set(total, std::size_t{device.capacity()});
  });
}

hipError_t hipGetLastError() {
  return std::exchange(thread_state().last_error, hipSuccess);
}

hipError_t hipPeekAtLastError() {
  return thread_state().last_error;
}

const char* hipGetErrorName(hipError_t error) {
  return error_name(error).value_or("hipErrorUnknown");
}

const char* hipGetErrorString(hipError_t error) {
  return error_text(error).value_or("unknown error");
}

hipError_t hipDrvGetErrorName(hipError_t error, const char** name) {
  if (name == nullptr) return hipErrorInvalidValue;
  *name = hipGetErrorName(error);
  return error_name(error) ? hipSuccess : hipErrorInvalidValue;
}

hipError_t hipDrvGetErrorString(hipError_t error, const char** text) {
  if (text == nullptr) return hipErrorInvalidValue;
  *text = hipGetErrorString(error);
  return error_text(error) ? hipSuccess : hipErrorInvalidValue;
}
