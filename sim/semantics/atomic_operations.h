// What atomic instructions compute, and the loop that all of them share. AMD CDNA4 ISA, 9.2 "Float Memory
// Atomics" (denormals and NaNs), and the pseudocode of the instructions, chapter 12. Operations are given the word of
// memory first; floats are their bits.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "sim/semantics/float_lanes.h"
#include "sim/semantics/memory_access.h"
#include "sim/semantics/small_floats.h"

namespace octet::sim {

namespace atomic {

inline constexpr auto kAdd = [](auto a, auto b) { return a + b; };
inline constexpr auto kSubtract = [](auto a, auto b) { return a - b; };
inline constexpr auto kSubtractReversed = [](auto a, auto b) { return b - a; };
/// Count up to b, then from 0 again; count down from b, and to b again after 0.
inline constexpr auto kIncrement = [](auto a, auto b) { return a >= b ? 0 : a + 1; };
inline constexpr auto kDecrement = [](auto a, auto b) { return a == 0 || a > b ? b : a - 1; };
inline constexpr auto kAnd = [](auto a, auto b) { return a & b; };
inline constexpr auto kOr = [](auto a, auto b) { return a | b; };
inline constexpr auto kXor = [](auto a, auto b) { return a ^ b; };
inline constexpr auto kLargest = [](auto a, auto b) { return std::max(a, b); };
inline constexpr auto kSmallest = [](auto a, auto b) { return std::min(a, b); };
inline constexpr auto kExchange = [](auto /*a*/, auto b) { return b; };

/// To nearest even, denormals kept. The first NaN, made quiet, else the default one.
inline constexpr auto kAddFloats = [](auto a, auto b) {
  using Format = FloatBits<decltype(a)>;
  if (Format::is_nan(a)) return Format::quieted(a);
  if (Format::is_nan(b)) return Format::quieted(b);
  const auto sum = as_bits(as_float(a) + as_float(b));
  return Format::is_nan(sum) ? Format::kDefaultNan : sum;
};
inline constexpr auto kLargestFloat = [](auto a, auto b) { return larger(a, b); };
inline constexpr auto kSmallestFloat = [](auto a, auto b) { return smaller(a, b); };

/// The sum of floats of 16 bits, NaNs as kAddFloats.
template <auto Decode, auto Encode, u32 Infinity, u32 Quiet>
u32 add_short_floats(u32 a, u32 b) {
  if ((a & 0x7FFFU) > Infinity) return a | Quiet;
  if ((b & 0x7FFFU) > Infinity) return b | Quiet;
  const float sum = Decode(a) + Decode(b);
  return std::isnan(sum) ? 0x8000U | Infinity | Quiet : Encode(sum);
}
template <auto Add>
u32 add_pairs(u32 a, u32 b) {
  return Add(a & 0xFFFFU, b & 0xFFFFU) | Add(a >> 16, b >> 16) << 16;
}
inline constexpr auto kAddHalves =
    add_pairs<add_short_floats<decode_half, static_cast<u32 (*)(float)>(encode_half), 0x7C00, 0x0200>>;
inline constexpr auto kAddBf16 = add_pairs<add_short_floats<decode_bf16, encode_bf16, 0x7F80, 0x0040>>;

}  // namespace atomic

/// Words of one or two registers.
template <typename T>
[[nodiscard]] T read_word(const Wave& wave, const Operand& operand, std::size_t lane, std::size_t first_row = 0) {
  const u64 low = wave.vector[operand.index + first_row][lane];
  if constexpr (sizeof(T) == 4) return static_cast<T>(low);
  return static_cast<T>(low | u64{wave.vector[operand.index + first_row + 1][lane]} << 32);
}

template <typename T>
void write_word(Wave& wave, const Operand& operand, std::size_t lane, T value) {
  wave.vector[operand.index][lane] = static_cast<u32>(value);
  if constexpr (sizeof(T) == 8) wave.vector[operand.index + 1U][lane] = static_cast<u32>(static_cast<u64>(value) >> 32);
}

/// A lane's word in memory. Failure when it is not aligned, or lies in scratch, which has no atomics.
template <typename T, typename AnySpace>
[[nodiscard]] std::atomic_ref<T> word_at(const AnySpace& space, std::size_t lane) {
  if (space_of(space, lane) == Space::scratch) throw Failure("lane {} updates scratch, which has no atomics", lane);
  if (space.address(lane) % sizeof(T) != 0) {
    throw Failure("lane {} updates {} bytes at {:#x}, which is not aligned", lane, sizeof(T), space.address(lane));
  }
  return std::atomic_ref<T>(*reinterpret_cast<T*>(space.at(lane, sizeof(T))));
}

/// memory = next(memory, lane), lane after lane; the old values into `result` unless that is null. Out of range there
/// is nothing to update, and the old value is 0.
template <typename T, typename AnySpace, typename Next>
void update_words(Wave& wave, const Instruction& instruction, const AnySpace& space, const Operand* result,
                  const Next& next) {
  announce(wave, instruction, space, AccessKind::update, sizeof(T));
  for_active_lanes(wave, [&](std::size_t lane) {
    T old{};
    if (elements_in_range(space, lane, sizeof(T), 1) != 0) {
      const std::atomic_ref<T> word = word_at<T>(space, lane);
      old = word.load(std::memory_order_relaxed);
      while (!word.compare_exchange_weak(old, next(old, lane), std::memory_order_relaxed)) {
      }
    }
    if (result != nullptr) write_word(wave, *result, lane, old);
  });
}

}  // namespace octet::sim
