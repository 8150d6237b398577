// Device memory as the host reads and writes it: in place where the device computes in the host's own memory, through
// copies elsewhere.
#pragma once

#include <cstddef>
#include <exception>
#include <span>
#include <vector>

#include "core/tensor.h"
#include "ops/backend.h"

namespace octet::ops {

/// The bytes of a tensor, to read. Valid as long as the object lives and no op changes the tensor.
class HostBytes {
 public:
  HostBytes(Device& device, const Tensor& tensor) : view_(static_cast<const std::byte*>(tensor.raw()), tensor.bytes()) {
    if (device.host_memory()) return;
    copy_.resize(tensor.bytes());
    device.download(copy_.data(), tensor.raw(), tensor.bytes());
    view_ = copy_;
  }
  HostBytes(HostBytes&&) = default;
  HostBytes& operator=(HostBytes&&) = default;
  HostBytes(const HostBytes&) = delete;
  HostBytes& operator=(const HostBytes&) = delete;
  ~HostBytes() = default;

  [[nodiscard]] std::span<const std::byte> bytes() const { return view_; }
  template <typename T>
  [[nodiscard]] std::span<const T> as() const {
    return {reinterpret_cast<const T*>(view_.data()), view_.size() / sizeof(T)};
  }

 private:
  std::vector<std::byte> copy_;
  std::span<const std::byte> view_;
};

/// The elements of a tensor, to overwrite all of; they reach the device when the object goes.
template <typename T>
class HostElements {
 public:
  HostElements(Device& device, const Tensor& tensor)
      : device_(device), tensor_(tensor), view_(tensor.ptr<T>(), static_cast<std::size_t>(tensor.numel())) {
    if (device.host_memory()) return;
    copy_.resize(view_.size());
    view_ = copy_;
  }
  HostElements(const HostElements&) = delete;
  HostElements& operator=(const HostElements&) = delete;
  /// Throws where the device fails, unless another error is on its way.
  ~HostElements() noexcept(false) {
    if (!copy_.empty() && std::uncaught_exceptions() == 0) device_.upload(tensor_.raw(), copy_.data(), tensor_.bytes());
  }

  [[nodiscard]] std::span<T> elements() const { return view_; }

 private:
  Device& device_;
  Tensor tensor_;
  std::vector<T> copy_;
  std::span<T> view_;
};

template <typename T>
[[nodiscard]] T read_value(Device& device, const T* at) {
  T value{};
  device.download(&value, at, sizeof value);
  return value;
}

template <typename T>
void write_value(Device& device, T* at, const T& value) {
  device.upload(at, &value, sizeof value);
}

}  // namespace octet::ops
