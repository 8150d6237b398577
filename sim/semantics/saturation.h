// Clamp of integers: a result outside of its type becomes the nearest that is in it, instead of losing its upper bits.
// AMD CDNA4 ISA, 6.5 "ALU Clamp Bit Usage".
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "sim/semantics/lanes.h"

namespace octet::sim {

/// An exact result as the bits of a T.
template <typename T>
[[nodiscard]] constexpr std::uint32_t fitted(std::int64_t exact, bool clamp) {
  using Unsigned = std::make_unsigned_t<T>;
  constexpr std::int64_t kMost = (std::int64_t{1} << std::numeric_limits<T>::digits) - 1;
  constexpr std::int64_t kLeast = std::is_signed_v<T> ? -kMost - 1 : 0;
  return static_cast<Unsigned>(clamp ? std::clamp(exact, kLeast, kMost) : exact);
}

/// D = F(a, b), or F(a, b, c), of 32-bit values, by F's exact result.
template <typename T, auto F>
void fitted2(Wave& wave, const Instruction& instruction) {
  Lanes broadcast_a;
  Lanes broadcast_b;
  const Lanes& a = read_lanes(wave, instruction.operands[1], 0, broadcast_a);
  const Lanes& b = read_lanes(wave, instruction.operands[2], 0, broadcast_b);
  Lanes result;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    const std::int64_t exact = F(std::int64_t{static_cast<T>(a[lane])}, std::int64_t{static_cast<T>(b[lane])});
    result[lane] = fitted<T>(exact, instruction.clamp);
  }
  write_lanes(wave, instruction.operands[0], 0, result);
}

}  // namespace octet::sim
