// Where the elements of matrices lie in the registers of a wave. AMD CDNA4 ISA, 7.1.4 "General input and output
// layout", whose formulas say it for any shape, and 7.1.5 for operands of more than 16 bytes a lane. Held against AMD's
// matrix instruction calculator, and for operands of 4, 6 and 8 bits and their scales against Composable Kernel's tests
// of them.
#pragma once

#include <algorithm>
#include <cstddef>

#include "sim/machine/wave.h"

namespace octet::sim {

/// D[b] = A[b] B[b] + C[b] for each block b, A [M, K], B [K, M], C and D [M, M].
template <std::size_t M, std::size_t K, std::size_t Blocks = 1>
struct Shape {
  static constexpr std::size_t kSize = M;
  static constexpr std::size_t kDepth = K;
  static constexpr std::size_t kBlocks = Blocks;
  static constexpr std::size_t kGroups = kLanes / (M * Blocks);  ///< of lanes, which divide K among them
  static constexpr std::size_t kPerLane = K / kGroups;           ///< elements of A, and of B
};

/// Of an element of A, or of B: `row` is A's row or B's column.
struct FactorPlace {
  std::size_t block, row, k;
};

/// Element `item` of a lane, for elements of so many bits. Up to 16 bytes of a lane are neighbours along K; where a
/// lane has 32 bytes, the groups of lanes take turns with each 16 of them. The 32 elements of 6 bits are neighbours.
template <typename S, std::size_t Bits>
[[nodiscard]] constexpr FactorPlace factor_place(std::size_t lane, std::size_t item) {
  constexpr std::size_t kRun = Bits == 6 ? S::kPerLane : std::min(S::kPerLane, 128 / Bits);
  const std::size_t group = lane / (S::kSize * S::kBlocks);
  const std::size_t k = (item / kRun * S::kGroups + group) * kRun + item % kRun;
  return {lane / S::kSize % S::kBlocks, lane % S::kSize, k};
}

/// Of an element of C and D.
struct ResultPlace {
  std::size_t block, row, column;
};

/// Element `item` of a lane. `Height` neighbouring rows lie in one lane: 4, and 1 where results are doubles.
template <typename S, std::size_t Height = 4>
struct ResultLayout {
  static constexpr std::size_t kItems = S::kBlocks * S::kSize * S::kSize / kLanes;  ///< of a lane
  /// Blocks of which an item has elements, in all lanes together.
  static constexpr std::size_t kBlocksPerItem = (kLanes * Height - 1) / (S::kSize * S::kSize) + 1;
  static constexpr std::size_t kRowsPerItem = kLanes / kBlocksPerItem / S::kSize;
  static constexpr std::size_t kRowGroups = S::kSize / (Height * kRowsPerItem);

  /// The lanes of an item are divided first by rows, then by blocks. Both are more than one only in
  /// v_mfma_f64_4x4x4_4b_f64, for which the document's formula has it the other way round; but the calculator and an
  /// example of AMD's that ran on hardware (amd-lab-notes, mfma_fp64_4x4x4fp64) agree on this one.
  [[nodiscard]] static constexpr ResultPlace place(std::size_t lane, std::size_t item) {
    const std::size_t part = lane / S::kSize;
    const std::size_t high = item / Height;
    const std::size_t row = (high % kRowGroups * kRowsPerItem + part / kBlocksPerItem) * Height + item % Height;
    return {high / kRowGroups * kBlocksPerItem + part % kBlocksPerItem, row, lane % S::kSize};
  }
};

}  // namespace octet::sim
