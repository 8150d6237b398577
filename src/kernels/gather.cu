// Tokens to routed rows and back. Gathering: 2 (x) + 2 (y; where it is stored) + 1 (codes) bytes an element; their
// transposed codes: 2 + 1. Combining: 2 for each routed row, 2 for the base and 2 for the sum.
#include "kernels/grouped_rows.h"
#include "kernels/measured.h"

namespace octet::kernels {
namespace {

/// Where routed rows lie in x. The place of a row is known one row before it is needed: asking for it takes a load.
struct RowSource {
  const bf16* x;
  const std::int32_t* choice_of_row;
  int top_k;
  Index cols;

  [[nodiscard]] OCTET_DEVICE const bf16* row(Index r, Index end) const {
    if (choice_of_row == nullptr || r >= end) return x + r * cols;
    return x + choice_of_row[r] / top_k * cols;
  }
};

template <fp8::Format F, int V>
OCTET_DEVICE void gather_rows(const GatherRows& a) {
  OCTET_SHARED std::uint32_t parts[BlockFold<std::uint32_t>::kParts];
  BlockFold<std::uint32_t, BlockRows::several> maxima(parts);
  const RowPlace<V> place{a.cols, a.aligned};
  ColumnFold<V> columns(a.measured.column_partials != nullptr);
  const RowAhead<V> next(a.ahead, place, 1);
  const RowSource source{a.x, a.choice_of_row, a.top_k, a.cols};
  for_each_part(a.groups, [&](int group, Index begin, Index end) {
    const int step = thread_count_y();
    const Index first = begin + thread_index_y();
    const bf16* row = source.row(first, end);
    const bf16* following = source.row(first + step, end);
    finish_copies();  // zeros that the part before asked for in place of rows that it has not
    next.ask(row, place, first < end);
    for (Index r = first; r < end; r += step) {
      RowVectors<V> x;
      finish_copies();
      next.take(row, place, x);
      row = following;
      following = source.row(r + 2 * step, end);
      next.ask(row, place, r + step < end);
      if (a.y != nullptr) x.store(a.y + r * a.cols, place);
      leave_row<F, V>(a.measured, x, place, r, columns, maxima);
    }
    leave_part(columns, a.measured.column_partials, group, a.cols, 0, place);
  });
}

/// Sixty-four columns of a group a block: eight threads for a row of partials, which few or all blocks may have left.
OCTET_DEVICE void fold_group_columns(const FoldGroupColumns& a) {
  constexpr int kVectors = 8;
  constexpr int kSlices = 32;
  OCTET_SHARED Vector slices[kSlices][kVectors];
  const int vector = thread_index() % kVectors;
  const int slice = thread_index() / kVectors;
  const int col = (block_index() * kVectors + vector) * 8;
  const int group = block_index_y();
  const Index begin = a.groups.offsets[group];
  const Index end = a.groups.offsets[group + 1];
  Vector largest{};
  if (begin < end && col < a.cols) {
    const Index each = rows_each(a.groups, a.blocks);
    const bf16* from = a.partials + (begin / each + group) * a.cols;
    const int count = static_cast<int>((end - 1) / each - begin / each) + 1;
#pragma unroll 4
    for (int i = slice; i < count; i += kSlices) {
      raise(largest, load_eight_of(from + Index{i} * a.cols, col, a.cols, a.cols % 8 == 0));
    }
  }
  slices[slice][vector] = largest;
  sync_block();
  if (slice != 0 || col >= a.cols) return;
#pragma unroll 4
  for (int i = 1; i < kSlices; ++i) raise(largest, slices[i][vector]);
  store_some(a.amax + Index{group} * a.cols + col, a.cols - col, largest);
}

/// The next tile, under way to shared memory while a block casts the one before.
struct RowsAhead {
  Vector slots[4][kTileThreads];

  OCTET_DEVICE void ask(const GatherRowsCast& a, const GroupTile& tile) {
    if (!a.aligned) return;
    const RowSource source{a.x, a.choice_of_row, a.top_k, a.cols};
#pragma unroll
    for (int r = 0; r < 4; ++r) {
      const bool there = tile.has(r) && tile.col() < a.cols;
      begin_copy<16>(&slots[r][thread_index()], there ? source.row(tile.row(r), tile.row(r) + 1) + tile.col() : a.x,
                     there);
    }
  }

