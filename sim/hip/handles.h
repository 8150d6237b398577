// Objects that a client knows by their addresses. It may hand over anything: a handle is looked up before it is
// followed.
#pragma once

#include <memory>
#include <unordered_map>
#include <utility>

#include "sim/hip/errors.h"

namespace octet::sim::hip {

template <typename T>
class Handles {
 public:
  T* add(std::unique_ptr<T> object) {
    T* handle = object.get();
    objects_[handle] = std::move(object);
    return handle;
  }

  [[nodiscard]] bool holds(const T* handle) const { return objects_.contains(handle); }

  /// HipError with `code` for what is no handle, or no longer.
  [[nodiscard]] T& get(T* handle, hipError_t code) const {
    require(holds(handle), code);
    return *handle;
  }

  void remove(const T* handle) { objects_.erase(handle); }

  template <typename Predicate>
  void remove_if(const Predicate& predicate) {
    std::erase_if(objects_, [&](const auto& entry) { return predicate(*entry.second); });
  }

  template <typename Visitor>
  void for_each(const Visitor& visitor) const {
    for (const auto& [handle, object] : objects_) visitor(*object);
  }

 private:
  std::unordered_map<const T*, std::unique_ptr<T>> objects_;
};

}  // namespace octet::sim::hip
