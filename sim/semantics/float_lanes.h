// How functions of families read floats of 32 and 64 bits (neg, abs), write them (clamp), and which NaN they give.
// AMD CDNA4 ISA, 6.2.1 "Instruction Inputs", 6.2.2 "Instruction Outputs", 6.5 "ALU Clamp Bit Usage"; 3.5 "Mode
// register": IEEE mode, as clang sets it.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <tuple>
#include <type_traits>
#include <utility>

#include "sim/semantics/float_bits.h"
#include "sim/semantics/lanes.h"

namespace octet::sim {

inline constexpr std::uint32_t kFloatSign = FloatBits<std::uint32_t>::kSign;
inline constexpr std::uint32_t kFloatInfinity = FloatBits<std::uint32_t>::kInfinity;
inline constexpr std::uint32_t kQuietBit = FloatBits<std::uint32_t>::kQuietBit;
inline constexpr std::uint32_t kDefaultNan = FloatBits<std::uint32_t>::kDefaultNan;

/// The integer that holds the bits of a float or double, and the row that holds 64 of them.
template <typename T>
using BitsOf = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
template <typename T>
using RowOf = std::conditional_t<sizeof(T) == 8, WideLanes, Lanes>;

[[nodiscard]] constexpr float as_float(std::uint32_t bits) {
  return std::bit_cast<float>(bits);
}
[[nodiscard]] constexpr double as_float(std::uint64_t bits) {
  return std::bit_cast<double>(bits);
}
[[nodiscard]] constexpr std::uint32_t as_bits(float value) {
  return std::bit_cast<std::uint32_t>(value);
}
[[nodiscard]] constexpr std::uint64_t as_bits(double value) {
  return std::bit_cast<std::uint64_t>(value);
}
[[nodiscard]] constexpr bool is_nan_bits(std::uint32_t bits) {
  return FloatBits<std::uint32_t>::is_nan(bits);
}

/// A source of 32 bits with abs and neg applied.
[[nodiscard]] inline const Lanes& read_floats(const Wave& wave, const Operand& operand, Lanes& buffer) {
  const Lanes& plain = read_lanes(wave, operand, 0, buffer);
  if (!operand.negated && !operand.absolute) return plain;
  const std::uint32_t keep = operand.absolute ? ~kFloatSign : ~0U;
  const std::uint32_t flip = operand.negated ? kFloatSign : 0U;
  for (std::size_t lane = 0; lane < kLanes; ++lane) buffer[lane] = (plain[lane] & keep) ^ flip;
  return buffer;
}

/// A source of 64 bits with abs and neg applied.
[[nodiscard]] inline const WideLanes& read_floats(const Wave& wave, const Operand& operand, WideLanes& buffer) {
  constexpr std::uint64_t kSign = FloatBits<std::uint64_t>::kSign;
  read_wide(wave, operand, buffer);
  const std::uint64_t keep = operand.absolute ? ~kSign : ~std::uint64_t{0};
  const std::uint64_t flip = operand.negated ? kSign : 0U;
  for (std::uint64_t& bits : buffer) bits = (bits & keep) ^ flip;
  return buffer;
}

/// Clamp to [0, 1], where NaN becomes 0 (as with DX10_CLAMP, which clang sets), of rows of 32 and of 64 bits. A factor
/// (mul:2, mul:4, div:2) has no effect in IEEE mode.
template <typename Row>
inline void modify_output(const Instruction& instruction, Row& result) {
  using T = decltype(as_float(result[0]));
  if (!instruction.clamp) return;
  for (auto& bits : result) {
    const T value = as_float(bits);
    bits = as_bits(value > 0 ? (value < 1 ? value : T{1}) : T{0});
  }
}

inline void write_floats(Wave& wave, const Operand& operand, const Lanes& values) {
  write_lanes(wave, operand, 0, values);
}
inline void write_floats(Wave& wave, const Operand& operand, const WideLanes& values) {
  write_wide(wave, operand, values);
}

/// Where a result is NaN it is the first source that is one, made quiet, or else the default NaN: processors of the
/// host choose another sign, and compilers another order of operands. `Bits` is the format, which may be narrower than
/// an entry of the row.
template <typename Bits, typename Row, std::size_t N>
void settle_nans_of(Row& result, const std::array<const Row*, N>& sources) {
  using Format = FloatBits<Bits>;
  std::uint32_t any = 0;
  for (std::size_t lane = 0; lane < kLanes; ++lane) any |= Format::is_nan(static_cast<Bits>(result[lane])) ? 1U : 0U;
  if (any == 0) return;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    if (!Format::is_nan(static_cast<Bits>(result[lane]))) continue;
    result[lane] = Format::kDefaultNan;
    for (std::size_t source = N; source-- > 0;) {
      const auto bits = static_cast<Bits>((*sources[source])[lane]);
      if (Format::is_nan(bits)) result[lane] = Format::quieted(bits);
    }
  }
}

/// For floats in rows of their own width.
template <typename Row, std::size_t N>
void settle_nans(Row& result, const std::array<const Row*, N>& sources) {
  settle_nans_of<typename Row::value_type>(result, sources);
}

/// D = F(floats), for as many sources as F takes; operands from 1 on.
template <typename T, auto F, std::size_t... Source>
void floats_of(Wave& wave, const Instruction& instruction, std::index_sequence<Source...> /*sources*/) {
  using Row = RowOf<T>;
  std::array<Row, sizeof...(Source)> buffers;
  const std::array<const Row*, sizeof...(Source)> sources{
      &read_floats(wave, instruction.operands[Source + 1], buffers[Source])...};
  Row result;
  for (std::size_t lane = 0; lane < kLanes; ++lane) result[lane] = as_bits(F(as_float((*sources[Source])[lane])...));
  settle_nans(result, sources);
  modify_output(instruction, result);
  write_floats(wave, instruction.operands[0], result);
}

