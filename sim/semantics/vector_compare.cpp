// Vector comparisons and selection. AMD CDNA4 ISA, 3.9 "Vector Compares: VCC and VCCZ"; 12.9 VOPC, 12.7 VOP2
// (V_CNDMASK_B32).
#include <array>
#include <cmath>
#include <cstdint>

#include "sim/semantics/float_lanes.h"
#include "sim/semantics/table.h"

namespace octet::sim {
namespace {

/// Lanes that EXEC does not name get 0. v_cmpx writes EXEC as well.
template <bool WritesExec>
void write_mask(Wave& wave, const Instruction& instruction, u64 mask) {
  mask &= wave.exec();
  write_scalar(wave, instruction.operands[0], mask);
  if (WritesExec) wave.set_pair(kExecLo, mask);
}

template <typename T, auto F, bool WritesExec = false>
void compare(Wave& wave, const Instruction& instruction) {
  std::array<Lanes, 2> buffers;
  const Lanes& a = read_lanes(wave, instruction.operands[1], 0, buffers[0]);
  const Lanes& b = read_lanes(wave, instruction.operands[2], 0, buffers[1]);
  u64 mask = 0;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    mask |= u64{F(static_cast<T>(a[lane]), static_cast<T>(b[lane]))} << lane;
  }
  write_mask<WritesExec>(wave, instruction, mask);
}

template <auto F, bool WritesExec = false>
void compare_floats(Wave& wave, const Instruction& instruction) {
  std::array<Lanes, 2> buffers;
  const Lanes& a = read_floats(wave, instruction.operands[1], buffers[0]);
  const Lanes& b = read_floats(wave, instruction.operands[2], buffers[1]);
  u64 mask = 0;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    mask |= u64{F(as_float(a[lane]), as_float(b[lane]))} << lane;
  }
  write_mask<WritesExec>(wave, instruction, mask);
}

template <typename T, auto F>
void compare_wide(Wave& wave, const Instruction& instruction) {
  std::array<Lanes, 4> buffers;
  const Operand& first = instruction.operands[1];
  const Operand& second = instruction.operands[2];
  const Lanes& a_low = read_lanes(wave, first, 0, buffers[0]);
  const Lanes& a_high = read_lanes(wave, first, 1, buffers[1]);
  const Lanes& b_low = read_lanes(wave, second, 0, buffers[2]);
  const Lanes& b_high = read_lanes(wave, second, 1, buffers[3]);
  u64 mask = 0;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    const auto a = static_cast<T>(a_low[lane] | u64{a_high[lane]} << 32);
    const auto b = static_cast<T>(b_low[lane] | u64{b_high[lane]} << 32);
    mask |= u64{F(a, b)} << lane;
  }
  write_mask<false>(wave, instruction, mask);
}

