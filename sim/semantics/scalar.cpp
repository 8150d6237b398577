// Scalar arithmetic. AMD CDNA4 ISA, 5 "Scalar ALU Operations"; 12.1 SOP2, 12.2 SOPK, 12.3 SOP1, 12.4 SOPC.
#include <array>
#include <bit>
#include <cstdint>

#include "sim/semantics/lanes.h"
#include "sim/semantics/scalar_forms.h"
#include "sim/semantics/table.h"

namespace octet::sim {
namespace {

/// A result together with what SCC becomes.
template <typename T>
struct WithScc {
  T value;
  bool scc;
};

/// D = F(a, b); SCC stays.
template <typename T, auto F>
void binary(Wave& wave, const Instruction& instruction) {
  write_scalar(wave, instruction.operands[0],
               F(read_scalar<T>(wave, instruction.operands[1]), read_scalar<T>(wave, instruction.operands[2])));
}

/// D = F(a, b); SCC = D is not 0. `B` is the second operand's type, which is 32 bits wide for counts of shifts.
template <typename T, auto F, typename B = T>
void binary_test(Wave& wave, const Instruction& instruction) {
  const auto result = F(read_scalar<T>(wave, instruction.operands[1]), read_scalar<B>(wave, instruction.operands[2]));
  write_scalar(wave, instruction.operands[0], result);
  wave.scc = result != 0;
}

/// {D, SCC} = F(a, b, SCC).
template <typename T, auto F>
void binary_scc(Wave& wave, const Instruction& instruction) {
  const WithScc<T> result =
      F(read_scalar<T>(wave, instruction.operands[1]), read_scalar<T>(wave, instruction.operands[2]), wave.scc);
  write_scalar(wave, instruction.operands[0], result.value);
  wave.scc = result.scc;
}

/// SCC = F(a, b).
template <typename T, auto F>
void compare(Wave& wave, const Instruction& instruction) {
  wave.scc = F(read_scalar<T>(wave, instruction.operands[0]), read_scalar<T>(wave, instruction.operands[1]));
}

/// The 16-bit literal of SOPK, sign-extended.
i32 short_literal(const Operand& operand) {
  return static_cast<std::int16_t>(operand.literal);
}

constexpr auto kIdentity = [](auto a) { return a; };
constexpr auto kAnd = [](auto a, auto b) { return a & b; };
constexpr auto kOr = [](auto a, auto b) { return a | b; };
constexpr auto kXor = [](auto a, auto b) { return a ^ b; };
constexpr auto kAndNot2 = [](auto a, auto b) { return a & ~b; };
constexpr auto kOrNot2 = [](auto a, auto b) { return a | ~b; };
constexpr auto kNotAnd = [](auto a, auto b) { return ~(a & b); };
constexpr auto kNotOr = [](auto a, auto b) { return ~(a | b); };
constexpr auto kNotXor = [](auto a, auto b) { return ~(a ^ b); };
constexpr auto kAndNot1 = [](auto a, auto b) { return ~a & b; };
constexpr auto kNot = [](auto a) { return ~a; };
constexpr auto kEqual = [](auto a, auto b) { return a == b; };
constexpr auto kUnequal = [](auto a, auto b) { return a != b; };
constexpr auto kGreater = [](auto a, auto b) { return a > b; };
constexpr auto kGreaterEqual = [](auto a, auto b) { return a >= b; };
constexpr auto kLess = [](auto a, auto b) { return a < b; };
constexpr auto kLessEqual = [](auto a, auto b) { return a <= b; };
constexpr auto kMin = [](auto a, auto b, bool) { return WithScc<decltype(a)>{a < b ? a : b, a < b}; };
constexpr auto kMax = [](auto a, auto b, bool) { return WithScc<decltype(a)>{a >= b ? a : b, a >= b}; };
constexpr auto kFirstSet = [](auto a) { return a == 0 ? ~0U : static_cast<u32>(std::countr_zero(a)); };
constexpr auto kLeadingZeros = [](auto a) { return a == 0 ? ~0U : static_cast<u32>(std::countl_zero(a)); };
constexpr auto kCount = [](auto a) { return static_cast<u32>(std::popcount(a)); };

constexpr auto kAdd = [](u32 a, u32 b, bool) { return WithScc<u32>{a + b, a + b < a}; };
constexpr auto kAddCarry = [](u32 a, u32 b, bool carry) {
  const u64 sum = u64{a} + b + (carry ? 1U : 0U);
  return WithScc<u32>{static_cast<u32>(sum), sum >> 32 != 0};
};
constexpr auto kSubtract = [](u32 a, u32 b, bool) { return WithScc<u32>{a - b, b > a}; };
constexpr auto kSubtractBorrow = [](u32 a, u32 b, bool borrow) {
  const u64 taken = u64{b} + (borrow ? 1U : 0U);
  return WithScc<u32>{static_cast<u32>(a - taken), taken > a};
};
/// Signed sums: SCC is the overflow.
constexpr auto kAddSigned = [](i32 a, i32 b, bool) {
  i32 sum = 0;
  const bool overflow = __builtin_add_overflow(a, b, &sum);
  return WithScc<i32>{sum, overflow};
};
constexpr auto kSubtractSigned = [](i32 a, i32 b, bool) {
  i32 difference = 0;
  const bool overflow = __builtin_sub_overflow(a, b, &difference);
  return WithScc<i32>{difference, overflow};
};
template <int Shift>
constexpr auto kShiftAdd = [](u32 a, u32 b, bool) {
  const u64 sum = (u64{a} << Shift) + b;
  return WithScc<u32>{static_cast<u32>(sum), sum >> 32 != 0};
};

constexpr auto kShiftLeft = [](auto a, u32 b) { return a << (b & (8 * sizeof(a) - 1)); };
constexpr auto kShiftRight = [](auto a, u32 b) { return a >> (b & (8 * sizeof(a) - 1)); };
constexpr auto kMask = [](u32 a, u32 b) { return ((1U << (a & 31U)) - 1U) << (b & 31U); };
constexpr auto kPackLowLow = [](u32 a, u32 b) { return (a & 0xFFFFU) | b << 16; };
constexpr auto kPackLowHigh = [](u32 a, u32 b) { return (a & 0xFFFFU) | (b & 0xFFFF'0000U); };
constexpr auto kPackHighHigh = [](u32 a, u32 b) { return a >> 16 | (b & 0xFFFF'0000U); };
constexpr auto kMultiply = [](u32 a, u32 b) { return a * b; };
constexpr auto kMultiplyHigh = [](u32 a, u32 b) { return static_cast<u32>(u64{a} * b >> 32); };
constexpr auto kMultiplyHighSigned = [](i32 a, i32 b) { return static_cast<i32>(i64{a} * b >> 32); };
constexpr auto kReverse = [](u32 a) {
  u32 reversed = 0;
  for (int bit = 0; bit < 32; ++bit) reversed |= (a >> bit & 1U) << (31 - bit);
  return reversed;
};

/// Bit fields: b holds the offset in its low bits and the width from bit 16 on.
template <typename T>
constexpr auto kExtract = [](T a, u32 b) {
  constexpr u32 kBits = 8 * sizeof(T);
  const u32 width = b >> 16 & 127U;
  const T shifted = static_cast<T>(a >> (b & (kBits - 1)));
  if (width == 0) return T{0};
  if (width >= kBits) return shifted;
  using Unsigned = std::make_unsigned_t<T>;
  return static_cast<T>(static_cast<T>(static_cast<Unsigned>(shifted) << (kBits - width)) >> (kBits - width));
};

template <typename T>
void select(Wave& wave, const Instruction& instruction) {
  write_scalar(wave, instruction.operands[0], read_scalar<T>(wave, instruction.operands[wave.scc ? 1 : 2]));
}

void conditional_move(Wave& wave, const Instruction& instruction) {
  if (wave.scc) write_scalar(wave, instruction.operands[0], read_scalar<u32>(wave, instruction.operands[1]));
}

void move_short(Wave& wave, const Instruction& instruction) {
  write_scalar(wave, instruction.operands[0], short_literal(instruction.operands[1]));
}

void add_short(Wave& wave, const Instruction& instruction) {
  const auto sum =
      kAddSigned(read_scalar<i32>(wave, instruction.operands[0]), short_literal(instruction.operands[1]), false);
  write_scalar(wave, instruction.operands[0], sum.value);
  wave.scc = sum.scc;
}

void multiply_short(Wave& wave, const Instruction& instruction) {
  const u32 product =
      read_scalar<u32>(wave, instruction.operands[0]) * static_cast<u32>(short_literal(instruction.operands[1]));
  write_scalar(wave, instruction.operands[0], product);
}

/// The literal of a signed comparison is sign-extended, that of an unsigned one is not.
template <typename T, auto F>
void compare_short(Wave& wave, const Instruction& instruction) {
  const i32 extended = short_literal(instruction.operands[1]);
  const auto literal = std::is_signed_v<T> ? static_cast<T>(extended) : static_cast<T>(extended & 0xFFFF);
  wave.scc = F(read_scalar<T>(wave, instruction.operands[0]), literal);
}

template <bool Wanted>
void test_bit(Wave& wave, const Instruction& instruction) {
  const u32 bit = read_scalar<u32>(wave, instruction.operands[1]) & 31U;
  wave.scc = ((read_scalar<u32>(wave, instruction.operands[0]) >> bit & 1U) != 0) == Wanted;
}

template <u32 Value>
void set_bit(Wave& wave, const Instruction& instruction) {
  const u32 bit = read_scalar<u32>(wave, instruction.operands[1]) & 31U;
  const u32 kept = read_scalar<u32>(wave, instruction.operands[0]) & ~(1U << bit);
  write_scalar(wave, instruction.operands[0], kept | Value << bit);
}

constexpr std::array kRows = std::to_array<Row>({
    {"s_mov_b32", unary<u32, kIdentity>},
    {"s_mov_b64", unary<u64, kIdentity>},
    {"s_movk_i32", move_short},
    {"s_cmov_b32", conditional_move},
    {"s_cselect_b32", select<u32>},
    {"s_cselect_b64", select<u64>},

    {"s_add_u32", binary_scc<u32, kAdd>},
    {"s_addc_u32", binary_scc<u32, kAddCarry>},
    {"s_sub_u32", binary_scc<u32, kSubtract>},
    {"s_subb_u32", binary_scc<u32, kSubtractBorrow>},
    {"s_add_i32", binary_scc<i32, kAddSigned>},
    {"s_sub_i32", binary_scc<i32, kSubtractSigned>},
    {"s_addk_i32", add_short},
    {"s_mulk_i32", multiply_short},
    {"s_mul_i32", binary<u32, kMultiply>},
    {"s_mul_hi_u32", binary<u32, kMultiplyHigh>},
    {"s_mul_hi_i32", binary<i32, kMultiplyHighSigned>},
    {"s_lshl1_add_u32", binary_scc<u32, kShiftAdd<1>>},
    {"s_lshl2_add_u32", binary_scc<u32, kShiftAdd<2>>},
    {"s_lshl3_add_u32", binary_scc<u32, kShiftAdd<3>>},
    {"s_lshl4_add_u32", binary_scc<u32, kShiftAdd<4>>},
    {"s_min_u32", binary_scc<u32, kMin>},
    {"s_max_u32", binary_scc<u32, kMax>},
    {"s_min_i32", binary_scc<i32, kMin>},
    {"s_max_i32", binary_scc<i32, kMax>},
    {"s_abs_i32", unary_test<u32, [](u32 a) { return (a >> 31 != 0 ? 0U - a : a); }>},
    {"s_sext_i32_i8", unary<u32, [](u32 a) { return i32{static_cast<std::int8_t>(a)}; }>},
    {"s_sext_i32_i16", unary<u32, [](u32 a) { return i32{static_cast<std::int16_t>(a)}; }>},

    {"s_and_b32", binary_test<u32, kAnd>},
    {"s_and_b64", binary_test<u64, kAnd>},
    {"s_or_b32", binary_test<u32, kOr>},
    {"s_or_b64", binary_test<u64, kOr>},
    {"s_xor_b32", binary_test<u32, kXor>},
    {"s_xor_b64", binary_test<u64, kXor>},
    {"s_andn2_b32", binary_test<u32, kAndNot2>},
    {"s_andn2_b64", binary_test<u64, kAndNot2>},
    {"s_orn2_b32", binary_test<u32, kOrNot2>},
    {"s_orn2_b64", binary_test<u64, kOrNot2>},
    {"s_nand_b32", binary_test<u32, kNotAnd>},
    {"s_nand_b64", binary_test<u64, kNotAnd>},
    {"s_nor_b32", binary_test<u32, kNotOr>},
    {"s_nor_b64", binary_test<u64, kNotOr>},
    {"s_xnor_b32", binary_test<u32, kNotXor>},
    {"s_xnor_b64", binary_test<u64, kNotXor>},
    {"s_not_b32", unary_test<u32, kNot>},
    {"s_not_b64", unary_test<u64, kNot>},
    {"s_lshl_b32", binary_test<u32, kShiftLeft>},
    {"s_lshl_b64", binary_test<u64, kShiftLeft, u32>},
    {"s_lshr_b32", binary_test<u32, kShiftRight>},
    {"s_lshr_b64", binary_test<u64, kShiftRight, u32>},
    {"s_ashr_i32", binary_test<i32, kShiftRight>},
    {"s_ashr_i64", binary_test<i64, kShiftRight, u32>},
    {"s_bfe_u32", binary_test<u32, kExtract<u32>>},
    {"s_bfe_i32", binary_test<i32, kExtract<i32>, u32>},
    {"s_bfe_u64", binary_test<u64, kExtract<u64>, u32>},
    {"s_bfe_i64", binary_test<i64, kExtract<i64>, u32>},
    {"s_bfm_b32", binary<u32, kMask>},
    {"s_pack_ll_b32_b16", binary<u32, kPackLowLow>},
    {"s_pack_lh_b32_b16", binary<u32, kPackLowHigh>},
    {"s_pack_hh_b32_b16", binary<u32, kPackHighHigh>},
    {"s_brev_b32", unary<u32, kReverse>},
    {"s_ff1_i32_b32", unary<u32, kFirstSet>},
    {"s_ff1_i32_b64", unary<u64, kFirstSet>},
    {"s_flbit_i32_b32", unary<u32, kLeadingZeros>},
    {"s_flbit_i32_b64", unary<u64, kLeadingZeros>},
    {"s_bcnt1_i32_b32", unary_test<u32, kCount>},
    {"s_bcnt1_i32_b64", unary_test<u64, kCount>},
    {"s_bitset0_b32", set_bit<0>},
    {"s_bitset1_b32", set_bit<1>},

    {"s_and_saveexec_b64", save_exec<kAnd>},
    {"s_or_saveexec_b64", save_exec<kOr>},
    {"s_xor_saveexec_b64", save_exec<kXor>},
    {"s_andn2_saveexec_b64", save_exec<kAndNot2>},
    {"s_orn2_saveexec_b64", save_exec<kOrNot2>},
    {"s_andn1_saveexec_b64", save_exec<kAndNot1>},

    {"s_cmp_eq_i32", compare<i32, kEqual>},
    {"s_cmp_lg_i32", compare<i32, kUnequal>},
    {"s_cmp_gt_i32", compare<i32, kGreater>},
    {"s_cmp_ge_i32", compare<i32, kGreaterEqual>},
    {"s_cmp_lt_i32", compare<i32, kLess>},
    {"s_cmp_le_i32", compare<i32, kLessEqual>},
    {"s_cmp_eq_u32", compare<u32, kEqual>},
    {"s_cmp_lg_u32", compare<u32, kUnequal>},
    {"s_cmp_gt_u32", compare<u32, kGreater>},
    {"s_cmp_ge_u32", compare<u32, kGreaterEqual>},
    {"s_cmp_lt_u32", compare<u32, kLess>},
    {"s_cmp_le_u32", compare<u32, kLessEqual>},
    {"s_cmp_eq_u64", compare<u64, kEqual>},
    {"s_cmp_lg_u64", compare<u64, kUnequal>},
    {"s_cmpk_eq_i32", compare_short<i32, kEqual>},
    {"s_cmpk_lg_i32", compare_short<i32, kUnequal>},
    {"s_cmpk_gt_i32", compare_short<i32, kGreater>},
    {"s_cmpk_ge_i32", compare_short<i32, kGreaterEqual>},
    {"s_cmpk_lt_i32", compare_short<i32, kLess>},
    {"s_cmpk_le_i32", compare_short<i32, kLessEqual>},
    {"s_cmpk_eq_u32", compare_short<u32, kEqual>},
    {"s_cmpk_lg_u32", compare_short<u32, kUnequal>},
    {"s_cmpk_gt_u32", compare_short<u32, kGreater>},
    {"s_cmpk_ge_u32", compare_short<u32, kGreaterEqual>},
    {"s_cmpk_lt_u32", compare_short<u32, kLess>},
    {"s_cmpk_le_u32", compare_short<u32, kLessEqual>},
    {"s_bitcmp0_b32", test_bit<false>},
    {"s_bitcmp1_b32", test_bit<true>},
});

}  // namespace

Table scalar_table() {
  return kRows;
}

}  // namespace octet::sim
