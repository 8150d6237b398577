#include "sim/hip/work.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "sim/hip/errors.h"
#include "sim/hip/kernel_launch.h"
#include "sim/hip/process.h"
#include "sim/hip/runtime.h"

namespace octet::sim::hip {
namespace {

/// The device whose memory the range is in, or null where it is the host's. HipError when it is in no allocation.
/// Host memory that was never pinned cannot be told from any other address, and is taken on trust.
Device* device_of(Runtime& runtime, const void* pointer, std::size_t bytes) {
  const auto address = reinterpret_cast<std::uint64_t>(pointer);
  require(pointer != nullptr, hipErrorInvalidValue);
  if (Device* device = runtime.owner(address)) {
    const Allocation* allocation = device->memory().find(address);
    if (allocation == nullptr || !allocation->holds(address, bytes)) {
      refuse(hipErrorInvalidValue, "a copy or fill of {}", device->memory().describe(address, bytes));
    }
    return device;
  }
  const PinnedRange* pinned = runtime.pinned.find(address);
  if (pinned != nullptr && bytes > pinned->size - (address - pinned->address)) {
    refuse(hipErrorInvalidValue, "a copy or fill of {} bytes at {:#x} leaves pinned memory of {} bytes at {:#x}", bytes,
           address, pinned->size, pinned->address);
  }
  return nullptr;
}

/// Pinned memory is of both sides.
void require_side(Runtime& runtime, const void* pointer, const Device* device, bool wants_device, const char* verb) {
  if (wants_device == (device != nullptr)) return;
  const auto address = reinterpret_cast<std::uint64_t>(pointer);
  if (runtime.pinned.find(address) != nullptr) return;
  refuse(hipErrorInvalidValue, "a copy {} {:#x}, which its kind calls memory of the {}, and which is not", verb,
         address, wants_device ? "device" : "host");
}

/// From the first byte to the last; rows may lie apart. HipError when no memory could hold as much.
std::size_t extent(std::size_t pitch, std::size_t width, std::size_t height) {
  constexpr std::size_t kMost = std::size_t{1} << 47;  // of a process's addresses
  if (height == 0 || width == 0) return 0;
  const std::size_t distance = height == 1 ? 0 : pitch;  // of rows
  require(width <= kMost && (distance == 0 || height - 1 <= kMost / distance), hipErrorInvalidValue);
  return (height - 1) * distance + width;
}

struct Sides {
  Device* to;
  Device* from;
};

Sides sides(Runtime& runtime, const CopyWork& copy) {
  require(copy.kind <= hipMemcpyDefault, hipErrorInvalidMemcpyDirection);
  if (copy.height > 1 && (copy.to_pitch < copy.width || copy.from_pitch < copy.width)) {
    throw HipError(hipErrorInvalidPitchValue);
  }
  const Sides result{device_of(runtime, copy.to, extent(copy.to_pitch, copy.width, copy.height)),
                     device_of(runtime, copy.from, extent(copy.from_pitch, copy.width, copy.height))};
  if (copy.kind == hipMemcpyDefault) return result;
  const bool to_device = copy.kind == hipMemcpyHostToDevice || copy.kind == hipMemcpyDeviceToDevice;
  const bool from_device = copy.kind == hipMemcpyDeviceToHost || copy.kind == hipMemcpyDeviceToDevice;
  require_side(runtime, copy.to, result.to, to_device, "writes");
  require_side(runtime, copy.from, result.from, from_device, "reads");
  return result;
}

void copy_row(const Sides& between, std::byte* to, const std::byte* from, std::size_t bytes) {
  const auto to_address = reinterpret_cast<std::uint64_t>(to);
  const auto from_address = reinterpret_cast<std::uint64_t>(from);
  if (between.to == nullptr && between.from == nullptr) {
    std::memmove(to, from, bytes);
  } else if (between.from == nullptr) {
    between.to->memory().write(to_address, {from, bytes});
  } else if (between.to == nullptr) {
    between.from->memory().read(from_address, {to, bytes});
  } else {
    between.to->memory().write(to_address, {between.from->memory().translate(from_address, bytes), bytes});
  }
}

bool overlap(const CopyWork& copy) {
  const auto to = reinterpret_cast<std::uint64_t>(copy.to);
  const auto from = reinterpret_cast<std::uint64_t>(copy.from);
  return to < from + extent(copy.from_pitch, copy.width, copy.height) &&
         from < to + extent(copy.to_pitch, copy.width, copy.height);
}

class Check {
 public:
  explicit Check(Runtime& runtime) : runtime_(runtime) {}
  void operator()(const KernelWork& kernel) const { check_kernel(kernel); }
  void operator()(const CopyWork& copy) const {
    const Sides between = sides(runtime_, copy);
    if (between.to != nullptr && between.from != nullptr && overlap(copy)) {
      refuse(hipErrorInvalidValue, "a copy within a device between ranges that overlap");
    }
  }
  void operator()(const FillWork& fill) const {
    require(fill.width <= std::numeric_limits<std::size_t>::max() / fill.element_bytes, hipErrorInvalidValue);
    const std::size_t row = fill.width * fill.element_bytes;
    if (fill.height > 1 && fill.pitch < row) throw HipError(hipErrorInvalidPitchValue);
    const Device* device = device_of(runtime_, fill.to, extent(fill.pitch, row, fill.height));
    const auto address = reinterpret_cast<std::uint64_t>(fill.to);
    if (device == nullptr && runtime_.pinned.find(address) == nullptr) {
      refuse(hipErrorInvalidValue, "a fill of {:#x}, which is no memory of a device", address);
    }
    if (address % fill.element_bytes != 0) {
      refuse(hipErrorInvalidValue, "a fill of {:#x}, which is not aligned to its {} bytes", address,
             fill.element_bytes);
    }
  }
  void operator()(const HostWork& host) const { require(host.function != nullptr, hipErrorInvalidValue); }
  void operator()(const EmptyWork& /*empty*/) const {}

