// Vector arithmetic with carries and on 64-bit integers. AMD CDNA4 ISA, 12.7 VOP2, 12.8 VOP1, 12.11 VOP3.
#include <array>
#include <cstdint>
#include <type_traits>

#include "sim/semantics/lanes.h"
#include "sim/semantics/table.h"

namespace octet::sim {
namespace {

/// D[lane] = value(lane), 64 bits wide.
template <typename Value>
void write_each(Wave& wave, const Operand& operand, const Value& value) {
  WideLanes results;
  for (std::size_t lane = 0; lane < kLanes; ++lane) results[lane] = value(lane);
  write_wide(wave, operand, results);
}

void move_wide(Wave& wave, const Instruction& instruction) {
  WideLanes a;
  read_wide(wave, instruction.operands[1], a);
  write_wide(wave, instruction.operands[0], a);
}

/// D = F(b, a): the first source is how far the second one is shifted.
template <auto F>
void shift(Wave& wave, const Instruction& instruction) {
  Lanes broadcast;
  const Lanes& count = read_lanes(wave, instruction.operands[1], 0, broadcast);
  WideLanes value;
  read_wide(wave, instruction.operands[2], value);
  write_each(wave, instruction.operands[0], [&](std::size_t lane) { return F(value[lane], count[lane] & 63U); });
}

/// D = (a << count) + c. Counts beyond 4 are not supported and shift by 0.
void shift_add(Wave& wave, const Instruction& instruction) {
  WideLanes a;
  read_wide(wave, instruction.operands[1], a);
  WideLanes c;
  read_wide(wave, instruction.operands[3], c);
  Lanes broadcast;
  const Lanes& counts = read_lanes(wave, instruction.operands[2], 0, broadcast);
  write_each(wave, instruction.operands[0], [&](std::size_t lane) {
    const u32 count = counts[lane] & 7U;
    return (a[lane] << (count > 4 ? 0 : count)) + c[lane];
  });
}

/// D, carry = a * b + c in 65 bits. Operands: D, carry, a, b, c. `Factor` is how a factor is extended; the carry is the
/// highest bit of the sum, which is the sign of a signed one.
template <typename Factor>
void multiply_add(Wave& wave, const Instruction& instruction) {
  using Product = std::conditional_t<std::is_signed_v<Factor>, i64, u64>;
  Lanes broadcast_a;
  Lanes broadcast_b;
  const Lanes& a = read_lanes(wave, instruction.operands[2], 0, broadcast_a);
  const Lanes& b = read_lanes(wave, instruction.operands[3], 0, broadcast_b);
  WideLanes c;
  read_wide(wave, instruction.operands[4], c);
  u64 carries = 0;
  write_each(wave, instruction.operands[0], [&](std::size_t lane) {
    const Product product = Product{static_cast<Factor>(a[lane])} * Product{static_cast<Factor>(b[lane])};
    Product sum = 0;
    const bool overflow = __builtin_add_overflow(product, static_cast<Product>(c[lane]), &sum);
    const bool highest = std::is_signed_v<Factor> ? overflow != (static_cast<i64>(sum) < 0) : overflow;
    carries |= u64{highest} << lane;
    return static_cast<u64>(sum);
  });
  write_scalar(wave, instruction.operands[1], carries & wave.exec());
}

struct Carried {
  u32 value;
  bool carry;
};

/// D, carry out = F(a, b, carry in). Operands: D, carry out, a, b and, with `TakesCarry`, carry in. Lanes that EXEC
/// does not name get a carry of 0. With clamp a result that carries is `End` of the range.
template <auto F, bool TakesCarry, u32 End>
void carried(Wave& wave, const Instruction& instruction) {
  Lanes broadcast_a;
  Lanes broadcast_b;
  const Lanes& a = read_lanes(wave, instruction.operands[2], 0, broadcast_a);
  const Lanes& b = read_lanes(wave, instruction.operands[3], 0, broadcast_b);
  const u64 carry_in = TakesCarry ? read_scalar<u64>(wave, instruction.operands[4]) : 0;
  u64 carry_out = 0;
  Lanes result;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    const Carried sum = F(a[lane], b[lane], static_cast<u32>(carry_in >> lane & 1U));
    result[lane] = instruction.clamp && sum.carry ? End : sum.value;
    carry_out |= u64{sum.carry} << lane;
  }
  write_lanes(wave, instruction.operands[0], 0, result);
  write_scalar(wave, instruction.operands[1], carry_out & wave.exec());
}

constexpr auto kAdd = [](u32 a, u32 b, u32 carry) {
  const u64 sum = u64{a} + b + carry;
  return Carried{static_cast<u32>(sum), sum >> 32 != 0};
};
constexpr auto kSubtract = [](u32 a, u32 b, u32 borrow) { return Carried{a - b - borrow, u64{b} + borrow > u64{a}}; };
constexpr auto kSubtractReversed = [](u32 a, u32 b, u32 borrow) { return kSubtract(b, a, borrow); };

constexpr u32 kMost = ~0U;
constexpr std::array kRows = std::to_array<Row>({
    {"v_mov_b64", move_wide},
    {"v_lshlrev_b64", shift<[](u64 a, u32 count) { return a << count; }>},
    {"v_lshrrev_b64", shift<[](u64 a, u32 count) { return (a >> count); }>},
    {"v_ashrrev_i64", shift<[](u64 a, u32 count) { return (static_cast<u64>(static_cast<i64>(a) >> count)); }>},
    {"v_lshl_add_u64", shift_add},
    {"v_mad_u64_u32", multiply_add<u32>},
    {"v_mad_i64_i32", multiply_add<std::int32_t>},
    {"v_add_co_u32", carried<kAdd, false, kMost>, modifier::kOutput},
    {"v_sub_co_u32", carried<kSubtract, false, 0>, modifier::kOutput},
    {"v_subrev_co_u32", carried<kSubtractReversed, false, 0>, modifier::kOutput},
    {"v_addc_co_u32", carried<kAdd, true, kMost>, modifier::kOutput},
    {"v_subb_co_u32", carried<kSubtract, true, 0>, modifier::kOutput},
    {"v_subbrev_co_u32", carried<kSubtractReversed, true, 0>, modifier::kOutput},
});

}  // namespace

Table vector_wide_table() {
  return kRows;
}

}  // namespace octet::sim
