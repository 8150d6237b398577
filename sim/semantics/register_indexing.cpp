// AMD CDNA4 ISA, 6.6 "VGPR Indexing"; 12.3 SOP1 (S_SET_GPR_IDX_IDX, S_MOVRELS_B32, S_MOVRELD_B32 and their like), 12.4
// SOPC (S_SET_GPR_IDX_ON), 12.5 SOPP (S_SET_GPR_IDX_OFF, S_SET_GPR_IDX_MODE).
#include "sim/semantics/register_indexing.h"

#include <array>
#include <cstdint>
#include <type_traits>

#include "sim/semantics/lanes.h"
#include "sim/semantics/table.h"

namespace octet::sim {
namespace {

constexpr u32 kIndexMask = 0xFF;  // of M0: the number to add
constexpr u32 kModeShift = 12;    // of M0: four bits that say to which operands
constexpr u32 kSourceMode = 1;    // of these: the first source
constexpr u32 kDestinationMode = 8;
constexpr u32 kSgprs = 102;

void set_mode(Wave& wave, u32 mode) {
  wave.scalar[kM0] = (wave.scalar[kM0] & ~(0xFU << kModeShift)) | (mode & 0xFU) << kModeShift;
}

void set_index(Wave& wave, u32 index) {
  wave.scalar[kM0] = (wave.scalar[kM0] & ~kIndexMask) | (index & kIndexMask);
}

/// Operands: index, mode.
void turn_on(Wave& wave, const Instruction& instruction) {
  wave.indexes_registers = true;
  set_index(wave, read_scalar<u32>(wave, instruction.operands[0]));
  set_mode(wave, read_scalar<u32>(wave, instruction.operands[1]));
}

void turn_off(Wave& wave, const Instruction& /*instruction*/) {
  wave.indexes_registers = false;
}

void change_mode(Wave& wave, const Instruction& instruction) {
  set_mode(wave, read_scalar<u32>(wave, instruction.operands[0]));
}

void change_index(Wave& wave, const Instruction& instruction) {
  set_index(wave, read_scalar<u32>(wave, instruction.operands[0]));
}

/// The operand whose number is greater by what M0 holds. Failure where that is no register of its kind.
Operand moved(const Wave& wave, Operand operand) {
  const u32 index = operand.index + (wave.scalar[kM0] & kIndexMask);
  if (operand.bank != Bank::vector) return operand;
  if (operand.index >= kFirstAccumulator) throw Failure("accumulation registers are not indexed");
  if (index >= kFirstAccumulator) throw Failure("M0 makes v{} of v{}, which there is not", index, operand.index);
  operand.index = static_cast<std::uint16_t>(index);
  return operand;
}

void move_indexed(Wave& wave, const Instruction& instruction) {
  if (!wave.indexes_registers) return instruction.inner->execute(wave, *instruction.inner);
  const u32 mode = wave.scalar[kM0] >> kModeShift;
  Instruction with_moved = *instruction.inner;
  if ((mode & kDestinationMode) != 0) with_moved.operands[0] = moved(wave, with_moved.operands[0]);
  if ((mode & kSourceMode) != 0) with_moved.operands[1] = moved(wave, with_moved.operands[1]);
  with_moved.execute(wave, with_moved);
}

void refuse_indexed(Wave& wave, const Instruction& instruction) {
  if (wave.indexes_registers) throw Failure("is not implemented between s_set_gpr_idx_on and s_set_gpr_idx_off");
  instruction.inner->execute(wave, *instruction.inner);
}

/// The number of an operand's first SGPR and M0's, of an operand as wide as T.
template <typename T>
std::uint16_t relative(const Wave& wave, const Operand& operand) {
  constexpr u32 kDwords = std::is_same_v<T, u64> ? 2 : 1;
  const u32 index = operand.index + wave.scalar[kM0];
  if (operand.bank != Bank::scalar || index + kDwords > kSgprs || index < operand.index) {
    throw Failure("M0 is {:#x}, which makes no SGPR of its operand", wave.scalar[kM0]);
  }
  return static_cast<std::uint16_t>(index);
}

/// D = the scalar register whose number is the source's and M0's.
template <typename T>
void move_from_relative(Wave& wave, const Instruction& instruction) {
  Operand source = instruction.operands[1];
  source.index = relative<T>(wave, source);
  write_scalar(wave, instruction.operands[0], read_scalar<T>(wave, source));
}

template <typename T>
void move_to_relative(Wave& wave, const Instruction& instruction) {
  Operand destination = instruction.operands[0];
  destination.index = relative<T>(wave, destination);
  write_scalar(wave, destination, read_scalar<T>(wave, instruction.operands[1]));
}

constexpr std::array kRows = std::to_array<Row>({
    {"s_set_gpr_idx_on", turn_on},
    {"s_set_gpr_idx_off", turn_off},
    {"s_set_gpr_idx_mode", change_mode},
    {"s_set_gpr_idx_idx", change_index},
    {"s_movrels_b32", move_from_relative<u32>},
    {"s_movrels_b64", move_from_relative<u64>},
    {"s_movreld_b32", move_to_relative<u32>},
    {"s_movreld_b64", move_to_relative<u64>},
});

}  // namespace

Table register_indexing_table() {
  return kRows;
}

Instruction with_register_indexing(const Instruction& instruction, std::string_view mnemonic,
                                   std::deque<Instruction>& inners) {
  const bool is_move = mnemonic == "v_mov_b32" && instruction.inner == nullptr;
  Instruction indexed = instruction;
  indexed.inner = &inners.emplace_back(instruction);
  indexed.execute = is_move ? move_indexed : refuse_indexed;
  return indexed;
}

}  // namespace octet::sim
