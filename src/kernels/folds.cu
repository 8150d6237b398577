// Second launches: what blocks and warps have left of a reduction becomes one result. Small data, still in L2: many
// threads a column, so that no thread waits for hundreds of loads one after the other.
#include "kernels/arguments.h"
#include "kernels/prelude.h"

namespace octet::kernels {
namespace {

constexpr int kColumns = 32;  // of a block
constexpr int kParts = 32;    // threads a column; each takes every 32nd row

/// Calls finish(column, x) in one thread a column, x being combine() over the rows of partials [count, cols]: each part
/// in the order of its rows, then the parts in order.
template <typename T, typename Value, typename Combine, typename Finish>
OCTET_DEVICE void fold(const T* partials, int count, int cols, Value nothing, Combine combine, Finish finish) {
  OCTET_SHARED Value parts[kParts][kColumns];
  const int lane = thread_index() % kColumns;
  const int part = thread_index() / kColumns;
  const int col = block_index() * kColumns + lane;
  Value x = nothing;
  if (col < cols) {
#pragma unroll 4
    for (int i = part; i < count; i += kParts) x = combine(x, partials[Index{i} * cols + col]);
  }
  parts[part][lane] = x;
  sync_block();
  if (part != 0 || col >= cols) return;
  for (int i = 1; i < kParts; ++i) x = combine(x, parts[i][lane]);
  finish(col, x);
}

/// amax[c] = the largest of a column of partials.
OCTET_DEVICE void fold_columns(const FoldColumns& a) {
  fold(
      a.partials, a.count, a.cols, bf16{0}, [](bf16 x, bf16 y) { return x.bits > y.bits ? x : y; },
      [&](int col, bf16 amax) { a.amax[col] = amax; });
}

OCTET_DEVICE void sum_columns(const SumColumns& a) {
  fold(
      a.partials, a.count, a.cols, 0.0F, [](float x, float y) { return x + y; },
      [&](int col, float sum) { a.sums[col] += sum; });
}

/// A thread a row.
OCTET_DEVICE void fold_rows(const FoldRows& a) {
  const Index row = Index{block_index()} * thread_count() + thread_index();
  if (row >= a.rows) return;
  bf16 largest{0};
#pragma unroll 4
  for (int i = 0; i < a.count; ++i) {
    const bf16 x = a.partials[row * a.count + i];
    largest = x.bits > largest.bits ? x : largest;
  }
  a.amax[row] = largest;
}

}  // namespace
}  // namespace octet::kernels

OCTET_SIMPLE_KERNEL(1024, fold_columns, FoldColumns, fold_columns)
OCTET_SIMPLE_KERNEL(1024, sum_columns, SumColumns, sum_columns)
OCTET_SIMPLE_KERNEL(256, fold_rows, FoldRows, fold_rows)
