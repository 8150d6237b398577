// Vector arithmetic on the bytes of registers: permutes, averages, sums of absolute differences, shifts with
// saturation. AMD CDNA4 ISA, 12.8 VOP1, 12.11 VOP3.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "sim/semantics/half_lanes.h"
#include "sim/semantics/saturation.h"
#include "sim/semantics/table.h"

namespace octet::sim {
namespace {

constexpr u32 byte_of(u64 bytes, u32 index) {
  return static_cast<u32>(bytes >> (8 * index)) & 0xFFU;
}

/// Byte `selector` of eight: 0 to 7 a byte of {a, b} with b low, 8 to 11 the sign of a word, 12 zeros, beyond ones.
constexpr u32 selected_byte(u64 bytes, u32 selector) {
  if (selector < 8) return byte_of(bytes, selector);
  if (selector < 12) return (bytes >> (16 * (selector - 8) + 15) & 1U) != 0 ? 0xFFU : 0;
  return selector == 12 ? 0 : 0xFFU;
}

constexpr u32 permuted(u32 a, u32 b, u32 selectors) {
  const u64 bytes = u64{a} << 32 | b;
  u32 result = 0;
  for (u32 k = 0; k < 4; ++k) result |= selected_byte(bytes, byte_of(selectors, k)) << (8 * k);
  return result;
}

/// Averages of bytes, rounded up where the lowest bit of c's byte is set.
constexpr u32 averaged(u32 a, u32 b, u32 c) {
  u32 result = 0;
  for (u32 k = 0; k < 4; ++k) result |= ((byte_of(a, k) + byte_of(b, k) + (byte_of(c, k) & 1U)) >> 1) << (8 * k);
  return result;
}

constexpr u32 distance(u32 a, u32 b) {
  return a < b ? b - a : a - b;
}

enum class Masked : bool { no, yes };

/// Sum of the absolute differences of four unsigned bytes, without those where b's is zero if it is masked.
template <Masked IsMasked>
constexpr u32 sum_of_differences(u32 a, u32 b) {
  u32 sum = 0;
  for (u32 k = 0; k < 4; ++k) {
    const bool counts = IsMasked == Masked::no || byte_of(b, k) != 0;
    sum += counts ? distance(byte_of(a, k), byte_of(b, k)) : 0;
  }
  return sum;
}

constexpr u32 sum_of_word_differences(u32 a, u32 b, u32 c) {
  return distance(a & 0xFFFFU, b & 0xFFFFU) + distance(a >> 16, b >> 16) + c;
}

/// Four sums, of the bytes of b and of those of the eight of a that begin at byte 0, 1, 2, 3; each with a part of c.
template <Masked IsMasked>
std::array<u32, 4> sliding_sums(u64 a, u32 b) {
  std::array<u32, 4> sums{};
  for (u32 k = 0; k < 4; ++k) sums[k] = sum_of_differences<IsMasked>(static_cast<u32>(a >> (8 * k)), b);
  return sums;
}

/// Sums of 16 bits.
template <Masked IsMasked>
void slide_packed(Wave& wave, const Instruction& instruction) {
  WideLanes a;
  WideLanes c;
  Lanes broadcast;
  read_wide(wave, instruction.operands[1], a);
  const Lanes& b = read_lanes(wave, instruction.operands[2], 0, broadcast);
  read_wide(wave, instruction.operands[3], c);
  WideLanes result;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    const std::array<u32, 4> sums = sliding_sums<IsMasked>(a[lane], b[lane]);
    result[lane] = 0;
    for (u32 k = 0; k < 4; ++k) {
      const i64 sum = static_cast<u16>(c[lane] >> (16 * k)) + i64{sums[k]};
      result[lane] |= u64{fitted<u16>(sum, instruction.clamp)} << (16 * k);
    }
  }
  write_wide(wave, instruction.operands[0], result);
}

/// Sums of 32 bits.
void slide_masked(Wave& wave, const Instruction& instruction) {
  WideLanes a;
  Lanes broadcast;
  read_wide(wave, instruction.operands[1], a);
  const Lanes b = read_lanes(wave, instruction.operands[2], 0, broadcast);
  std::array<Lanes, 4> results;
  for (std::size_t k = 0; k < 4; ++k) {
    const Lanes& c = read_lanes(wave, instruction.operands[3], k, broadcast);
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const i64 sum = i64{c[lane]} + sliding_sums<Masked::yes>(a[lane], b[lane])[k];
      results[k][lane] = fitted<u32>(sum, instruction.clamp);
    }
  }
  for (std::size_t k = 0; k < 4; ++k) write_lanes(wave, instruction.operands[0], k, results[k]);
}

