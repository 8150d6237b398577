// Vector arithmetic on integers of 16 bits. AMD CDNA4 ISA, 12.7 VOP2, 12.11 VOP3. Those with op_sel read and write
// either half of a register.
#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "sim/semantics/half_lanes.h"
#include "sim/semantics/saturation.h"
#include "sim/semantics/table.h"

namespace octet::sim {
namespace {

/// D = F(integers), by F's exact result.
template <typename T, auto F, OtherHalf Other, std::size_t... Source>
void shorts_of(Wave& wave, const Instruction& instruction, std::index_sequence<Source...> /*sources*/) {
  std::array<Lanes, sizeof...(Source)> buffers;
  const std::array<const Lanes*, sizeof...(Source)> sources{&read_words(wave, instruction, Source, buffers[Source])...};
  Lanes result;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    result[lane] = fitted<T>(F(i64{static_cast<T>((*sources[Source])[lane])}...), instruction.clamp);
  }
  write_words<Other>(wave, instruction, result);
}

template <typename T, auto F, OtherHalf Other = OtherHalf::zero>
void shorts2(Wave& wave, const Instruction& instruction) {
  shorts_of<T, F, Other>(wave, instruction, std::make_index_sequence<2>());
}
template <typename T, auto F, OtherHalf Other = OtherHalf::kept>
void shorts3(Wave& wave, const Instruction& instruction) {
  shorts_of<T, F, Other>(wave, instruction, std::make_index_sequence<3>());
}

/// D = a * b + c, of which c and D have 32 bits.
template <typename Wide, typename T>
void multiply_add_wide(Wave& wave, const Instruction& instruction) {
  std::array<Lanes, 3> buffers;
  const Lanes& a = read_words(wave, instruction, 0, buffers[0]);
  const Lanes& b = read_words(wave, instruction, 1, buffers[1]);
  const Lanes& c = read_lanes(wave, instruction.operands[3], 0, buffers[2]);
  Lanes result;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    const i64 product = i64{static_cast<T>(a[lane])} * static_cast<T>(b[lane]);
    result[lane] = fitted<Wide>(product + static_cast<Wide>(c[lane]), instruction.clamp);
  }
  write_lanes(wave, instruction.operands[0], 0, result);
}

/// Two integers of 32 bits into two of 16, the nearest that there are; a into the low half.
template <typename Wide, typename T>
void pack(Wave& wave, const Instruction& instruction) {
  std::array<Lanes, 2> buffers;
  const Lanes& a = read_lanes(wave, instruction.operands[1], 0, buffers[0]);
  const Lanes& b = read_lanes(wave, instruction.operands[2], 0, buffers[1]);
  Lanes result;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    result[lane] = fitted<T>(static_cast<Wide>(a[lane]), true) | fitted<T>(static_cast<Wide>(b[lane]), true) << 16;
  }
  write_lanes(wave, instruction.operands[0], 0, result);
}

constexpr auto kAdd = [](i64 a, i64 b) { return a + b; };
constexpr auto kSubtract = [](i64 a, i64 b) { return a - b; };
constexpr auto kSubtractReversed = [](i64 a, i64 b) { return b - a; };
constexpr auto kMultiply = [](i64 a, i64 b) { return a * b; };
constexpr auto kMultiplyAdd = [](i64 a, i64 b, i64 c) { return a * b + c; };
constexpr auto kMin = [](i64 a, i64 b) { return std::min(a, b); };
constexpr auto kMax = [](i64 a, i64 b) { return std::max(a, b); };
constexpr auto kMin3 = [](i64 a, i64 b, i64 c) { return std::min(a, std::min(b, c)); };
constexpr auto kMax3 = [](i64 a, i64 b, i64 c) { return std::max(a, std::max(b, c)); };
constexpr auto kMedian = [](i64 a, i64 b, i64 c) { return std::max(std::min(a, b), std::min(std::max(a, b), c)); };
// The first source is how far the second one is shifted.
constexpr auto kShiftLeft = [](i64 a, i64 b) { return b << (a & 15); };
constexpr auto kShiftRight = [](i64 a, i64 b) { return b >> (a & 15); };

constexpr u32 kClamps = modifier::kOutput;
constexpr u32 kSelects = modifier::kHalves | modifier::kOutput;
constexpr OtherHalf kKept = OtherHalf::kept;
constexpr std::array kRows = std::to_array<Row>({
    {"v_add_u16", shorts2<u16, kAdd>, kClamps},
    {"v_sub_u16", shorts2<u16, kSubtract>, kClamps},
    {"v_subrev_u16", shorts2<u16, kSubtractReversed>, kClamps},
    {"v_mul_lo_u16", shorts2<u16, kMultiply>, kClamps},
    {"v_lshlrev_b16", shorts2<u16, kShiftLeft>},
    {"v_lshrrev_b16", shorts2<u16, kShiftRight>},
    {"v_ashrrev_i16", shorts2<i16, kShiftRight>},
    {"v_min_u16", shorts2<u16, kMin>},
    {"v_max_u16", shorts2<u16, kMax>},
    {"v_min_i16", shorts2<i16, kMin>},
    {"v_max_i16", shorts2<i16, kMax>},
    {"v_mad_legacy_u16", shorts3<u16, kMultiplyAdd, OtherHalf::zero>, kClamps},
    {"v_mad_legacy_i16", shorts3<i16, kMultiplyAdd, OtherHalf::zero>, kClamps},

    {"v_add_i16", shorts2<i16, kAdd, kKept>, kSelects},
    {"v_sub_i16", shorts2<i16, kSubtract, kKept>, kSelects},
    {"v_mad_u16", shorts3<u16, kMultiplyAdd>, kSelects},
    {"v_mad_i16", shorts3<i16, kMultiplyAdd>, kSelects},
    {"v_min3_u16", shorts3<u16, kMin3>, modifier::kHalves},
    {"v_max3_u16", shorts3<u16, kMax3>, modifier::kHalves},
    {"v_med3_u16", shorts3<u16, kMedian>, modifier::kHalves},
    {"v_min3_i16", shorts3<i16, kMin3>, modifier::kHalves},
    {"v_max3_i16", shorts3<i16, kMax3>, modifier::kHalves},
    {"v_med3_i16", shorts3<i16, kMedian>, modifier::kHalves},

    {"v_mad_u32_u16", multiply_add_wide<u32, u16>, kSelects},
    {"v_mad_i32_i16", multiply_add_wide<i32, i16>, kSelects},
    {"v_cvt_pk_u16_u32", pack<u32, u16>},
    {"v_cvt_pk_i16_i32", pack<i32, i16>},
});

}  // namespace

Table vector_short_table() {
  return kRows;
}

}  // namespace octet::sim