/// Which of the ten classes of v_cmp_class_f32 a float is of, as a bit.
u32 class_of(u32 bits) {
  const bool negative = (bits & kFloatSign) != 0;
  const u32 magnitude = bits & ~kFloatSign;
  if (magnitude > kFloatInfinity) return (magnitude & kQuietBit) != 0 ? 1U << 1 : 1U << 0;
  if (magnitude == kFloatInfinity) return negative ? 1U << 2 : 1U << 9;
  if (magnitude >= 0x0080'0000U) return negative ? 1U << 3 : 1U << 8;
  if (magnitude != 0) return negative ? 1U << 4 : 1U << 7;
  return negative ? 1U << 5 : 1U << 6;
}

void compare_class(Wave& wave, const Instruction& instruction) {
  std::array<Lanes, 2> buffers;
  const Lanes& a = read_floats(wave, instruction.operands[1], buffers[0]);
  const Lanes& classes = read_lanes(wave, instruction.operands[2], 0, buffers[1]);
  u64 mask = 0;
  for (std::size_t lane = 0; lane < kLanes; ++lane) mask |= u64{(class_of(a[lane]) & classes[lane]) != 0} << lane;
  write_mask<false>(wave, instruction, mask);
}

/// D = the mask's bit of the lane ? b : a. The sign modifiers of VOP3 are obeyed.
void select(Wave& wave, const Instruction& instruction) {
  std::array<Lanes, 2> buffers;
  const Lanes& a = read_floats(wave, instruction.operands[1], buffers[0]);
  const Lanes& b = read_floats(wave, instruction.operands[2], buffers[1]);
  const auto mask = read_scalar<u64>(wave, instruction.operands[3]);
  Lanes result;
  for (std::size_t lane = 0; lane < kLanes; ++lane) result[lane] = (mask >> lane & 1U) != 0 ? b[lane] : a[lane];
  write_lanes(wave, instruction.operands[0], 0, result);
}

constexpr auto kEqual = [](auto a, auto b) { return a == b; };
constexpr auto kUnequal = [](auto a, auto b) { return a != b; };
constexpr auto kLess = [](auto a, auto b) { return a < b; };
constexpr auto kLessEqual = [](auto a, auto b) { return a <= b; };
constexpr auto kGreater = [](auto a, auto b) { return a > b; };
constexpr auto kGreaterEqual = [](auto a, auto b) { return a >= b; };
constexpr auto kOrdered = [](float a, float b) { return !std::isnan(a) && !std::isnan(b); };
constexpr auto kUnordered = [](float a, float b) { return std::isnan(a) || std::isnan(b); };
constexpr auto kLessOrGreater = [](float a, float b) { return a < b || a > b; };
constexpr auto kNotLess = [](float a, float b) { return !(a < b); };
constexpr auto kNotLessEqual = [](float a, float b) { return !(a <= b); };
constexpr auto kNotGreater = [](float a, float b) { return !(a > b); };
constexpr auto kNotGreaterEqual = [](float a, float b) { return !(a >= b); };
constexpr auto kNotLessOrGreater = [](float a, float b) { return !(a < b || a > b); };

constexpr std::array kRows = std::to_array<Row>({
    {"v_cndmask_b32", select, modifier::kSign},

    {"v_cmp_eq_u32", compare<u32, kEqual>},
    {"v_cmp_ne_u32", compare<u32, kUnequal>},
    {"v_cmp_lt_u32", compare<u32, kLess>},
    {"v_cmp_le_u32", compare<u32, kLessEqual>},
    {"v_cmp_gt_u32", compare<u32, kGreater>},
    {"v_cmp_ge_u32", compare<u32, kGreaterEqual>},
    {"v_cmp_eq_i32", compare<i32, kEqual>},
    {"v_cmp_ne_i32", compare<i32, kUnequal>},
    {"v_cmp_lt_i32", compare<i32, kLess>},
    {"v_cmp_le_i32", compare<i32, kLessEqual>},
    {"v_cmp_gt_i32", compare<i32, kGreater>},
    {"v_cmp_ge_i32", compare<i32, kGreaterEqual>},
    {"v_cmp_eq_u16", compare<u16, kEqual>},
    {"v_cmp_ne_u16", compare<u16, kUnequal>},
    {"v_cmp_lt_u16", compare<u16, kLess>},
    {"v_cmp_le_u16", compare<u16, kLessEqual>},
    {"v_cmp_gt_u16", compare<u16, kGreater>},
    {"v_cmp_ge_u16", compare<u16, kGreaterEqual>},
    {"v_cmp_eq_i16", compare<i16, kEqual>},
    {"v_cmp_ne_i16", compare<i16, kUnequal>},
    {"v_cmp_lt_i16", compare<i16, kLess>},
    {"v_cmp_le_i16", compare<i16, kLessEqual>},
    {"v_cmp_gt_i16", compare<i16, kGreater>},
    {"v_cmp_ge_i16", compare<i16, kGreaterEqual>},
    {"v_cmp_eq_u64", compare_wide<u64, kEqual>},
    {"v_cmp_ne_u64", compare_wide<u64, kUnequal>},
    {"v_cmp_lt_u64", compare_wide<u64, kLess>},
    {"v_cmp_le_u64", compare_wide<u64, kLessEqual>},
    {"v_cmp_gt_u64", compare_wide<u64, kGreater>},
    {"v_cmp_ge_u64", compare_wide<u64, kGreaterEqual>},
    {"v_cmp_eq_i64", compare_wide<i64, kEqual>},
    {"v_cmp_ne_i64", compare_wide<i64, kUnequal>},
    {"v_cmp_lt_i64", compare_wide<i64, kLess>},
    {"v_cmp_le_i64", compare_wide<i64, kLessEqual>},
    {"v_cmp_gt_i64", compare_wide<i64, kGreater>},
    {"v_cmp_ge_i64", compare_wide<i64, kGreaterEqual>},

    {"v_cmp_lt_f32", compare_floats<kLess>, modifier::kSign},
    {"v_cmp_eq_f32", compare_floats<kEqual>, modifier::kSign},
    {"v_cmp_le_f32", compare_floats<kLessEqual>, modifier::kSign},
    {"v_cmp_gt_f32", compare_floats<kGreater>, modifier::kSign},
    {"v_cmp_lg_f32", compare_floats<kLessOrGreater>, modifier::kSign},
    {"v_cmp_ge_f32", compare_floats<kGreaterEqual>, modifier::kSign},
    {"v_cmp_o_f32", compare_floats<kOrdered>, modifier::kSign},
    {"v_cmp_u_f32", compare_floats<kUnordered>, modifier::kSign},
    {"v_cmp_nge_f32", compare_floats<kNotGreaterEqual>, modifier::kSign},
    {"v_cmp_nlg_f32", compare_floats<kNotLessOrGreater>, modifier::kSign},
    {"v_cmp_ngt_f32", compare_floats<kNotGreater>, modifier::kSign},
    {"v_cmp_nle_f32", compare_floats<kNotLessEqual>, modifier::kSign},
    {"v_cmp_neq_f32", compare_floats<kUnequal>, modifier::kSign},
    {"v_cmp_nlt_f32", compare_floats<kNotLess>, modifier::kSign},
    {"v_cmp_class_f32", compare_class, modifier::kSign},

    {"v_cmpx_eq_u32", compare<u32, kEqual, true>},
    {"v_cmpx_ne_u32", compare<u32, kUnequal, true>},
    {"v_cmpx_lt_u32", compare<u32, kLess, true>},
    {"v_cmpx_gt_u32", compare<u32, kGreater, true>},
});

}  // namespace

Table vector_compare_table() {
  return kRows;
}

}  // namespace octet::sim