  /// The tile that was asked for, after finish_copies(); rows that are not aligned are read now.
  [[nodiscard]] OCTET_DEVICE TileValues take(const GatherRowsCast& a, const GroupTile& tile) const {
    TileValues x;
    const RowSource source{a.x, a.choice_of_row, a.top_k, a.cols};
#pragma unroll
    for (int r = 0; r < 4; ++r) {
      if (a.aligned) {
        x.rows[r] = slots[r][thread_index()];
      } else {
        x.rows[r] = tile.has(r) ? load_some(source.row(tile.row(r), tile.row(r) + 1) + tile.col(), a.cols - tile.col())
                                : Vector{};
      }
    }
    return x;
  }
};

template <fp8::Format F>
OCTET_DEVICE void gather_rows_cast(const GatherRowsCast& a) {
  OCTET_SHARED TransposedTile transposed;
  OCTET_SHARED float scales[kTileCols];
  OCTET_SHARED RowsAhead ahead;
  leave_inverses(a.transposed, a.rule, Index{a.groups.count} * a.cols);
  const int tiles = tiles_of(a.groups, a.tiles_across);
  int number = block_index();
  GroupTile tile(a.groups, a.tiles_across, number, 0);
  bf16 amax = column_amax(a.transposed, tile, thread_index(), a.cols);
  ahead.ask(a, tile);
  while (number < tiles) {
    if (thread_index() < kTileCols) scales[thread_index()] = scale_of(a.rule, amax);
    finish_copies();
    const TileValues x = ahead.take(a, tile);
    sync_block();
    number += block_count();
    const GroupTile next(a.groups, a.tiles_across, number, tile.group);
    amax = column_amax(a.transposed, next, thread_index(), a.cols);
    ahead.ask(a, next);
    transposed.fill<F>(x, scales, tile.kept());
    sync_block();  // all have read the scales, which the next tile replaces
    transposed.store(a.transposed.codes, tile.place, a.padded, a.cols, a.rows_aligned);
    tile = next;
  }
}

/// Eight columns of a token a thread.
OCTET_DEVICE void combine_rows(const CombineRows& a) {
  constexpr int kAtOnce = 4;  // routed rows under way
  const int vectors = (a.cols + 7) / 8;
  const Index step = Index{block_count()} * thread_count();
  for (Index i = Index{block_index()} * thread_count() + thread_index(); i < a.tokens * vectors; i += step) {
    const Index token = i / vectors;
    const int col = static_cast<int>(i % vectors) * 8;
    Eight sum{};
    if (a.base != nullptr) unpack(load_eight_of(a.base + token * a.cols, col, a.cols, a.aligned), sum);
    for (int first = 0; first < a.top_k; first += kAtOnce) {
      Vector rows[kAtOnce];
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) {
        if (first + k >= a.top_k) break;
        const Index row = a.row_of_choice[token * a.top_k + first + k];
        rows[k] = load_eight_of(a.routed + row * a.cols, col, a.cols, a.aligned);
      }
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) {
        if (first + k >= a.top_k) break;
        Eight row;
        unpack(rows[k], row);
#pragma unroll
        for (int j = 0; j < 8; ++j) sum[j] += row[j];
      }
    }
    bf16* to = a.out + token * a.cols + col;
    if (a.aligned) {
      store_eight(to, sum);
    } else {
      store_some(to, a.cols - col, sum);
    }
  }
}

}  // namespace
}  // namespace octet::kernels

OCTET_ROW_KERNELS(gather_rows, GatherRows, gather_rows)
OCTET_SIMPLE_KERNEL(256, fold_group_columns, FoldGroupColumns, fold_group_columns)
// 64 registers, with which a multiprocessor runs four blocks.
OCTET_FORMAT_KERNELS(OCTET_DENSE_KERNEL(256, 4), gather_rows_cast, GatherRowsCast, gather_rows_cast)
OCTET_SIMPLE_KERNEL(256, combine_rows, CombineRows, combine_rows)
