// Second launches: what blocks and warps have left of a reduction becomes one result. Small data, still in L2: many
// threads a column, each with many loads under way, so that nothing waits for hundreds of them one after the other.
#include "kernels/arguments.h"
#include "kernels/prelude.h"

namespace octet::kernels {
namespace {

constexpr int kColumns = 32;  // of a block
constexpr int kParts = 32;    // threads a column; each takes every 32nd row
constexpr int kAtOnce = 8;    // rows that a thread asks for before it needs the first

/// Calls finish(column, x) once a column of `block`'s, x being combine() over the rows of partials [count, cols]: each
/// part in the order of its rows, then the parts by pairs. `nothing` leaves any x as it is.
template <typename Value, typename Combine, typename Finish>
OCTET_DEVICE void fold(const Value* partials, int count, int cols, int block, Value nothing, Combine combine,
                       Finish finish) {
  OCTET_SHARED Value parts[kParts][kColumns + 1];  // a column's parts lie in different banks
  const int lane = thread_index() % kColumns;
  const int part = thread_index() / kColumns;
  const int col = block * kColumns + lane;
  Value x = nothing;
  for (int first = part; first < count; first += kParts * kAtOnce) {
    Value rows[kAtOnce];
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      const int row = first + k * kParts;
      rows[k] = row < count && col < cols ? partials[Index{row} * cols + col] : nothing;
    }
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) x = combine(x, rows[k]);
  }
  parts[part][lane] = x;
  sync_block();
  x = parts[lane][part];  // now the threads of a row hold the parts of one column
#pragma unroll
  for (int mask = kParts / 2; mask > 0; mask /= 2) x = combine(x, shuffle_xor(x, mask));
  const int finished = block * kColumns + part;
  if (lane == 0 && finished < cols) finish(finished, x);
}

OCTET_DEVICE bf16 larger(bf16 x, bf16 y) {
  return x.bits > y.bits ? x : y;
}

/// amax[c] = the largest of a column of partials, as bits of magnitudes.
OCTET_DEVICE void fold_columns(const FoldColumns& a, int block) {
  fold(
      reinterpret_cast<const std::uint16_t*>(a.partials), a.count, a.cols, block, std::uint16_t{0},
      [](std::uint16_t x, std::uint16_t y) { return x > y ? x : y; },
      [&](int col, std::uint16_t amax) { a.amax[col] = bf16{amax}; });
}
OCTET_DEVICE void fold_columns(const FoldColumns& a) {
  fold_columns(a, block_index());
}

OCTET_DEVICE void sum_columns(const SumColumns& a, int block) {
  fold(
      a.partials, a.count, a.cols, block, 0.0F, [](float x, float y) { return x + y; },
      [&](int col, float sum) { a.sums[col] += sum; });
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
    for (; i < a.count; i += 8) {
      const Vector x = load_16_bytes<Vector>(parts + i);
#pragma unroll
      for (int w = 0; w < 4; ++w) largest.words[w] = max_u16x2(largest.words[w], x.words[w]);
    }
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

OCTET_SIMPLE_KERNEL(1024, fold_columns, FoldColumns, fold_columns)
OCTET_SIMPLE_KERNEL(1024, sum_and_fold_columns, SumAndFoldColumns, sum_and_fold_columns)
OCTET_SIMPLE_KERNEL(1024, fold_rows_and_columns, FoldRowsAndColumns, fold_rows_and_columns)
