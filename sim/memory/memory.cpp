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
  auto written = tracks_writes_ ? std::make_unique<std::uint8_t[]>(size) : nullptr;
  Allocation allocation{address, size, storage.get(), std::move(name), written.get()};
  pieces_.emplace(address, Piece{std::move(allocation), std::move(storage), std::move(written)});
  return address;
}

std::uint64_t Memory::adopt(std::span<std::byte> bytes, std::string name) {
  const auto address = reinterpret_cast<std::uint64_t>(bytes.data());
  pieces_.insert_or_assign(address, Piece{{address, bytes.size(), bytes.data(), std::move(name), nullptr}, {}, {}});
  return address;
}

void Memory::release(std::uint64_t address) {
  const auto found = pieces_.find(address);
  if (found == pieces_.end()) throw Failure("no allocation begins at {:#x}", address);
  Allocation& allocation = found->second.allocation;
  protected_.erase(protected_.lower_bound(address), protected_.lower_bound(address + allocation.size));
  constexpr std::size_t kRemembered = 1024;
  released_.push_front({address, allocation.size, std::move(allocation.name)});
  if (released_.size() > kRemembered) released_.pop_back();
  pieces_.erase(found);
}

void Memory::protect(std::uint64_t address, std::uint64_t size) {
  protected_.insert_or_assign(address, address + size);
}

bool Memory::is_protected(std::uint64_t address, std::uint64_t size) const {
  const auto after = protected_.lower_bound(address + size);
  return after != protected_.begin() && std::prev(after)->second > address;
}

const Allocation* Memory::find(std::uint64_t address) const {
  auto after = pieces_.upper_bound(address);
  if (after == pieces_.begin()) return nullptr;
  const Allocation& before = std::prev(after)->second.allocation;
  return before.holds(address, 1) ? &before : nullptr;
}

const Allocation& Memory::holder(std::uint64_t address, std::uint64_t size) const {
  const Allocation* allocation = find(address);
  if (allocation == nullptr || !allocation->holds(address, size)) throw Failure("{}", describe(address, size));
  return *allocation;
}

std::byte* Memory::translate(std::uint64_t address, std::uint64_t size) const {
  const Allocation& allocation = holder(address, size);
  return allocation.bytes + (address - allocation.address);
}

std::byte* Memory::place_to_write(std::uint64_t address, std::uint64_t size) {
  const Allocation& allocation = holder(address, size);
  const std::uint64_t offset = address - allocation.address;
  if (allocation.written != nullptr) std::fill_n(allocation.written + offset, size, std::uint8_t{1});
  return allocation.bytes + offset;
}

void Memory::write(std::uint64_t address, std::span<const std::byte> bytes) {
  std::byte* to = place_to_write(address, bytes.size());
  if (!bytes.empty()) std::memcpy(to, bytes.data(), bytes.size());
}

void Memory::fill(std::uint64_t address, std::byte value, std::uint64_t size) {
  std::fill_n(place_to_write(address, size), size, value);
}

void Memory::read(std::uint64_t address, std::span<std::byte> bytes) const {
  const std::byte* from = translate(address, bytes.size());
  if (!bytes.empty()) std::memcpy(bytes.data(), from, bytes.size());
}

std::string Memory::describe(std::uint64_t address, std::uint64_t size) const {
  const std::string range = fmt::format("{} bytes at {:#x}", size, address);
  if (const Allocation* allocation = find(address); allocation != nullptr && allocation->holds(address, size)) {
    return fmt::format("{}: byte {} of '{}' ({} bytes at {:#x})", range, address - allocation->address,
                       allocation->name, allocation->size, allocation->address);
  }
  for (const Released& released : released_) {
    if (address - released.address >= released.size) continue;
    return fmt::format("{}: byte {} of '{}', which was released", range, address - released.address, released.name);
  }
  auto after = pieces_.upper_bound(address);
  if (after != pieces_.begin()) {
    const Allocation& before = std::prev(after)->second.allocation;
    const std::uint64_t end = address + size - before.address;
    constexpr std::uint64_t kNear = std::uint64_t{1} << 20;
    if (end > before.size && end - before.size <= kNear) {
      return fmt::format("{}: {} bytes past the end of '{}' ({} bytes at {:#x})", range, end - before.size, before.name,
                         before.size, before.address);
    }
  }
  if (after != pieces_.end() && address + size > after->first) {
    return fmt::format("{}: begins {} bytes before '{}'", range, after->first - address, after->second.allocation.name);
  }
  return fmt::format("{}: in no live allocation", range);
}

}  // namespace octet::sim
