// The addresses of flat instructions, which reach global memory, LDS and scratch by one address of 64 bits.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sim/semantics/global_space.h"
#include "sim/semantics/lds_space.h"
#include "sim/semantics/scratch_space.h"

namespace octet::sim {

/// AMD CDNA4 ISA, 10.3 "Addressing": a pair of VGPRs plus the instruction's offset. What lies in an aperture
/// is a place in LDS or in the lane's scratch, by its low 32 bits; all else is global.
class FlatSpace {
 public:
  static constexpr std::size_t kStoreAddress = 0;

  FlatSpace(Wave& wave, const Instruction& instruction, std::size_t address, std::size_t /*scalar_address*/)
      : wave_(wave),
        low_(vector_row(wave, instruction.operands[address])),
        high_(vector_row(wave, instruction.operands[address], 1)),
        offset_(static_cast<std::uint64_t>(std::int64_t{instruction.offset})) {}
  FlatSpace(const FlatSpace&) = delete;
  FlatSpace& operator=(const FlatSpace&) = delete;

  [[nodiscard]] Space space(std::size_t lane) const {
    const std::uint64_t aperture = flat(lane) >> 32 << 32;
    if (aperture == kSharedBase) return Space::lds;
    return aperture == kPrivateBase ? Space::scratch : Space::global;
  }

  /// Within the memory that space() names.
  [[nodiscard]] std::uint64_t address(std::size_t lane) const {
    return space(lane) == Space::global ? flat(lane) : flat(lane) & 0xFFFF'FFFFU;
  }

  [[nodiscard]] std::byte* at(std::size_t lane, std::size_t bytes) const {
    switch (space(lane)) {
      case Space::lds:
        return lds_bytes(wave_, address(lane), lane, bytes);
      case Space::scratch:
        return scratch_bytes(wave_, address(lane), lane, bytes);
      case Space::global:
      case Space::scalar:
        break;
    }
    return global_bytes(wave_, address(lane), lane, bytes);
  }

 private:
  [[nodiscard]] std::uint64_t flat(std::size_t lane) const {
    return (low_[lane] | std::uint64_t{high_[lane]} << 32) + offset_;
  }

  Wave& wave_;
  const Lanes& low_;
  const Lanes& high_;
  std::uint64_t offset_;
};

}  // namespace octet::sim
