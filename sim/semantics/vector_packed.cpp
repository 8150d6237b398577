// Two floats at once in pairs of registers. AMD CDNA4 ISA, 6.7 "Packed Math"; 12.10 VOP3P.
#include <array>
#include <cmath>
#include <cstdint>

#include "sim/semantics/float_lanes.h"
#include "sim/semantics/table.h"

namespace octet::sim {
namespace {

/// The source of one half of the result: op_sel says which register the low half reads, op_sel_hi which the high one
/// does; neg_lo and neg_hi negate. A literal is the same for both.
const Lanes& half_of(const Wave& wave, const Instruction& instruction, std::size_t source, int half, Lanes& buffer) {
  const Operand& operand = instruction.operands[source + 1];
  const std::uint8_t selection = half == 0 ? instruction.op_sel : instruction.op_sel_hi;
  const std::uint8_t negation = half == 0 ? instruction.neg_lo : instruction.neg_hi;
  const std::size_t dword = operand.bank == Bank::literal ? 0 : selection >> source & 1U;
  const Lanes& plain = read_lanes(wave, operand, dword, buffer);
  if ((negation >> source & 1) == 0) return plain;
  for (std::size_t lane = 0; lane < kLanes; ++lane) buffer[lane] = plain[lane] ^ kFloatSign;
  return buffer;
}

template <auto F, std::size_t... Source>
void packed_of(Wave& wave, const Instruction& instruction, std::index_sequence<Source...> /*sources*/) {
  std::array<Lanes, 2> results;
  for (int half = 0; half < 2; ++half) {
    std::array<Lanes, sizeof...(Source)> buffers;
    const std::array<const Lanes*, sizeof...(Source)> sources{
        &half_of(wave, instruction, Source, half, buffers[Source])...};
    Lanes& result = results[static_cast<std::size_t>(half)];
    for (std::size_t lane = 0; lane < kLanes; ++lane) result[lane] = as_bits(F(as_float((*sources[Source])[lane])...));
    settle_nans(result, sources);
    modify_output(instruction, result);
  }
  write_lanes(wave, instruction.operands[0], 0, results[0]);
  write_lanes(wave, instruction.operands[0], 1, results[1]);
}

template <auto F>
void packed2(Wave& wave, const Instruction& instruction) {
  packed_of<F>(wave, instruction, std::make_index_sequence<2>());
}
template <auto F>
void packed3(Wave& wave, const Instruction& instruction) {
  packed_of<F>(wave, instruction, std::make_index_sequence<3>());
}

/// The low half from the first source, the high half from the second; op_sel chooses the register of each.
void packed_move(Wave& wave, const Instruction& instruction) {
  std::array<Lanes, 2> results;
  for (std::size_t half = 0; half < 2; ++half) {
    const Operand& operand = instruction.operands[half + 1];
    const std::size_t dword = operand.bank == Bank::literal ? 0 : instruction.op_sel >> half & 1U;
    Lanes buffer;
    results[half] = read_lanes(wave, operand, dword, buffer);
  }
  write_lanes(wave, instruction.operands[0], 0, results[0]);
  write_lanes(wave, instruction.operands[0], 1, results[1]);
}

constexpr std::uint32_t kAccepts = modifier::kHalves | modifier::kPacked | modifier::kOutput;
constexpr std::array kRows = std::to_array<Row>({
    {"v_pk_add_f32", packed2<[](float a, float b) { return a + b; }>, kAccepts},
    {"v_pk_mul_f32", packed2<[](float a, float b) { return a * b; }>, kAccepts},
    {"v_pk_fma_f32", packed3<[](float a, float b, float c) { return std::fma(a, b, c); }>, kAccepts},
    {"v_pk_mov_b32", packed_move, modifier::kHalves | modifier::kPacked},
});

}  // namespace

Table vector_packed_table() {
  return kRows;
}

}  // namespace octet::sim