 private:
  Runtime& runtime_;
};

class Execute {
 public:
  explicit Execute(Runtime& runtime) : runtime_(runtime) {}
  void operator()(const KernelWork& kernel) const { run_kernel(runtime_, kernel); }
  void operator()(const CopyWork& copy) const {
    const Sides between = sides(runtime_, copy);
    if (copy.width == 0) return;
    for (std::size_t row = 0; row < copy.height; ++row) {
      copy_row(between, static_cast<std::byte*>(copy.to) + row * copy.to_pitch,
               static_cast<const std::byte*>(copy.from) + row * copy.from_pitch, copy.width);
    }
  }
  void operator()(const FillWork& fill) const {
    constexpr std::size_t kMost = std::size_t{1} << 16;  // a multiple of each size of element
    const std::size_t row_bytes = fill.width * fill.element_bytes;
    std::vector<std::byte> pattern(std::min(row_bytes, kMost));
    for (std::size_t at = 0; at < pattern.size(); at += fill.element_bytes) {
      std::memcpy(pattern.data() + at, &fill.value, fill.element_bytes);
    }
    const Sides between{runtime_.owner(reinterpret_cast<std::uint64_t>(fill.to)), nullptr};
    for (std::size_t row = 0; row < fill.height; ++row) {
      std::byte* to = static_cast<std::byte*>(fill.to) + row * fill.pitch;
      for (std::size_t at = 0; at < row_bytes; at += kMost) {
        copy_row(between, to + at, pattern.data(), std::min(kMost, row_bytes - at));
      }
    }
  }
  void operator()(const HostWork& host) const {
    // It may take its time, or wait for another thread that calls this library.
    without_lock([&] { host.function(host.data); });
  }
  void operator()(const EmptyWork& /*empty*/) const {}

 private:
  Runtime& runtime_;
};

}  // namespace

void check_work(Runtime& runtime, const Work& work) {
  std::visit(Check(runtime), work);
}

void execute(Runtime& runtime, const Work& work) {
  check_work(runtime, work);
  std::visit(Execute(runtime), work);
}

}  // namespace octet::sim::hip
