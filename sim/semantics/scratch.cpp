// Loads and stores of a lane's own memory, where registers are spilled to. AMD CDNA4 ISA, 10.5 "Scratch" and table 56
// (addresses); 12.15 FLAT, Scratch and Global.
#include <array>
#include <cstdint>

#include "sim/semantics/memory_access.h"
#include "sim/semantics/table.h"

namespace octet::sim {
namespace {

/// The address is the instruction's offset, plus a VGPR, plus an SGPR, each of which may be "off".
class ScratchSpace {
 public:
  static constexpr Space kSpace = Space::scratch;

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
    const std::uint64_t first = address(lane);
    if (first + bytes > wave_.scratch_bytes) {
      throw Failure("lane {} accesses {} bytes at {:#x} of its {} bytes of scratch", lane, bytes, first,
                    wave_.scratch_bytes);
    }
    return wave_.scratch.data() + lane * wave_.scratch_bytes + first;
  }

 private:
  Wave& wave_;
  u32 base_;
  const Lanes* vector_ = nullptr;
};

constexpr u32 kAccepts = modifier::kOffset | modifier::kCache;
constexpr std::array kRows = std::to_array<Row>({
    {"scratch_load_ubyte", load<ScratchSpace, u8, 1>, kAccepts},
    {"scratch_load_sbyte", load<ScratchSpace, i8, 1>, kAccepts},
    {"scratch_load_ushort", load<ScratchSpace, u16, 1>, kAccepts},
    {"scratch_load_sshort", load<ScratchSpace, i16, 1>, kAccepts},
    {"scratch_load_dword", load<ScratchSpace, u32, 1>, kAccepts},
    {"scratch_load_dwordx2", load<ScratchSpace, u32, 2>, kAccepts},
    {"scratch_load_dwordx3", load<ScratchSpace, u32, 3>, kAccepts},
    {"scratch_load_dwordx4", load<ScratchSpace, u32, 4>, kAccepts},
    {"scratch_load_short_d16", load_half<ScratchSpace, u16, false>, kAccepts},
    {"scratch_load_short_d16_hi", load_half<ScratchSpace, u16, true>, kAccepts},
    {"scratch_store_byte", store<ScratchSpace, u8, 1>, kAccepts},
    {"scratch_store_short", store<ScratchSpace, u16, 1>, kAccepts},
    {"scratch_store_short_d16_hi", store<ScratchSpace, u16, 1, 16>, kAccepts},
    {"scratch_store_dword", store<ScratchSpace, u32, 1>, kAccepts},
    {"scratch_store_dwordx2", store<ScratchSpace, u32, 2>, kAccepts},
    {"scratch_store_dwordx3", store<ScratchSpace, u32, 3>, kAccepts},
    {"scratch_store_dwordx4", store<ScratchSpace, u32, 4>, kAccepts},
});

}  // namespace

Table scratch_table() {
  return kRows;
}

}  // namespace octet::sim
