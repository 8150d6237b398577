// The addresses of LDS instructions, and the way to the workgroup's bytes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sim/semantics/lanes.h"

namespace octet::sim {

/// The bytes of a lane's access to LDS. Failure when it leaves what the workgroup has.
[[nodiscard]] inline std::byte* lds_bytes(const Wave& wave, std::uint64_t first, std::size_t lane, std::size_t bytes) {
  if (first + bytes > wave.lds.size()) {
    throw Failure("lane {} accesses {} bytes at {:#x} of the workgroup's {} bytes of LDS", lane, bytes, first,
                  wave.lds.size());
  }
  return wave.lds.data() + first;
}

/// AMD CDNA4 ISA, 11.3.1 "Data Share Indexed and Atomic Access": a VGPR plus an offset.
class LdsSpace {
 public:
  static constexpr Space kSpace = Space::lds;
  static constexpr std::size_t kStoreAddress = 0;

  LdsSpace(Wave& wave, const Instruction& instruction, std::size_t address, std::size_t /*scalar_address*/)
      : LdsSpace(wave, vector_row(wave, instruction.operands[address]), static_cast<u32>(instruction.offset)) {}
  LdsSpace(const Wave& wave, const Lanes& addresses, u32 offset)
      : wave_(wave), addresses_(addresses), offset_(offset) {}
  LdsSpace(const LdsSpace&) = delete;
  LdsSpace& operator=(const LdsSpace&) = delete;

  /// In 32 bits, with which clang counts: a VGPR may hold less than 0.
  [[nodiscard]] std::uint64_t address(std::size_t lane) const { return addresses_[lane] + offset_; }

  [[nodiscard]] std::byte* at(std::size_t lane, std::size_t bytes) const {
    return lds_bytes(wave_, address(lane), lane, bytes);
  }

 private:
  const Wave& wave_;
  const Lanes& addresses_;
  u32 offset_;
};

/// The addresses of instructions that give each lane a slot by its number: M0, plus the instruction's offset, plus
/// `pitch` bytes for each lane before. Of M0 bits 2 to 17 count; Failure where others would matter.
[[nodiscard]] inline Lanes lane_slots(const Wave& wave, const Instruction& instruction, u32 pitch) {
  const u32 m0 = wave.scalar[kM0];
  if (m0 % 4 != 0) throw Failure("M0, the address in LDS, is {:#x}, which is no multiple of 4", m0);
  Lanes slots;
  const u32 first = (m0 & 0x3FFFFU) + static_cast<u32>(instruction.offset);
  for (u32 lane = 0; lane < kLanes; ++lane) slots[lane] = first + lane * pitch;
  return slots;
}

}  // namespace octet::sim
