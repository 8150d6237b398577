#include "sim/hip/device.h"

#include <fmt/format.h>

#include "sim/hip/errors.h"

namespace octet::sim::hip {
namespace {

// Of eight devices the last ends at 65 TiB, below where Linux on x86-64 puts programs and what they map. A launch takes
// 4 MiB of addresses for as long as it runs, and none is given out twice: a device lasts for two million launches.
constexpr std::uint64_t kFirstAddress = std::uint64_t{1} << 40;
constexpr std::uint64_t kAddresses = std::uint64_t{1} << 43;
// What lies a little before the first allocation is the device's too.
constexpr std::uint64_t kMargin = std::uint64_t{1} << 21;

std::uint64_t first_address(int index) {
  return kFirstAddress + static_cast<std::uint64_t>(index) * kAddresses;
}

}  // namespace

Device::Device(int index, const Processor& processor, std::uint64_t capacity)
    : index_(index), processor_(processor), capacity_(capacity), memory_(first_address(index) + kMargin) {}

bool Device::owns(std::uint64_t address) const {
  return address >= first_address(index_) && address - first_address(index_) < kAddresses;
}

std::uint64_t Device::allocate(std::uint64_t size) {
  if (size > capacity_ - used_) {
    refuse(hipErrorOutOfMemory, "device {} has {} of {} bytes left, not {}: free some, or set CDNA_SIM_MEMORY", index_,
           capacity_ - used_, capacity_, size);
  }
  const std::uint64_t address = memory_.allocate(size, fmt::format("hipMalloc {}", allocations_ + 1));
  if (!owns(address + size)) {
    memory_.release(address);
    refuse(hipErrorOutOfMemory, "device {} has given out all its addresses: start the program anew", index_);
  }
  ++allocations_;
  sizes_.emplace(address, size);
  used_ += size;
  return address;
}

void Device::release(std::uint64_t address) {
  const auto found = sizes_.find(address);
  if (found == sizes_.end()) {
    refuse(hipErrorInvalidValue, "{:#x} is freed, and no allocation of device {} begins there", address, index_);
  }
  memory_.release(address);
  used_ -= found->second;
  sizes_.erase(found);
}

void Device::release_all() {
  while (!sizes_.empty()) release(sizes_.begin()->first);
}

void Device::fail(hipError_t code) {
  if (is_sound()) fault_ = code;
}

void Device::require_sound() const {
  require(is_sound(), fault_);
}

}  // namespace octet::sim::hip
