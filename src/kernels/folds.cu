// Second launches: what blocks and warps have left of a reduction becomes one result. Small data, still in L2: many
// threads a column, each with many loads under way, so that nothing waits for hundreds of them one after the other.
#include "kernels/arguments.h"
#include "kernels/eight.h"

namespace octet::kernels {
namespace {

constexpr int kColumns = 32;  // of a block
constexpr int kThreads = 1024;

OCTET_DEVICE bf16 larger(bf16 x, bf16 y) {
  return x.bits > y.bits ? x : y;
}

constexpr int kVectors = kColumns / 8;  // of a row of a block's columns, a thread each
constexpr int kRows = kThreads / kVectors;

/// The larger of eight columns, from `col` on, in every kRows-th row from `row` on.
OCTET_DEVICE Vector largest_of_rows(const FoldColumns& a, int row, int col) {
  constexpr int kAtOnce = 4;  // rows that a thread asks for before it needs the first
  const bf16* from = a.partials + Index{row} * a.cols + col;
  const Index step = Index{kRows} * a.cols;
  Vector largest{};
  if (a.cols % 8 == 0) {  // a workspace begins at a multiple of 16 bytes
    for (; row < a.count; row += kRows * kAtOnce, from += step * kAtOnce) {
      Vector rows[kAtOnce];
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) {
        rows[k] = row + k * kRows < a.count ? load_16_bytes<Vector>(from + k * step) : Vector{};
      }
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) raise(largest, rows[k]);
    }
  }
  for (; row < a.count; row += kRows, from += step) raise(largest, load_some(from, a.cols - col));
  return largest;
}

/// amax[c] = the largest of a column of partials, as bits of magnitudes: in any order. As many blocks a matrix as its
/// columns take.
OCTET_DEVICE void fold_columns(const FoldColumns& all, int block) {
  constexpr int kWords = kColumns / 2;
  constexpr int kWarps = kThreads / kWarpSize;
  static_assert(kWords <= kWarps && kWarps <= kWarpSize);
  const int blocks_each = (all.cols + kColumns - 1) / kColumns;
  const Index matrix = block / blocks_each;
  const FoldColumns a{all.partials + matrix * all.count * all.cols, all.amax + matrix * all.cols, all.count, all.cols};
  block %= blocks_each;
  OCTET_SHARED std::uint32_t parts[kWords][kWarps + 1];
  const int vector = thread_index() % kVectors;
  const int col = block * kColumns + vector * 8;
  Vector largest{};
  if (col < a.cols) largest = largest_of_rows(a, thread_index() / kVectors, col);
#pragma unroll
  for (int mask = kVectors; mask < kWarpSize; mask *= 2) {
#pragma unroll
    for (int w = 0; w < 4; ++w) {
      largest.words[w] = max_u16x2(largest.words[w], shuffle_xor(largest.words[w], mask));
    }
  }
  const int lane = thread_index() % kWarpSize;
  const int warp = thread_index() / kWarpSize;
  if (lane < kVectors) {
#pragma unroll
    for (int w = 0; w < 4; ++w) parts[4 * vector + w][warp] = largest.words[w];
  }
  sync_block();
  if (warp >= kWords) return;
  std::uint32_t pair = lane < kWarps ? parts[warp][lane] : 0U;  // now a warp holds the parts of two columns
#pragma unroll
  for (int mask = kWarpSize / 2; mask > 0; mask /= 2) pair = max_u16x2(pair, shuffle_xor(pair, mask));
  if (lane != 0) return;
  const int finished = block * kColumns + 2 * warp;
  if (finished < a.cols) a.amax[finished].bits = static_cast<std::uint16_t>(pair);
  if (finished + 1 < a.cols) a.amax[finished + 1].bits = static_cast<std::uint16_t>(pair >> 16);
}
OCTET_DEVICE void fold_columns(const FoldColumns& a) {
  fold_columns(a, block_index());
}

/// sums[c] += the sum of a column of partials: each part in the order of its rows, then the parts by pairs.
OCTET_DEVICE void sum_columns(const SumColumns& a, int block) {
  constexpr int kParts = kThreads / kColumns;  // threads a column; each takes every 32nd row
  constexpr int kAtOnce = 8;
  OCTET_SHARED float parts[kParts][kColumns + 1];  // a column's parts lie in different banks
  const int lane = thread_index() % kColumns;
  const int part = thread_index() / kColumns;
  const int col = block * kColumns + lane;
  float sum = 0;
  for (int first = part; first < a.count; first += kParts * kAtOnce) {
    float rows[kAtOnce];
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      const int row = first + k * kParts;
      rows[k] = row < a.count && col < a.cols ? a.partials[Index{row} * a.cols + col] : 0.0F;
    }
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) sum += rows[k];
  }
  parts[part][lane] = sum;
  sync_block();
  sum = parts[lane][part];  // now the threads of a row hold the parts of one column
#pragma unroll
  for (int mask = kParts / 2; mask > 0; mask /= 2) sum += shuffle_xor(sum, mask);
  const int finished = block * kColumns + part;
  if (lane == 0 && finished < a.cols) a.sums[finished] += sum;
}

/// A thread a row.
OCTET_DEVICE void fold_rows(const FoldRows& a, int block) {
  const Index row = Index{block} * thread_count() + thread_index();
  if (row >= a.rows) return;
  const bf16* parts = a.partials + row * a.count;
  Vector largest{};
  int i = 0;
  if (a.count % 8 == 0) {
#pragma unroll 4
    for (; i < a.count; i += 8) raise(largest, load_16_bytes<Vector>(parts + i));
  }
  std::uint32_t halves =
      max_u16x2(max_u16x2(largest.words[0], largest.words[1]), max_u16x2(largest.words[2], largest.words[3]));
  for (; i < a.count; ++i) halves = max_u16x2(halves, parts[i].bits);
  a.amax[row] = larger(bf16{static_cast<std::uint16_t>(halves)}, bf16{static_cast<std::uint16_t>(halves >> 16)});
}

/// Two folds that wait for the same kernel are one launch: it costs more than its work.
OCTET_DEVICE void sum_and_fold_columns(const SumAndFoldColumns& a) {
  if (block_index_y() == 0) {
    sum_columns(a.sum, block_index());
  } else {
    fold_columns(a.fold, block_index());
  }
}

OCTET_DEVICE void fold_rows_and_columns(const FoldRowsAndColumns& a) {
  if (block_index() < a.column_blocks) {
    fold_columns(a.columns, block_index());
  } else {
    fold_rows(a.rows, block_index() - a.column_blocks);
  }
}

}  // namespace
}  // namespace octet::kernels

OCTET_DENSE_SIMPLE_KERNEL(1024, 2, fold_columns, FoldColumns, fold_columns)
OCTET_DENSE_SIMPLE_KERNEL(1024, 2, sum_and_fold_columns, SumAndFoldColumns, sum_and_fold_columns)
OCTET_DENSE_SIMPLE_KERNEL(1024, 2, fold_rows_and_columns, FoldRowsAndColumns, fold_rows_and_columns)