/// D = F(bits of floats), where F knows of NaNs itself.
template <typename T, auto F, std::size_t... Source>
void float_bits_of(Wave& wave, const Instruction& instruction, std::index_sequence<Source...> /*sources*/) {
  using Row = RowOf<T>;
  std::array<Row, sizeof...(Source)> buffers;
  const std::array<const Row*, sizeof...(Source)> sources{
      &read_floats(wave, instruction.operands[Source + 1], buffers[Source])...};
  Row result;
  for (std::size_t lane = 0; lane < kLanes; ++lane) result[lane] = F((*sources[Source])[lane]...);
  modify_output(instruction, result);
  write_floats(wave, instruction.operands[0], result);
}

template <auto F, typename T = float>
void floats1(Wave& wave, const Instruction& instruction) {
  floats_of<T, F>(wave, instruction, std::make_index_sequence<1>());
}
template <auto F, typename T = float>
void floats2(Wave& wave, const Instruction& instruction) {
  floats_of<T, F>(wave, instruction, std::make_index_sequence<2>());
}
template <auto F, typename T = float>
void floats3(Wave& wave, const Instruction& instruction) {
  floats_of<T, F>(wave, instruction, std::make_index_sequence<3>());
}

template <typename T, auto F>
void float_bits2(Wave& wave, const Instruction& instruction) {
  float_bits_of<T, F>(wave, instruction, std::make_index_sequence<2>());
}
template <typename T, auto F>
void float_bits3(Wave& wave, const Instruction& instruction) {
  float_bits_of<T, F>(wave, instruction, std::make_index_sequence<3>());
}

/// a * b + c, rounded once.
template <typename T>
[[nodiscard]] T fused(T a, T b, T c) {
  return std::fma(a, b, c);
}

/// D = a * b + D, rounded once.
template <typename T>
void accumulate_product(Wave& wave, const Instruction& instruction) {
  Instruction with_summand = instruction;
  with_summand.operands[3] = instruction.operands[0];
  floats3<fused<T>, T>(wave, with_summand);
}

/// D = a * 2^b, b being an integer of 32 bits.
template <typename T>
void scale_by_power(Wave& wave, const Instruction& instruction) {
  using Row = RowOf<T>;
  Row buffer;
  Lanes broadcast;
  const Row& a = read_floats(wave, instruction.operands[1], buffer);
  const Lanes& exponents = read_lanes(wave, instruction.operands[2], 0, broadcast);
  Row result;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    result[lane] = as_bits(std::ldexp(as_float(a[lane]), static_cast<i32>(exponents[lane])));
  }
  settle_nans(result, std::array<const Row*, 1>{&a});
  modify_output(instruction, result);
  write_floats(wave, instruction.operands[0], result);
}

/// a = m * 2^e with |m| in [0.5, 1): m, which is a itself for zero, infinity and NaN; and e, which is 0 for these.
template <typename T>
[[nodiscard]] T mantissa_of(T a) {
  int exponent = 0;
  return std::isfinite(a) ? std::frexp(a, &exponent) : a;
}
template <typename T>
[[nodiscard]] std::uint32_t exponent_of(T a) {
  int exponent = 0;
  if (std::isfinite(a)) std::ignore = std::frexp(a, &exponent);
  return static_cast<std::uint32_t>(exponent);
}

/// D = F(float), of 32 bits: an integer, or a float of another format as its bits.
template <auto F, typename T = float>
void from_float(Wave& wave, const Instruction& instruction) {
  RowOf<T> buffer;
  const RowOf<T>& a = read_floats(wave, instruction.operands[1], buffer);
  Lanes result;
  for (std::size_t lane = 0; lane < kLanes; ++lane) result[lane] = F(as_float(a[lane]));
  write_lanes(wave, instruction.operands[0], 0, result);
}

/// D = two floats in 16 bits each, as Encode has them, the first one below.
template <auto Encode>
void pack_floats(Wave& wave, const Instruction& instruction) {
  std::array<Lanes, 2> buffers;
  const Lanes& a = read_floats(wave, instruction.operands[1], buffers[0]);
  const Lanes& b = read_floats(wave, instruction.operands[2], buffers[1]);
  Lanes result;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    result[lane] = Encode(as_float(a[lane])) | Encode(as_float(b[lane])) << 16;
  }
  write_lanes(wave, instruction.operands[0], 0, result);
}

template <typename T>
void extract_exponent(Wave& wave, const Instruction& instruction) {
  from_float<exponent_of<T>, T>(wave, instruction);
}

/// Toward zero; the nearest integer of its type where there is none, 0 for NaN.
template <typename Integer, typename T>
[[nodiscard]] Integer saturated(T a) {
  using Limits = std::numeric_limits<Integer>;
  constexpr auto kEnd = static_cast<T>(std::uint64_t{1} << Limits::digits);
  if (std::isnan(a)) return 0;
  if (a <= static_cast<T>(Limits::min())) return Limits::min();
  return a >= kEnd ? Limits::max() : static_cast<Integer>(a);
}

/// 1 minus an ulp at most: the ISA keeps it below 1.
template <typename T>
[[nodiscard]] T fraction_of(T a, T below_one) {
  const T fraction = a - std::floor(a);
  return fraction > below_one ? below_one : fraction;
}

}  // namespace octet::sim
