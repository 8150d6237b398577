// Fields of the hardware's state: MODE, and where a wave runs. AMD CDNA4 ISA, chapter 3 "Kernel State"
// (MODE register), chapter 5 "Scalar ALU Operations" (access to the hardware's state).
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "sim/decode/hardware_registers.h"
#include "sim/semantics/lanes.h"
#include "sim/semantics/table.h"

namespace octet::sim {
namespace {

/// As clang sets MODE, which is all that is modelled: rounding to nearest even (0), denormals kept (15), DX10_CLAMP and
/// IEEE on, the rest off.
constexpr u32 kMode = 15U << 4 | 1U << 8 | 1U << 9;

struct ModeField {
  std::string_view name;
  u32 mask;
};
constexpr std::array<ModeField, 9> kModeFields{{{"FP_ROUND", 0xFU},
                                                {"FP_DENORM", 0xFU << 4},
                                                {"DX10_CLAMP", 1U << 8},
                                                {"IEEE", 1U << 9},
                                                {"LOD_CLAMPED", 1U << 10},
                                                {"EXCP_EN", 0x1FFU << 12},
                                                {"FP16_OVFL", 1U << 23},
                                                {"GPR_IDX_EN", 1U << 27},
                                                {"VSKIP", 1U << 28}}};

u32 mask_of(const HardwareField& field) {
  return static_cast<u32>((std::uint64_t{1} << field.size) - 1U);
}

/// A GPU of one compute unit in one XCC: HW_ID and XCC_ID, which say where a wave runs, read 0.
u32 value_of(const HardwareField& field) {
  if (field.id == kModeRegister) return kMode;
  if (field.id == kHardwareIdRegister || field.id == kXccIdRegister) return 0;
  throw Failure("hardware register {} is not modelled", field.id);
}

void get_register(Wave& wave, const Instruction& instruction) {
  const HardwareField field = hardware_field(instruction.operands[1].literal);
  write_scalar(wave, instruction.operands[0], value_of(field) >> field.offset & mask_of(field));
}

/// Setting MODE to what it is has no effect; anything else is refused.
void set_register(Wave& wave, const Instruction& instruction) {
  const HardwareField field = hardware_field(instruction.operands[0].literal);
  if (field.id != kModeRegister) throw Failure("setting hardware register {} is not modelled", field.id);
  const u32 mask = mask_of(field) << field.offset;
  const u32 value = read_scalar<u32>(wave, instruction.operands[1]) << field.offset & mask;
  const u32 changed = value ^ (kMode & mask);
  if (changed == 0) return;
  std::string names;
  for (const ModeField& named : kModeFields) {
    if ((changed & named.mask) != 0) names += (names.empty() ? "" : ", ") + std::string(named.name);
  }
  throw Failure("sets {} of MODE to other than clang's default, which is not modelled",
                names.empty() ? "reserved bits" : names);
}

constexpr std::array kRows = std::to_array<Row>({
    {"s_getreg_b32", get_register},
    {"s_setreg_b32", set_register},
    {"s_setreg_imm32_b32", set_register},
});

}  // namespace

Table special_register_table() {
  return kRows;
}

}  // namespace octet::sim
