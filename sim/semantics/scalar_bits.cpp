// Scalar instructions on bits: counts, searches, fields, quads of lanes, EXEC that is saved or written. AMD CDNA4 ISA,
// 5 "Scalar ALU Operations"; 12.1 SOP2, 12.3 SOP1, 12.4 SOPC.
#include <array>
#include <bit>
#include <cstdint>
#include <type_traits>

#include "sim/semantics/lanes.h"
#include "sim/semantics/scalar_forms.h"
#include "sim/semantics/table.h"

namespace octet::sim {
namespace {

/// EXEC = F(source, EXEC), SCC = EXEC is not 0; D = EXEC as it becomes.
template <auto F>
void write_exec(Wave& wave, const Instruction& instruction) {
  const u64 result = F(read_scalar<u64>(wave, instruction.operands[1]), wave.exec());
  write_scalar(wave, instruction.operands[0], result);
  wave.set_pair(kExecLo, result);
  wave.scc = result != 0;
}

template <bool Wanted>
void test_bit(Wave& wave, const Instruction& instruction) {
  const u32 bit = read_scalar<u32>(wave, instruction.operands[1]) & 63U;
  wave.scc = ((read_scalar<u64>(wave, instruction.operands[0]) >> bit & 1U) != 0) == Wanted;
}

template <u64 Value>
void set_bit(Wave& wave, const Instruction& instruction) {
  const u32 bit = read_scalar<u32>(wave, instruction.operands[1]) & 63U;
  const u64 kept = read_scalar<u64>(wave, instruction.operands[0]) & ~(u64{1} << bit);
  write_scalar(wave, instruction.operands[0], kept | Value << bit);
}

/// D = as many ones as the first source says, at the place that the second one says.
void make_mask(Wave& wave, const Instruction& instruction) {
  const u32 width = read_scalar<u32>(wave, instruction.operands[1]) & 63U;
  const u32 offset = read_scalar<u32>(wave, instruction.operands[2]) & 63U;
  write_scalar(wave, instruction.operands[0], ((u64{1} << width) - 1U) << offset);
}

void move_wide_if(Wave& wave, const Instruction& instruction) {
  if (wave.scc) write_scalar(wave, instruction.operands[0], read_scalar<u64>(wave, instruction.operands[1]));
}

/// The literal of 16 bits is sign-extended.
void move_short_if(Wave& wave, const Instruction& instruction) {
  const auto literal = static_cast<i16>(instruction.operands[1].literal);
  if (wave.scc) write_scalar(wave, instruction.operands[0], i32{literal});
}

/// D = |a - b|, modulo 2^32; SCC = D is not 0.
void absolute_difference(Wave& wave, const Instruction& instruction) {
  const u32 difference =
      read_scalar<u32>(wave, instruction.operands[1]) - read_scalar<u32>(wave, instruction.operands[2]);
  const u32 result = static_cast<i32>(difference) < 0 ? 0U - difference : difference;
  write_scalar(wave, instruction.operands[0], result);
  wave.scc = result != 0;
}

constexpr auto kZeros = [](auto a) { return static_cast<u32>(std::popcount(static_cast<decltype(a)>(~a))); };
constexpr auto kFirstZero = [](auto a) {
  const auto zeros = static_cast<decltype(a)>(~a);
  return zeros == 0 ? ~0U : static_cast<u32>(std::countr_zero(zeros));
};
/// Bits from the highest on that equal the sign; all bits set where all do.
constexpr auto kLeadingSignBits = [](auto a) {
  using Signed = std::make_signed_t<decltype(a)>;
  const auto changes =
      static_cast<decltype(a)>(a ^ static_cast<decltype(a)>(static_cast<Signed>(a) >> (8 * sizeof(a) - 1)));
  return changes == 0 ? ~0U : static_cast<u32>(std::countl_zero(changes));
};
constexpr auto kReverse = [](u64 a) {
  u64 reversed = 0;
  for (int bit = 0; bit < 64; ++bit) reversed |= (a >> bit & 1U) << (63 - bit);
  return reversed;
};
/// Each bit twice.
constexpr auto kReplicate = [](u32 a) {
  u64 doubled = 0;
  for (int bit = 0; bit < 32; ++bit) doubled |= u64{a >> bit & 1U} * 3U << (2 * bit);
  return doubled;
};
/// A bit for each four: whether any of them is set.
constexpr auto kQuadMask = [](auto a) {
  decltype(a) mask = 0;
  for (std::size_t quad = 0; quad < 2 * sizeof(a); ++quad) {
    if ((a >> (4 * quad) & 15U) != 0) mask |= decltype(a){1} << quad;
  }
  return mask;
};
/// All four where any of them is set.
constexpr auto kWholeQuads = [](auto a) {
  decltype(a) mask = 0;
  for (std::size_t quad = 0; quad < 2 * sizeof(a); ++quad) {
    if ((a >> (4 * quad) & 15U) != 0) mask |= decltype(a){15} << (4 * quad);
  }
  return mask;
};
constexpr auto kNotAnd = [](u64 a, u64 exec) { return ~(a & exec); };
constexpr auto kNotOr = [](u64 a, u64 exec) { return ~(a | exec); };
constexpr auto kNotXor = [](u64 a, u64 exec) { return ~(a ^ exec); };
constexpr auto kOrNot1 = [](u64 a, u64 exec) { return ~a | exec; };
constexpr auto kAndNot1 = [](u64 a, u64 exec) { return ~a & exec; };
constexpr auto kAndNot2 = [](u64 a, u64 exec) { return a & ~exec; };

constexpr std::array kRows = std::to_array<Row>({
    {"s_bcnt0_i32_b32", unary_test<u32, kZeros>},
    {"s_bcnt0_i32_b64", unary_test<u64, kZeros>},
    {"s_ff0_i32_b32", unary<u32, kFirstZero>},
    {"s_ff0_i32_b64", unary<u64, kFirstZero>},
    {"s_flbit_i32", unary<u32, kLeadingSignBits>},
    {"s_flbit_i32_i64", unary<u64, kLeadingSignBits>},
    {"s_brev_b64", unary<u64, kReverse>},
    {"s_bitreplicate_b64_b32", unary<u32, kReplicate>},
    {"s_quadmask_b32", unary_test<u32, kQuadMask>},
    {"s_quadmask_b64", unary_test<u64, kQuadMask>},
    {"s_wqm_b32", unary_test<u32, kWholeQuads>},
    {"s_wqm_b64", unary_test<u64, kWholeQuads>},
    {"s_bfm_b64", make_mask},
    {"s_bitset0_b64", set_bit<0>},
    {"s_bitset1_b64", set_bit<1>},
    {"s_bitcmp0_b64", test_bit<false>},
    {"s_bitcmp1_b64", test_bit<true>},
    {"s_cmov_b64", move_wide_if},
    {"s_cmovk_i32", move_short_if},
    {"s_absdiff_i32", absolute_difference},

    {"s_nand_saveexec_b64", save_exec<kNotAnd>},
    {"s_nor_saveexec_b64", save_exec<kNotOr>},
    {"s_xnor_saveexec_b64", save_exec<kNotXor>},
    {"s_orn1_saveexec_b64", save_exec<kOrNot1>},
    {"s_andn1_wrexec_b64", write_exec<kAndNot1>},
    {"s_andn2_wrexec_b64", write_exec<kAndNot2>},
});

}  // namespace

Table scalar_bits_table() {
  return kRows;
}

}  // namespace octet::sim
