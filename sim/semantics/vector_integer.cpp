// Vector arithmetic on integers of 32 bits. AMD CDNA4 ISA, 6 "Vector ALU Operations"; 12.7 VOP2, 12.8 VOP1, 12.11 VOP3.
#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "sim/semantics/lanes.h"
#include "sim/semantics/saturation.h"
#include "sim/semantics/table.h"

namespace octet::sim {
namespace {

constexpr i32 as_signed(u32 a) {
  return static_cast<i32>(a);
}
constexpr u32 low24(u32 a) {
  return a & 0xFF'FFFFU;
}
constexpr u32 signed24(u32 a) {
  return static_cast<u32>(as_signed(a << 8) >> 8);
}

constexpr u32 reversed(u32 a) {
  a = (a >> 1 & 0x5555'5555U) | (a & 0x5555'5555U) << 1;
  a = (a >> 2 & 0x3333'3333U) | (a & 0x3333'3333U) << 2;
  a = (a >> 4 & 0x0F0F'0F0FU) | (a & 0x0F0F'0F0FU) << 4;
  return __builtin_bswap32(a);
}

/// Bits from the highest on that equal the sign; all bits set where all do.
constexpr u32 leading_sign_bits(u32 a) {
  const u32 changes = a ^ static_cast<u32>(as_signed(a) >> 31);
  return changes == 0 ? ~0U : static_cast<u32>(std::countl_zero(changes));
}

constexpr u32 field(u32 a, u32 offset, u32 width) {
  return (a >> (offset & 31U)) & ((1U << (width & 31U)) - 1U);
}

/// A field that reaches beyond the sign is filled with it.
constexpr u32 signed_field(u32 a, u32 offset, u32 width) {
  const u32 unused = (32U - (width & 31U)) & 31U;
  const auto shifted = static_cast<u32>(as_signed(a) >> (offset & 31U));
  return (width & 31U) == 0 ? 0U : static_cast<u32>(as_signed(shifted << unused) >> unused);
}

constexpr u32 aligned(u32 high, u32 low, u32 bits) {
  return static_cast<u32>((u64{high} << 32 | low) >> bits);
}

template <typename T>
constexpr u32 median(u32 a, u32 b, u32 c) {
  const auto x = static_cast<T>(a);
  const auto y = static_cast<T>(b);
  return static_cast<u32>(std::max(std::min(x, y), std::min(std::max(x, y), static_cast<T>(c))));
}

/// Bit k of the table is the result where the bits of a, b and c spell k, a being the highest.
u32 bitwise(u32 table, u32 a, u32 b, u32 c) {
  u32 result = 0;
  for (u32 k = 0; k < 8; ++k) {
    if ((table >> k & 1U) == 0) continue;
    result |= ((k & 4U) != 0 ? a : ~a) & ((k & 2U) != 0 ? b : ~b) & ((k & 1U) != 0 ? c : ~c);
  }
  return result;
}

template <u32 Mask>
void bitop3(Wave& wave, const Instruction& instruction) {
  Lanes buffers[3];
  const Lanes& a = read_lanes(wave, instruction.operands[1], 0, buffers[0]);
  const Lanes& b = read_lanes(wave, instruction.operands[2], 0, buffers[1]);
  const Lanes& c = read_lanes(wave, instruction.operands[3], 0, buffers[2]);
  Lanes result;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    result[lane] = bitwise(instruction.truth_table, a[lane], b[lane], c[lane]) & Mask;
  }
  write_lanes(wave, instruction.operands[0], 0, result);
}

/// Two sources with clamp, which is rare: without it arithmetic of 32 bits is right for either sign.
template <typename T, auto F>
void clampable2(Wave& wave, const Instruction& instruction) {
  if (instruction.clamp) {
    fitted2<T, F>(wave, instruction);
  } else {
    lanes2<F>(wave, instruction);
  }
}

/// D = a * b + c, of whose factors Factor takes 24 bits.
template <typename T, auto Factor>
void multiply_add(Wave& wave, const Instruction& instruction) {
  constexpr auto kFitted = [](u32 a, u32 b, u32 c) {
    const i64 product = i64{static_cast<T>(Factor(a))} * i64{static_cast<T>(Factor(b))};
    return fitted<T>(product + static_cast<T>(c), true);
  };
  if (instruction.clamp) {
    lanes3<kFitted>(wave, instruction);
  } else {
    lanes3<[](u32 a, u32 b, u32 c) { return Factor(a) * Factor(b) + c; }>(wave, instruction);
  }
}

constexpr auto kAdd = [](auto a, auto b) { return a + b; };
constexpr auto kSubtract = [](auto a, auto b) { return a - b; };
constexpr auto kSubtractReversed = [](auto a, auto b) { return b - a; };
constexpr auto kIdentity = [](u32 a) { return a; };

constexpr std::array kRows = std::to_array<Row>({
    {"v_mov_b32", lanes1<kIdentity>},
    {"v_accvgpr_read_b32", lanes1<kIdentity>},
    {"v_accvgpr_write_b32", lanes1<kIdentity>},
    {"v_accvgpr_mov_b32", lanes1<kIdentity>},
    {"v_not_b32", lanes1<[](u32 a) { return ~a; }>},
    {"v_bfrev_b32", lanes1<reversed>},
    {"v_ffbh_u32", lanes1<[](u32 a) { return (a == 0 ? ~0U : static_cast<u32>(std::countl_zero(a))); }>},
    {"v_ffbh_i32", lanes1<leading_sign_bits>},
    {"v_ffbl_b32", lanes1<[](u32 a) { return (a == 0 ? ~0U : static_cast<u32>(std::countr_zero(a))); }>},

    {"v_add_u32", clampable2<u32, kAdd>, modifier::kOutput},
    {"v_add_i32", clampable2<i32, kAdd>, modifier::kOutput},
    {"v_sub_u32", clampable2<u32, kSubtract>, modifier::kOutput},
    {"v_sub_i32", clampable2<i32, kSubtract>, modifier::kOutput},
    {"v_subrev_u32", clampable2<u32, kSubtractReversed>, modifier::kOutput},
    {"v_mul_lo_u32", lanes2<[](u32 a, u32 b) { return a * b; }>},
    {"v_mul_hi_u32", lanes2<[](u32 a, u32 b) { return static_cast<u32>(u64{a} * b >> 32); }>},
    {"v_mul_hi_i32", lanes2<[](u32 a, u32 b) { return static_cast<u32>(i64{as_signed(a)} * as_signed(b) >> 32); }>},
    {"v_mul_u32_u24", lanes2<[](u32 a, u32 b) { return low24(a) * low24(b); }>},
    {"v_mul_i32_i24", lanes2<[](u32 a, u32 b) { return signed24(a) * signed24(b); }>},
    {"v_mul_hi_u32_u24", lanes2<[](u32 a, u32 b) { return static_cast<u32>(u64{low24(a)} * low24(b) >> 32); }>},
    {"v_mul_hi_i32_i24",
     lanes2<[](u32 a, u32 b) { return static_cast<u32>(i64{as_signed(signed24(a))} * as_signed(signed24(b)) >> 32); }>},
    {"v_min_u32", lanes2<[](u32 a, u32 b) { return std::min(a, b); }>},
    {"v_max_u32", lanes2<[](u32 a, u32 b) { return std::max(a, b); }>},
    {"v_min_i32", lanes2<[](u32 a, u32 b) { return as_signed(a) < as_signed(b) ? a : b; }>},
    {"v_max_i32", lanes2<[](u32 a, u32 b) { return (as_signed(a) > as_signed(b) ? a : b); }>},
    {"v_and_b32", lanes2<[](u32 a, u32 b) { return a & b; }>},
    {"v_or_b32", lanes2<[](u32 a, u32 b) { return a | b; }>},
    {"v_xor_b32", lanes2<[](u32 a, u32 b) { return a ^ b; }>},
    {"v_xnor_b32", lanes2<[](u32 a, u32 b) { return ~(a ^ b); }>},
    {"v_lshlrev_b32", lanes2<[](u32 a, u32 b) { return b << (a & 31U); }>},
    {"v_lshrrev_b32", lanes2<[](u32 a, u32 b) { return (b >> (a & 31U)); }>},
    {"v_ashrrev_i32", lanes2<[](u32 a, u32 b) { return (static_cast<u32>(as_signed(b) >> (a & 31U))); }>},
    {"v_bfm_b32", lanes2<[](u32 a, u32 b) { return ((1U << (a & 31U)) - 1U) << (b & 31U); }>},
    {"v_bcnt_u32_b32", lanes2<[](u32 a, u32 b) { return (static_cast<u32>(std::popcount(a)) + b); }>},

    {"v_add3_u32", lanes3<[](u32 a, u32 b, u32 c) { return a + b + c; }>},
    {"v_xad_u32", lanes3<[](u32 a, u32 b, u32 c) { return (a ^ b) + c; }>},
    {"v_lshl_add_u32", lanes3<[](u32 a, u32 b, u32 c) { return (a << (b & 31U)) + c; }>},
    {"v_add_lshl_u32", lanes3<[](u32 a, u32 b, u32 c) { return (a + b) << (c & 31U); }>},
    {"v_mad_u32_u24", multiply_add<u32, low24>, modifier::kOutput},
    {"v_mad_i32_i24", multiply_add<i32, signed24>, modifier::kOutput},
    {"v_and_or_b32", lanes3<[](u32 a, u32 b, u32 c) { return (a & b) | c; }>},
    {"v_or3_b32", lanes3<[](u32 a, u32 b, u32 c) { return a | b | c; }>},
    {"v_lshl_or_b32", lanes3<[](u32 a, u32 b, u32 c) { return a << (b & 31U) | c; }>},
    {"v_bfe_u32", lanes3<field>},
    {"v_bfe_i32", lanes3<signed_field>},
    {"v_bfi_b32", lanes3<[](u32 a, u32 b, u32 c) { return (a & b) | (~a & c); }>},
    {"v_alignbit_b32", lanes3<[](u32 a, u32 b, u32 c) { return aligned(a, b, c & 31U); }>},
    {"v_alignbyte_b32", lanes3<[](u32 a, u32 b, u32 c) { return aligned(a, b, 8 * (c & 3U)); }>},
    {"v_sad_u32", lanes3<[](u32 a, u32 b, u32 c) { return (a < b ? b - a : a - b) + c; }>},
    {"v_max3_u32", lanes3<[](u32 a, u32 b, u32 c) { return std::max(a, std::max(b, c)); }>},
    {"v_min3_u32", lanes3<[](u32 a, u32 b, u32 c) { return std::min(a, std::min(b, c)); }>},
    {"v_max3_i32", lanes3<[](u32 a, u32 b, u32 c) {
       return static_cast<u32>(std::max(as_signed(a), std::max(as_signed(b), as_signed(c))));
     }>},
    {"v_min3_i32", lanes3<[](u32 a, u32 b, u32 c) {
       return static_cast<u32>(std::min(as_signed(a), std::min(as_signed(b), as_signed(c))));
     }>},
    {"v_med3_u32", lanes3<median<u32>>},
    {"v_med3_i32", lanes3<median<i32>>},
    {"v_bitop3_b32", bitop3<0xFFFF'FFFFU>, modifier::kTruthTable, Generation::cdna4},
    {"v_bitop3_b16", bitop3<0xFFFFU>, modifier::kTruthTable, Generation::cdna4},
});

}  // namespace

Table vector_integer_table() {
  return kRows;
}

}  // namespace octet::sim
