// A simulated GPU: its memory, how much of it is taken, and the fault that it carries until it is reset.
#pragma once

#include <cstdint>
#include <map>

#include "sim/hip/abi.h"
#include "sim/hip/processors.h"
#include "sim/memory/memory.h"

namespace octet::sim::hip {

class Device {
 public:
  Device(int index, const Processor& processor, std::uint64_t capacity);

  [[nodiscard]] int index() const { return index_; }
  [[nodiscard]] const Processor& processor() const { return processor_; }
  [[nodiscard]] Memory& memory() { return memory_; }
  [[nodiscard]] std::uint64_t capacity() const { return capacity_; }
  [[nodiscard]] std::uint64_t used() const { return used_; }

  /// Whether the address lies where this device's allocations do, though it may be in none of them. No other device's
  /// and none of the host's do.
  [[nodiscard]] bool owns(std::uint64_t address) const;

  /// HipError when there is not as much left.
  [[nodiscard]] std::uint64_t allocate(std::uint64_t size);
  /// HipError when allocate() did not give the address, or it was released since.
  void release(std::uint64_t address);
  void release_all();

  /// From now on require_sound() throws HipError with this code, or that of an earlier fault.
  void fail(hipError_t code);
  void require_sound() const;
  [[nodiscard]] bool is_sound() const { return fault_ == hipSuccess; }
  void clear_fault() { fault_ = hipSuccess; }

 private:
  int index_;
  const Processor& processor_;
  std::uint64_t capacity_;
  std::uint64_t used_ = 0;
  std::uint64_t allocations_ = 0;  // ever made
  std::map<std::uint64_t, std::uint64_t> sizes_;
  hipError_t fault_ = hipSuccess;
  Memory memory_;
};

}  // namespace octet::sim::hip
