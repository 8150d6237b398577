// Vector comparisons and selection. AMD CDNA4 ISA, 3.9 "Vector Compares: VCC and VCCZ"; 12.9 VOPC, 12.7 VOP2
// (V_CNDMASK_B32). Names of comparisons are put together: v_cmp_ or v_cmpx_, a condition, a type.
#include <array>
#include <cmath>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "sim/semantics/float_lanes.h"
#include "sim/semantics/half_lanes.h"
#include "sim/semantics/table.h"

namespace octet::sim {
namespace {

/// Stands for half precision, which the host has no type for; its values are compared as floats.
struct Half {};

template <typename T>
const RowOf<T>& read_source(const Wave& wave, const Instruction& instruction, std::size_t source, RowOf<T>& buffer) {
  const Operand& operand = instruction.operands[source + 1];
  if constexpr (std::is_same_v<T, Half>) {
    return read_halves(wave, instruction, source, buffer);
  } else if constexpr (std::is_floating_point_v<T>) {
    return read_floats(wave, operand, buffer);
  } else if constexpr (sizeof(T) == 8) {
    read_wide(wave, operand, buffer);
    return buffer;
  } else {
    return read_lanes(wave, operand, 0, buffer);
  }
}

template <typename T>
auto value_of(BitsOf<T> bits) {
  if constexpr (std::is_same_v<T, Half>) {
    return decode_half(bits);
  } else if constexpr (std::is_floating_point_v<T>) {
    return as_float(bits);
  } else {
    return static_cast<T>(bits);
  }
}

/// Lanes that EXEC does not name get 0. v_cmpx writes EXEC as well.
template <bool WritesExec>
void write_mask(Wave& wave, const Instruction& instruction, u64 mask) {
  mask &= wave.exec();
  write_scalar(wave, instruction.operands[0], mask);
  if (WritesExec) wave.set_pair(kExecLo, mask);
}

template <typename T, auto F, bool WritesExec>
void compare(Wave& wave, const Instruction& instruction) {
  std::array<RowOf<T>, 2> buffers;
  const RowOf<T>& a = read_source<T>(wave, instruction, 0, buffers[0]);
  const RowOf<T>& b = read_source<T>(wave, instruction, 1, buffers[1]);
  u64 mask = 0;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    mask |= u64{F(value_of<T>(a[lane]), value_of<T>(b[lane]))} << lane;
  }
  write_mask<WritesExec>(wave, instruction, mask);
}

template <typename T, bool WritesExec>
void compare_class(Wave& wave, const Instruction& instruction) {
  using Bits = std::conditional_t<std::is_same_v<T, Half>, u16, BitsOf<T>>;
  RowOf<T> buffer;
  Lanes broadcast;
  const RowOf<T>& a = read_source<T>(wave, instruction, 0, buffer);
  const Lanes& classes = read_lanes(wave, instruction.operands[2], 0, broadcast);
  u64 mask = 0;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    mask |= u64{(class_of(static_cast<Bits>(a[lane])) & classes[lane]) != 0} << lane;
  }
  write_mask<WritesExec>(wave, instruction, mask);
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

constexpr auto kNever = [](auto, auto) { return false; };
constexpr auto kAlways = [](auto, auto) { return true; };
constexpr auto kEqual = [](auto a, auto b) { return a == b; };
constexpr auto kUnequal = [](auto a, auto b) { return a != b; };
constexpr auto kLess = [](auto a, auto b) { return a < b; };
constexpr auto kLessEqual = [](auto a, auto b) { return a <= b; };
constexpr auto kGreater = [](auto a, auto b) { return a > b; };
constexpr auto kGreaterEqual = [](auto a, auto b) { return a >= b; };
constexpr auto kOrdered = [](auto a, auto b) { return !std::isnan(a) && !std::isnan(b); };
constexpr auto kUnordered = [](auto a, auto b) { return std::isnan(a) || std::isnan(b); };
constexpr auto kLessOrGreater = [](auto a, auto b) { return a < b || a > b; };
constexpr auto kNotLess = [](auto a, auto b) { return !(a < b); };
constexpr auto kNotLessEqual = [](auto a, auto b) { return !(a <= b); };
constexpr auto kNotGreater = [](auto a, auto b) { return !(a > b); };
constexpr auto kNotGreaterEqual = [](auto a, auto b) { return !(a >= b); };
constexpr auto kNotLessOrGreater = [](auto a, auto b) { return !(a < b || a > b); };

/// The rows of all comparisons, and the names that they point to.
class Comparisons {
 public:
  Comparisons() {
    rows_.push_back({"v_cndmask_b32", select, modifier::kSign});
    add_integers<u16>("u16");
    add_integers<i16>("i16");
    add_integers<u32>("u32");
    add_integers<i32>("i32");
    add_integers<u64>("u64");
    add_integers<i64>("i64");
    add_floats<Half>("f16");
    add_floats<float>("f32");
    add_floats<double>("f64");
  }
  Comparisons(const Comparisons&) = delete;
  Comparisons& operator=(const Comparisons&) = delete;
  [[nodiscard]] Table rows() const { return rows_; }

 private:
  void add(const std::string& condition_and_type, Execute plain, Execute writing_exec, u32 accepts) {
    rows_.push_back({names_.emplace_back("v_cmp_" + condition_and_type), plain, accepts});
    rows_.push_back({names_.emplace_back("v_cmpx_" + condition_and_type), writing_exec, accepts});
  }

  template <typename T, auto F>
  void add(const std::string& condition, const std::string& type) {
    constexpr u32 kAccepts = std::is_integral_v<T> ? modifier::kNone : modifier::kSign;
    add(condition + "_" + type, compare<T, F, false>, compare<T, F, true>, kAccepts);
  }

  template <typename T>
  void add_integers(const std::string& type) {
    add<T, kNever>("f", type);
    add<T, kLess>("lt", type);
    add<T, kEqual>("eq", type);
    add<T, kLessEqual>("le", type);
    add<T, kGreater>("gt", type);
    add<T, kUnequal>("ne", type);
    add<T, kGreaterEqual>("ge", type);
    add<T, kAlways>("t", type);
  }

  template <typename T>
  void add_floats(const std::string& type) {
    add<T, kNever>("f", type);
    add<T, kLess>("lt", type);
    add<T, kEqual>("eq", type);
    add<T, kLessEqual>("le", type);
    add<T, kGreater>("gt", type);
    add<T, kLessOrGreater>("lg", type);
    add<T, kGreaterEqual>("ge", type);
    add<T, kOrdered>("o", type);
    add<T, kUnordered>("u", type);
    add<T, kNotGreaterEqual>("nge", type);
    add<T, kNotLessOrGreater>("nlg", type);
    add<T, kNotGreater>("ngt", type);
    add<T, kNotLessEqual>("nle", type);
    add<T, kUnequal>("neq", type);
    add<T, kNotLess>("nlt", type);
    add<T, kAlways>("tru", type);
    add("class_" + type, compare_class<T, false>, compare_class<T, true>, modifier::kSign);
  }

  std::deque<std::string> names_;  // whose elements stay where they are
  std::vector<Row> rows_;
};

}  // namespace

Table vector_compare_table() {
  static const Comparisons comparisons;
  return comparisons.rows();
}

}  // namespace octet::sim
