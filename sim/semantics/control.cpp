// Control of the program's flow, and what has no effect here. AMD CDNA4 ISA, 4 "Program Flow Control"; 12.3 SOP1
// (program counter), 12.5 SOPP; of cache maintenance 9.1.10.2.
#include <array>
#include <cstdint>

#include "sim/semantics/lanes.h"
#include "sim/semantics/table.h"

namespace octet::sim {
namespace {

void nothing(Wave& /*wave*/, const Instruction& /*instruction*/) {}

void end_program(Wave& wave, const Instruction& /*instruction*/) {
  wave.status = Status::ended;
}

void barrier(Wave& wave, const Instruction& /*instruction*/) {
  wave.status = Status::at_barrier;
}

template <auto Condition>
void branch_if(Wave& wave, const Instruction& instruction) {
  if (!Condition(wave)) return;
  wave.next = instruction.target;
  ++wave.branches_taken;
}

/// The address of the instruction that comes next.
std::uint64_t next_address(const Wave& wave) {
  return wave.code->address + std::uint64_t{4} * wave.code->dword[wave.next];
}

void jump(Wave& wave, std::uint64_t address) {
  const std::uint64_t dword = (address - wave.code->address) / 4;
  if (address % 4 != 0 || dword >= wave.code->number.size() || wave.code->number[dword] == CodeMap::kNoInstruction) {
    throw Failure("jumps to {:#x}, where no instruction begins", address);
  }
  wave.next = wave.code->number[dword];
  ++wave.branches_taken;
}

void get_address(Wave& wave, const Instruction& instruction) {
  write_scalar(wave, instruction.operands[0], next_address(wave));
}

void set_address(Wave& wave, const Instruction& instruction) {
  jump(wave, read_scalar<std::uint64_t>(wave, instruction.operands[0]));
}

void swap_address(Wave& wave, const Instruction& instruction) {
  const auto target = read_scalar<std::uint64_t>(wave, instruction.operands[1]);
  write_scalar(wave, instruction.operands[0], next_address(wave));
  jump(wave, target);
}

/// What a kernel calls when it gives up: __builtin_trap(), abort(), a failed assertion.
void trap(Wave& /*wave*/, const Instruction& instruction) {
  throw Failure("the kernel stops itself by trap {}", instruction.operands[0].literal);
}

/// To a place so many dwords behind the instruction that comes next; D = the address of that one.
void call(Wave& wave, const Instruction& instruction) {
  const std::uint64_t next = next_address(wave);
  const auto dwords = static_cast<std::int16_t>(instruction.operands[1].literal);
  write_scalar(wave, instruction.operands[0], next);
  jump(wave, next + static_cast<std::uint64_t>(std::int64_t{4} * dwords));
}

constexpr std::array kRows = std::to_array<Row>({
    {"s_endpgm", end_program},
    {"s_trap", trap},
    {"s_barrier", barrier},
    {"s_branch", branch_if<[](const Wave&) { return true; }>},
    {"s_cbranch_scc0", branch_if<[](const Wave& wave) { return !wave.scc; }>},
    {"s_cbranch_scc1", branch_if<[](const Wave& wave) { return wave.scc; }>},
    {"s_cbranch_vccz", branch_if<[](const Wave& wave) { return wave.vcc() == 0; }>},
    {"s_cbranch_vccnz", branch_if<[](const Wave& wave) { return wave.vcc() != 0; }>},
    {"s_cbranch_execz", branch_if<[](const Wave& wave) { return wave.exec() == 0; }>},
    {"s_cbranch_execnz", branch_if<[](const Wave& wave) { return wave.exec() != 0; }>},
    {"s_getpc_b64", get_address},
    {"s_setpc_b64", set_address},
    {"s_swappc_b64", swap_address},
    {"s_call_b64", call},
    {"s_nop", nothing, kAnyOperands},
    {"s_waitcnt", nothing, kAnyOperands},
    {"s_sleep", nothing, kAnyOperands},
    {"s_setprio", nothing, kAnyOperands},
    {"s_icache_inv", nothing},
    {"s_dcache_inv", nothing},
    {"s_dcache_wb", nothing},
    {"s_dcache_inv_vol", nothing},
    {"s_dcache_wb_vol", nothing},
    {"buffer_wbl2", nothing, modifier::kCache},
    {"buffer_inv", nothing, modifier::kCache},
});

}  // namespace

Table control_table() {
  return kRows;
}

}  // namespace octet::sim
