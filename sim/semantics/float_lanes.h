// How functions of families read floats (neg, abs), write them (clamp), and which NaN they give.
// AMD CDNA4 ISA, 6.2.1 "Instruction Inputs", 6.2.2 "Instruction Outputs", 6.5 "ALU Clamp Bit Usage"; 3.5 "Mode
// register": IEEE mode, as clang sets it.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <utility>

#include "sim/semantics/lanes.h"

namespace octet::sim {

inline constexpr std::uint32_t kFloatSign = 0x8000'0000U;
inline constexpr std::uint32_t kFloatInfinity = 0x7F80'0000U;
inline constexpr std::uint32_t kQuietBit = 0x0040'0000U;
/// Of operations that have no result. The ISA shows this one, sign and all, for roots, logarithms, sine, cosine and
/// 0 / 0 (12.8, 12.11); what sums and products give is taken to be the same.
inline constexpr std::uint32_t kDefaultNan = 0xFFC0'0000U;

[[nodiscard]] constexpr float as_float(std::uint32_t bits) {
  return std::bit_cast<float>(bits);
}
[[nodiscard]] constexpr std::uint32_t as_bits(float value) {
  return std::bit_cast<std::uint32_t>(value);
}
[[nodiscard]] constexpr bool is_nan_bits(std::uint32_t bits) {
  return (bits & ~kFloatSign) > kFloatInfinity;
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

/// Clamp to [0, 1], where NaN becomes 0 (as with DX10_CLAMP, which clang sets). A factor (mul:2, mul:4, div:2) has no
/// effect in IEEE mode.
inline void modify_output(const Instruction& instruction, Lanes& result) {
  if (!instruction.clamp) return;
  for (std::uint32_t& bits : result) {
    const float value = as_float(bits);
    bits = as_bits(value > 0 ? (value < 1 ? value : 1.0F) : 0.0F);
  }
}

/// Where a result is NaN it is the first source that is one, made quiet, or else the default NaN: processors of the
/// host choose another sign, and compilers another order of operands.
template <std::size_t N>
void settle_nans(Lanes& result, const std::array<const Lanes*, N>& sources) {
  std::uint32_t any = 0;
  for (std::size_t lane = 0; lane < kLanes; ++lane) any |= is_nan_bits(result[lane]) ? 1U : 0U;
  if (any == 0) return;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    if (!is_nan_bits(result[lane])) continue;
    result[lane] = kDefaultNan;
    for (std::size_t source = N; source-- > 0;) {
      const std::uint32_t bits = (*sources[source])[lane];
      if (is_nan_bits(bits)) result[lane] = bits | kQuietBit;
    }
  }
}

/// D = F(floats), for as many sources as F takes; operands from 1 on.
template <auto F, std::size_t... Source>
void floats_of(Wave& wave, const Instruction& instruction, std::index_sequence<Source...> /*sources*/) {
  std::array<Lanes, sizeof...(Source)> buffers;
  const std::array<const Lanes*, sizeof...(Source)> sources{
      &read_floats(wave, instruction.operands[Source + 1], buffers[Source])...};
  Lanes result;
  for (std::size_t lane = 0; lane < kLanes; ++lane) result[lane] = as_bits(F(as_float((*sources[Source])[lane])...));
  settle_nans(result, sources);
  modify_output(instruction, result);
  write_lanes(wave, instruction.operands[0], 0, result);
}

template <auto F>
void floats1(Wave& wave, const Instruction& instruction) {
  floats_of<F>(wave, instruction, std::make_index_sequence<1>());
}
template <auto F>
void floats2(Wave& wave, const Instruction& instruction) {
  floats_of<F>(wave, instruction, std::make_index_sequence<2>());
}
template <auto F>
void floats3(Wave& wave, const Instruction& instruction) {
  floats_of<F>(wave, instruction, std::make_index_sequence<3>());
}

}  // namespace octet::sim
