// Scalar loads. AMD CDNA4 ISA, 8 "Scalar Memory Operations" (8.2.1.1 addresses, 8.4 alignment); 12.6 SMEM.
#include <array>
#include <cstdint>
#include <cstring>

#include "sim/semantics/lanes.h"
#include "sim/semantics/table.h"

namespace octet::sim {
namespace {

/// Address: a pair of SGPRs, plus an SGPR or a literal, plus the offset; its two low bits are ignored.
template <int Dwords>
void load(Wave& wave, const Instruction& instruction) {
  const auto base = read_scalar<std::uint64_t>(wave, instruction.operands[1]);
  const auto second = read_scalar<std::uint32_t>(wave, instruction.operands[2]);
  const bool literal = instruction.operands[2].bank == Bank::literal;
  const auto displacement = literal ? std::int64_t{static_cast<std::int32_t>(second)} : std::int64_t{second};
  const std::uint64_t address = base + static_cast<std::uint64_t>(displacement + instruction.offset);
  const std::uint16_t first = instruction.operands[0].index;
  if (first + Dwords > kScalarRegisters) throw Failure("loads into registers that do not exist");
  std::memcpy(&wave.scalar[first], wave.memory->translate(address & ~std::uint64_t{3}, 4 * Dwords), 4 * Dwords);
}

constexpr std::uint32_t kAccepts = modifier::kOffset | modifier::kCache;
constexpr std::array kRows = std::to_array<Row>({
    {"s_load_dword", load<1>, kAccepts},
    {"s_load_dwordx2", load<2>, kAccepts},
    {"s_load_dwordx4", load<4>, kAccepts},
    {"s_load_dwordx8", load<8>, kAccepts},
    {"s_load_dwordx16", load<16>, kAccepts},
});

}  // namespace

Table scalar_memory_table() {
  return kRows;
}

}  // namespace octet::sim
