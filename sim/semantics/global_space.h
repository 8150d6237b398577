// The addresses of global instructions, and the way to the host's bytes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sim/semantics/lanes.h"

namespace octet::sim {

/// Finds the allocation of an access that is not in the one of the access before. Failure when none holds it.
inline void look_up(Wave& wave, std::uint64_t first, std::size_t lane, std::size_t bytes) {
  const Allocation* allocation = wave.memory->find(first);
  if (allocation == nullptr || !allocation->holds(first, bytes)) {
    throw Failure("lane {} accesses {}", lane, wave.memory->describe(first, bytes));
  }
  wave.recent = allocation;
}

/// The host's bytes of a lane's access to global memory. Failure when no live allocation holds all of it.
[[nodiscard]] inline std::byte* global_bytes(Wave& wave, std::uint64_t first, std::size_t lane, std::size_t bytes) {
  if (wave.recent == nullptr || !wave.recent->holds(first, bytes)) look_up(wave, first, lane, bytes);
  return wave.recent->bytes + (first - wave.recent->address);
}

/// AMD CDNA4 ISA, 10.4 "Global": a 64-bit address in a pair of VGPRs, or with a scalar address a 32-bit offset
/// in one VGPR; both plus the instruction's offset.
class GlobalSpace {
 public:
  static constexpr Space kSpace = Space::global;
  static constexpr std::size_t kStoreAddress = 0;

  GlobalSpace(Wave& wave, const Instruction& instruction, std::size_t address, std::size_t scalar_address)
      : wave_(wave), low_(vector_row(wave, instruction.operands[address])) {
    const Operand& scalar = instruction.operands[scalar_address];
    base_ = static_cast<std::uint64_t>(std::int64_t{instruction.offset});
    if (scalar.bank == Bank::scalar) {
      base_ += read_scalar<std::uint64_t>(wave, scalar);
    } else {
      high_ = &vector_row(wave, instruction.operands[address], 1);
    }
  }
  GlobalSpace(const GlobalSpace&) = delete;
  GlobalSpace& operator=(const GlobalSpace&) = delete;

  [[nodiscard]] std::uint64_t address(std::size_t lane) const {
    const std::uint64_t high = high_ == nullptr ? 0 : (*high_)[lane];
    return base_ + (low_[lane] | high << 32);
  }

  [[nodiscard]] std::byte* at(std::size_t lane, std::size_t bytes) const {
    return global_bytes(wave_, address(lane), lane, bytes);
  }

 private:
  Wave& wave_;
  const Lanes& low_;
  const Lanes* high_ = nullptr;
  std::uint64_t base_ = 0;
};

}  // namespace octet::sim
