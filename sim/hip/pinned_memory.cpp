#include "sim/hip/pinned_memory.h"

#include <fmt/format.h>

#include <iterator>
#include <new>
#include <span>
#include <utility>

#include "sim/hip/errors.h"

namespace octet::sim::hip {
namespace {

constexpr std::align_val_t kPage{4096};

const char* name(Pinning how) {
  switch (how) {
    case Pinning::allocated:
      return "hipHostMalloc";
    case Pinning::registered:
      return "hipHostRegister";
    case Pinning::managed:
      return "hipMallocManaged";
  }
  return "";
}

}  // namespace

void PinnedMemory::PageDelete::operator()(std::byte* bytes) const {
  ::operator delete[](bytes, kPage);
}

void PinnedMemory::add(PinnedRange range, Storage storage) {
  const std::span<std::byte> bytes(reinterpret_cast<std::byte*>(range.address), range.size);
  for (Device& device : devices_) {
    device.memory().adopt(bytes, fmt::format("{} of {} bytes", name(range.how), range.size));
  }
  entries_.emplace(range.address, Entry{range, std::move(storage)});
}

void* PinnedMemory::allocate(std::uint64_t size, Pinning how, unsigned flags, int device) {
  Storage storage(static_cast<std::byte*>(::operator new[](size, kPage)));
  std::byte* bytes = storage.get();
  add({reinterpret_cast<std::uint64_t>(bytes), size, how, flags, device}, std::move(storage));
  return bytes;
}

void PinnedMemory::enroll(void* pointer, std::uint64_t size, unsigned flags, int device) {
  const auto address = reinterpret_cast<std::uint64_t>(pointer);
  const auto after = entries_.lower_bound(address);
  const bool meets_next = after != entries_.end() && after->first - address < size;
  require(find(address) == nullptr && !meets_next, hipErrorHostMemoryAlreadyRegistered);
  add({address, size, Pinning::registered, flags, device}, nullptr);
}

void PinnedMemory::release(void* pointer, Pinning how, hipError_t code) {
  const auto found = entries_.find(reinterpret_cast<std::uint64_t>(pointer));
  require(found != entries_.end() && found->second.range.how == how, code);
  for (Device& device : devices_) device.memory().release(found->first);
  entries_.erase(found);
}

const PinnedRange* PinnedMemory::find(std::uint64_t address) const {
  const auto after = entries_.upper_bound(address);
  if (after == entries_.begin()) return nullptr;
  const PinnedRange& before = std::prev(after)->second.range;
  return address - before.address < before.size ? &before : nullptr;
}

}  // namespace octet::sim::hip
