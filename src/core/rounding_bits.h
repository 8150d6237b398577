// The random bits with which AdamW rounds to bf16: the same element in the same step takes the same ones on every
// backend and under every split of the work.
#pragma once

#include <cstdint>

#include "core/random.h"

namespace octet {

/// 2^32 over the golden ratio, made odd.
inline constexpr std::uint32_t kMomentMultiplier = 0x9E3779B1U;

/// For the weight and both moments of one element.
struct RoundingBits {
  std::uint16_t weight, m, v;
};

/// Of element (row, col) of a parameter with `cols` columns. Four neighbours share one Philox block, a word each: its
/// halves are the weight's and m's, the upper half of an odd multiple of it is v's. The three round numbers that never
/// meet; what must be independent is elements and steps, and those have words of their own.
[[nodiscard]] constexpr RoundingBits rounding_bits(std::uint64_t key, std::uint64_t stream, std::int64_t row,
                                                   std::int64_t col, std::int64_t cols) {
  const auto block = static_cast<std::uint64_t>(row * ((cols + 3) / 4) + col / 4);
  const std::uint32_t word = philox(key, block, stream)[static_cast<std::size_t>(col % 4)];
  return {static_cast<std::uint16_t>(word), static_cast<std::uint16_t>(word >> 16),
          static_cast<std::uint16_t>((word * kMomentMultiplier) >> 16)};
}

}  // namespace octet
