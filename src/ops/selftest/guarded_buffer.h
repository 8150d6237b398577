// Memory with guard zones: what a kernel writes where it should not is found, what it reads there is NaN.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/memory.h"

namespace octet::ops::selftest {

/// A block of a device's memory between two guard zones. Every byte starts as 0xFF: NaN as a float, as bf16 and in
/// most FP8 formats.
class GuardedBuffer {
 public:
  GuardedBuffer(std::string_view name, const ArenaAllocator& allocator, std::size_t bytes);

  [[nodiscard]] std::span<std::byte> data() const { return {memory_.get() + kGuardBytes, bytes_}; }
  /// From here on the contents must not change.
  void freeze() { frozen_.assign(data().begin(), data().end()); }

  /// What was broken, "wrote behind y, 0 bytes after its end"; empty where nothing was.
  [[nodiscard]] std::string damage() const;

 private:
  static constexpr std::size_t kGuardBytes = Memory::kAlignment;
  static constexpr std::byte kGuard{0xFF};

  std::string name_;
  std::shared_ptr<std::byte> memory_;
  std::size_t bytes_;
  std::vector<std::byte> frozen_;
};

}  // namespace octet::ops::selftest
