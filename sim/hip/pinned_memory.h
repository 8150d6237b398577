// Host memory that every device addresses too, at the host's own addresses: allocated as such, registered, or managed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>

#include "sim/hip/device.h"

namespace octet::sim::hip {

enum class Pinning : std::uint8_t { allocated, registered, managed };

struct PinnedRange {
  std::uint64_t address;
  std::uint64_t size;
  Pinning how;
  unsigned flags;  ///< of hipHostMalloc or hipHostRegister
  int device;      ///< that was current
};

class PinnedMemory {
 public:
  /// `devices` must outlive it.
  explicit PinnedMemory(std::deque<Device>& devices) : devices_(devices) {}

  /// Memory of this library's own, aligned to a page.
  [[nodiscard]] void* allocate(std::uint64_t size, Pinning how, unsigned flags, int device);
  /// The client's own. HipError when any of it is pinned already.
  void enroll(void* pointer, std::uint64_t size, unsigned flags, int device);
  /// HipError with `code` when no range of this kind begins there.
  void release(void* pointer, Pinning how, hipError_t code);

  /// The range that holds the byte at `address`; null if none does.
  [[nodiscard]] const PinnedRange* find(std::uint64_t address) const;

 private:
  struct PageDelete {
    void operator()(std::byte* bytes) const;
  };
  using Storage = std::unique_ptr<std::byte[], PageDelete>;
  struct Entry {
    PinnedRange range;
    Storage storage;  // null where the memory is the client's
  };
  void add(PinnedRange range, Storage storage);

  std::deque<Device>& devices_;
  std::map<std::uint64_t, Entry> entries_;  // by address
};

}  // namespace octet::sim::hip
