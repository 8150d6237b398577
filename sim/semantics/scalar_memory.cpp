// Scalar loads and clocks. AMD CDNA4 ISA, 8 "Scalar Memory Operations" (8.2.1.1 addresses, 8.4 alignment); 12.6 SMEM.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "sim/semantics/buffer_space.h"
#include "sim/semantics/lanes.h"
#include "sim/semantics/memory_access.h"
#include "sim/semantics/table.h"

namespace octet::sim {
namespace {

/// An SGPR or a literal, plus the instruction's offset.
std::int64_t displacement(const Wave& wave, const Instruction& instruction) {
  const Operand& operand = instruction.operands[2];
  const auto second = read_scalar<u32>(wave, operand);
  return (operand.bank == Bank::literal ? std::int64_t{static_cast<i32>(second)} : std::int64_t{second}) +
         instruction.offset;
}

/// The first of so many registers of the destination.
u32* destination(Wave& wave, const Instruction& instruction, int dwords) {
  const std::uint16_t first = instruction.operands[0].index;
  if (first + dwords > kScalarRegisters) throw Failure("loads into registers that do not exist");
  return &wave.scalar[first];
}

/// 8.2.1.1: the address is a pair of SGPRs plus a displacement; its two low bits are ignored.
template <int Dwords>
void load(Wave& wave, const Instruction& instruction) {
  const std::uint64_t address = read_scalar<std::uint64_t>(wave, instruction.operands[1]) +
                                static_cast<std::uint64_t>(displacement(wave, instruction));
  announce_scalar(wave, instruction, AccessKind::read, address, 4 * Dwords);
  const std::byte* from = wave.memory->translate(address & ~std::uint64_t{3}, 4 * Dwords);
  std::memcpy(destination(wave, instruction, Dwords), from, 4 * Dwords);
}

/// 8.2.1.1, "Reads/Writes/Atomics using Buffer Constant": dwords that are not below the buffer's size read 0. The
/// stride counts only for that size.
template <int Dwords>
void load_buffer(Wave& wave, const Instruction& instruction) {
  const BufferResource resource = read_resource(wave, instruction.operands[1]);
  const std::uint64_t size = std::uint64_t{resource.stride == 0 ? 1 : resource.stride} * resource.records;
  const std::uint64_t offset = static_cast<std::uint64_t>(displacement(wave, instruction)) & ~std::uint64_t{3};
  const std::uint64_t address = (resource.base & ~std::uint64_t{3}) + offset;
  const std::uint64_t left = offset < size ? (size - offset + 3) / 4 : 0;
  const std::size_t bytes = 4 * std::min<std::uint64_t>(Dwords, left);
  u32* to = destination(wave, instruction, Dwords);
  std::fill_n(to, Dwords, 0U);
  if (bytes == 0) return;
  announce_scalar(wave, instruction, AccessKind::read, address, bytes);
  std::memcpy(to, wave.memory->translate(address, bytes), bytes);
}

/// 8.2.4, 8.2.5: hardware counts cycles, or ticks of 10 ns. Here the clock is the number of instructions that the wave
/// has executed, this one among them: the same in each run.
void read_clock(Wave& wave, const Instruction& instruction) {
  write_scalar(wave, instruction.operands[0], wave.clock);
}

constexpr u32 kAccepts = modifier::kOffset | modifier::kCache;
constexpr std::array kRows = std::to_array<Row>({
    {"s_load_dword", load<1>, kAccepts},
    {"s_load_dwordx2", load<2>, kAccepts},
    {"s_load_dwordx4", load<4>, kAccepts},
    {"s_load_dwordx8", load<8>, kAccepts},
    {"s_load_dwordx16", load<16>, kAccepts},
    {"s_buffer_load_dword", load_buffer<1>, kAccepts},
    {"s_buffer_load_dwordx2", load_buffer<2>, kAccepts},
    {"s_buffer_load_dwordx4", load_buffer<4>, kAccepts},
    {"s_buffer_load_dwordx8", load_buffer<8>, kAccepts},
    {"s_buffer_load_dwordx16", load_buffer<16>, kAccepts},
    {"s_memtime", read_clock},
    {"s_memrealtime", read_clock},
});

}  // namespace

Table scalar_memory_table() {
  return kRows;
}

}  // namespace octet::sim
