#include "sim/memory/memory.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/error.h"

namespace octet::sim {

std::uint64_t Memory::allocate(std::uint64_t size, std::string name) {
  constexpr std::uint64_t kAlignment = std::uint64_t{1} << 21;
  constexpr std::uint64_t kGuard = std::uint64_t{1} << 20;
  const std::uint64_t address = next_;
  auto storage = std::make_unique_for_overwrite<std::byte[]>(size);
  std::memset(storage.get(), 0xFF, size);
  next_ = (address + size + kGuard + kAlignment - 1) / kAlignment * kAlignment;
  std::byte* bytes = storage.get();
  pieces_.emplace(address, Piece{{address, size, bytes, std::move(name)}, std::move(storage)});
  return address;
}

std::uint64_t Memory::adopt(std::span<std::byte> bytes, std::string name) {
  const auto address = reinterpret_cast<std::uint64_t>(bytes.data());
  pieces_.insert_or_assign(address, Piece{{address, bytes.size(), bytes.data(), std::move(name)}, nullptr});
  return address;
}

void Memory::release(std::uint64_t address) {
  if (pieces_.erase(address) == 0) throw Failure("no allocation begins at {:#x}", address);
}

const Allocation* Memory::find(std::uint64_t address) const {
  auto after = pieces_.upper_bound(address);
  if (after == pieces_.begin()) return nullptr;
  const Allocation& before = std::prev(after)->second.allocation;
  return before.holds(address, 1) ? &before : nullptr;
}

std::byte* Memory::translate(std::uint64_t address, std::uint64_t size) const {
  const Allocation* allocation = find(address);
  if (allocation == nullptr || !allocation->holds(address, size)) throw Failure("{}", describe(address, size));
  return allocation->bytes + (address - allocation->address);
}

void Memory::write(std::uint64_t address, std::span<const std::byte> bytes) {
  std::byte* to = translate(address, bytes.size());
  if (!bytes.empty()) std::memcpy(to, bytes.data(), bytes.size());
}

void Memory::fill(std::uint64_t address, std::byte value, std::uint64_t size) {
  std::fill_n(translate(address, size), size, value);
}

void Memory::read(std::uint64_t address, std::span<std::byte> bytes) const {
  const std::byte* from = translate(address, bytes.size());
  if (!bytes.empty()) std::memcpy(bytes.data(), from, bytes.size());
}

std::string Memory::describe(std::uint64_t address, std::uint64_t size) const {
  const std::string range = fmt::format("{} bytes at {:#x}", size, address);
  auto after = pieces_.upper_bound(address);
  if (after != pieces_.begin()) {
    const Allocation& before = std::prev(after)->second.allocation;
    const std::uint64_t end = address + size - before.address;
    constexpr std::uint64_t kNear = std::uint64_t{1} << 20;
    if (end > before.size && end - before.size <= kNear) {
      return fmt::format("{}: {} bytes past the end of '{}' ({} bytes at {:#x})", range, end - before.size, before.name,
                         before.size, before.address);
    }
    if (end <= before.size) return fmt::format("{}: byte {} of '{}'", range, address - before.address, before.name);
  }
  if (after != pieces_.end() && address + size > after->first) {
    return fmt::format("{}: begins {} bytes before '{}'", range, after->first - address, after->second.allocation.name);
  }
  return fmt::format("{}: in no live allocation", range);
}

}  // namespace octet::sim
