// Two integers of 16 bits at once in a register. AMD CDNA4 ISA, 6.7 "Packed Math"; 12.10 VOP3P.
#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "sim/semantics/packed_lanes.h"
#include "sim/semantics/saturation.h"
#include "sim/semantics/table.h"

namespace octet::sim {
namespace {

/// D = F(integers) for the low and the high half, by F's exact result.
template <typename T, auto F, std::size_t... Source>
void packed_of(Wave& wave, const Instruction& instruction, std::index_sequence<Source...> /*sources*/) {
  refuse_negation(instruction);
  std::array<Lanes, 2> results;
  for (int half = 0; half < 2; ++half) {
    std::array<Lanes, sizeof...(Source)> buffers;
    const std::array<const Lanes*, sizeof...(Source)> sources{
        &read_packed_words(wave, instruction, Source, half, buffers[Source])...};
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const i64 exact = F(i64{static_cast<T>((*sources[Source])[lane])}...);
      results[static_cast<std::size_t>(half)][lane] = fitted<T>(exact, instruction.clamp);
    }
  }
  for (std::size_t lane = 0; lane < kLanes; ++lane) results[0][lane] |= results[1][lane] << 16;
  write_lanes(wave, instruction.operands[0], 0, results[0]);
}

template <typename T, auto F>
void packed2(Wave& wave, const Instruction& instruction) {
  packed_of<T, F>(wave, instruction, std::make_index_sequence<2>());
}
template <typename T, auto F>
void packed3(Wave& wave, const Instruction& instruction) {
  packed_of<T, F>(wave, instruction, std::make_index_sequence<3>());
}

constexpr auto kAdd = [](i64 a, i64 b) { return a + b; };
constexpr auto kSubtract = [](i64 a, i64 b) { return a - b; };
constexpr auto kMultiply = [](i64 a, i64 b) { return a * b; };
constexpr auto kMultiplyAdd = [](i64 a, i64 b, i64 c) { return a * b + c; };
constexpr auto kMin = [](i64 a, i64 b) { return std::min(a, b); };
constexpr auto kMax = [](i64 a, i64 b) { return std::max(a, b); };
// The first source is how far the second one is shifted.
constexpr auto kShiftLeft = [](i64 a, i64 b) { return b << (a & 15); };
constexpr auto kShiftRight = [](i64 a, i64 b) { return b >> (a & 15); };

constexpr u32 kAccepts = modifier::kHalves | modifier::kPacked;
constexpr u32 kClamps = kAccepts | modifier::kOutput;
constexpr std::array kRows = std::to_array<Row>({
    {"v_pk_add_i16", packed2<i16, kAdd>, kClamps},
    {"v_pk_add_u16", packed2<u16, kAdd>, kClamps},
    {"v_pk_sub_i16", packed2<i16, kSubtract>, kClamps},
    {"v_pk_sub_u16", packed2<u16, kSubtract>, kClamps},
    {"v_pk_mul_lo_u16", packed2<u16, kMultiply>, kAccepts},
    {"v_pk_mad_i16", packed3<i16, kMultiplyAdd>, kClamps},
    {"v_pk_mad_u16", packed3<u16, kMultiplyAdd>, kClamps},
    {"v_pk_min_i16", packed2<i16, kMin>, kAccepts},
    {"v_pk_min_u16", packed2<u16, kMin>, kAccepts},
    {"v_pk_max_i16", packed2<i16, kMax>, kAccepts},
    {"v_pk_max_u16", packed2<u16, kMax>, kAccepts},
    {"v_pk_lshlrev_b16", packed2<u16, kShiftLeft>, kAccepts},
    {"v_pk_lshrrev_b16", packed2<u16, kShiftRight>, kAccepts},
    {"v_pk_ashrrev_i16", packed2<i16, kShiftRight>, kAccepts},
});

}  // namespace

Table vector_packed_integer_table() {
  return kRows;
}

}  // namespace octet::sim
