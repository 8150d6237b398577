// Guard zones before and behind each buffer, looked at after the run.
#include "ops/selftest/guarded_buffer.h"

#include <algorithm>
#include <cstring>

#include "core/error.h"

namespace octet::ops::selftest {

GuardedBuffer::GuardedBuffer(std::string_view name, const ArenaAllocator& allocator, std::size_t bytes)
    : name_(name), memory_(allocator(bytes + 2 * kGuardBytes)), bytes_(bytes) {
  std::fill_n(memory_.get(), bytes + 2 * kGuardBytes, kGuard);
}

std::string GuardedBuffer::damage() const {
  const auto whole = [](std::byte byte) { return byte == kGuard; };
  const std::span before(memory_.get(), kGuardBytes);
  const std::span behind(memory_.get() + kGuardBytes + bytes_, kGuardBytes);
  if (!std::ranges::all_of(before, whole)) return fmt::format("wrote before {}", name_);
  if (const auto first = std::ranges::find_if_not(behind, whole); first != behind.end()) {
    return fmt::format("wrote behind {}, {} bytes after its end", name_, first - behind.begin());
  }
  if (!frozen_.empty() && std::memcmp(frozen_.data(), data().data(), bytes_) != 0)
    return fmt::format("changed its input {}", name_);
  return {};
}

}  // namespace octet::ops::selftest
