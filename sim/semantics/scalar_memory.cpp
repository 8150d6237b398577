// Scalar loads. AMD Instinct MI300 ISA, "Scalar Memory Operations".
#include <array>
#include <cstdint>
#include <cstring>

#include "sim/semantics/lanes.h"
#include "sim/semantics/memory_access.h"
#include "sim/semantics/table.h"

namespace octet::sim {
namespace {

/// Address: a pair of SGPRs, plus an SGPR or a literal, plus the offset; its two low bits are ignored.
template <int Dwords>
void load_dwords(Wave& wave, const Instruction& instruction) {
  const auto base = read_scalar<std::uint64_t>(wave, instruction.operands[1]);
  const auto second = read_scalar<std::uint32_t>(wave, instruction.operands[2]);
  const bool literal = instruction.operands[2].bank == Bank::literal;
  const auto displacement = literal ? std::int64_t{static_cast<std::int32_t>(second)} : std::int64_t{second};
  const std::uint64_t address = base + static_cast<std::uint64_t>(displacement + instruction.offset);
  const std::uint16_t first = instruction.operands[0].index;
  if (first + Dwords > kScalarRegisters) throw Failure("loads into registers that do not exist");
  announce_scalar(wave, instruction, AccessKind::read, address, 4 * Dwords);
  std::memcpy(&wave.scalar[first], wave.memory->translate(address & ~std::uint64_t{3}, 4 * Dwords), 4 * Dwords);
}

constexpr std::uint32_t kAccepts = modifier::kOffset | modifier::kCache;
constexpr std::array kRows = std::to_array<Row>({
    {"s_load_dword", load_dwords<1>, kAccepts},
    {"s_load_dwordx2", load_dwords<2>, kAccepts},
    {"s_load_dwordx4", load_dwords<4>, kAccepts},
    {"s_load_dwordx8", load_dwords<8>, kAccepts},
    {"s_load_dwordx16", load_dwords<16>, kAccepts},
});

}  // namespace

Table scalar_memory_table() {
  return kRows;
}

}  // namespace octet::sim
