// The random bits with which AdamW rounds to bf16: the same element in the same step takes the same ones on every
// backend and under every split of the work.
#pragma once

#include <cstdint>

#include "core/random.h"

namespace octet::ops {

/// For the weight and both moments of one element.
struct RoundingBits {
  std::uint16_t weight, m, v;
};

/// Of element (row, col) of a parameter with `cols` columns. Two neighbours share one Philox block.
[[nodiscard]] constexpr RoundingBits rounding_bits(std::uint64_t key, std::uint64_t stream, std::int64_t row,
                                                   std::int64_t col, std::int64_t cols) {
  const auto block = static_cast<std::uint64_t>(row * ((cols + 1) / 2) + col / 2);
  const auto words = philox(key, block, stream);
  const auto first = static_cast<std::size_t>(col % 2 * 2);
  return {static_cast<std::uint16_t>(words[first]), static_cast<std::uint16_t>(words[first] >> 16),
          static_cast<std::uint16_t>(words[first + 1])};
}

}  // namespace octet::ops