/// Two integers of 32 bits shifted right by the third source, then the nearest that there are in a byte; a below.
template <typename T>
void shift_and_pack(Wave& wave, const Instruction& instruction) {
  std::array<Lanes, 3> buffers;
  const Lanes& a = read_lanes(wave, instruction.operands[1], 0, buffers[0]);
  const Lanes& b = read_lanes(wave, instruction.operands[2], 0, buffers[1]);
  const Lanes& count = read_lanes(wave, instruction.operands[3], 0, buffers[2]);
  Lanes result;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    const u32 by = count[lane] & 31U;
    result[lane] = fitted<T>(static_cast<i32>(a[lane]) >> by, true) | fitted<T>(static_cast<i32>(b[lane]) >> by, true)
                                                                          << 8;
  }
  write_words<OtherHalf::kept>(wave, instruction, result);
}

/// A float into a byte of what the third source has, or D: the second source says which byte. Rounded to nearest even,
/// which no document says, but has been measured on a successor (gfx12); 0 for NaN.
void encode_byte(Wave& wave, const Instruction& instruction, const Operand& others) {
  std::array<Lanes, 3> buffers;
  const Lanes& a = read_floats(wave, instruction.operands[1], buffers[0]);
  const Lanes& place = read_lanes(wave, instruction.operands[2], 0, buffers[1]);
  const Lanes& before = read_lanes(wave, others, 0, buffers[2]);
  Lanes result;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    const u32 shift = 8 * (place[lane] & 3U);
    const u32 byte = saturated<u8>(std::nearbyint(as_float(a[lane])));
    result[lane] = (before[lane] & ~(0xFFU << shift)) | byte << shift;
  }
  write_lanes(wave, instruction.operands[0], 0, result);
}
void encode_into_source(Wave& wave, const Instruction& instruction) {
  encode_byte(wave, instruction, instruction.operands[3]);
}
void encode_into_destination(Wave& wave, const Instruction& instruction) {
  encode_byte(wave, instruction, instruction.operands[0]);
}

/// Two signed words into unsigned bytes, the nearest that there are.
constexpr u32 saturated_bytes(u32 a) {
  return fitted<u8>(static_cast<i16>(a), true) | fitted<u8>(static_cast<i16>(a >> 16), true) << 8;
}

constexpr auto kSum = sum_of_differences<Masked::no>;
constexpr auto kMaskedSum = sum_of_differences<Masked::yes>;
constexpr u32 kShiftAccepts = modifier::kHalves;
constexpr std::array kRows = std::to_array<Row>({
    {"v_perm_b32", lanes3<permuted>},
    {"v_lerp_u8", lanes3<averaged>},
    {"v_sad_u8", lanes3<[](u32 a, u32 b, u32 c) { return kSum(a, b) + c; }>},
    {"v_sad_hi_u8", lanes3<[](u32 a, u32 b, u32 c) { return (kSum(a, b) << 16) + c; }>},
    {"v_msad_u8", lanes3<[](u32 a, u32 b, u32 c) { return kMaskedSum(a, b) + c; }>},
    {"v_sad_u16", lanes3<sum_of_word_differences>},
    {"v_qsad_pk_u16_u8", slide_packed<Masked::no>, modifier::kOutput},
    {"v_mqsad_pk_u16_u8", slide_packed<Masked::yes>, modifier::kOutput},
    {"v_mqsad_u32_u8", slide_masked, modifier::kOutput},
    {"v_cvt_pk_u8_f32", encode_into_source, modifier::kSign},
    {"v_cvt_pkaccum_u8_f32", encode_into_destination, modifier::kSign},
    {"v_sat_pk_u8_i16", lanes1<saturated_bytes>},
    {"v_ashr_pk_i8_i32", shift_and_pack<i8>, kShiftAccepts, Generation::cdna4},
    {"v_ashr_pk_u8_i32", shift_and_pack<u8>, kShiftAccepts, Generation::cdna4},
});

}  // namespace

Table vector_bytes_table() {
  return kRows;
}

}  // namespace octet::sim
