// The addresses of scratch instructions, and the way to a lane's own bytes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sim/semantics/lanes.h"

namespace octet::sim {

/// The bytes of a lane's access to its own memory. Failure when it leaves that.
[[nodiscard]] inline std::byte* scratch_bytes(const Wave& wave, std::uint64_t first, std::size_t lane,
                                              std::size_t bytes) {
  if (first + bytes > wave.scratch_bytes) {
    throw Failure("lane {} accesses {} bytes at {:#x} of its {} bytes of scratch", lane, bytes, first,
                  wave.scratch_bytes);
  }
  return wave.scratch.data() + lane * wave.scratch_bytes + first;
}

/// AMD CDNA4 ISA, 10.1, table "SVE Bit": the instruction's offset, plus a VGPR, plus an SGPR, each of which
/// may be "off".
class ScratchSpace {
 public:
  static constexpr Space kSpace = Space::scratch;
  static constexpr std::size_t kStoreAddress = 0;

  ScratchSpace(Wave& wave, const Instruction& instruction, std::size_t address, std::size_t scalar_address)
      : wave_(wave), base_(static_cast<u32>(instruction.offset)) {
    const Operand& scalar = instruction.operands[scalar_address];
    if (scalar.bank != Bank::none) base_ += read_scalar<u32>(wave, scalar);
    const Operand& vector = instruction.operands[address];
    if (vector.bank != Bank::none) vector_ = &vector_row(wave, vector);
  }
  ScratchSpace(const ScratchSpace&) = delete;
  ScratchSpace& operator=(const ScratchSpace&) = delete;

  [[nodiscard]] std::uint64_t address(std::size_t lane) const {
    return base_ + (vector_ == nullptr ? 0U : (*vector_)[lane]);  // in 32 bits, which wrap
  }

  [[nodiscard]] std::byte* at(std::size_t lane, std::size_t bytes) const {
    return scratch_bytes(wave_, address(lane), lane, bytes);
  }

 private:
  const Wave& wave_;
  u32 base_;
  const Lanes* vector_ = nullptr;
};

}  // namespace octet::sim
