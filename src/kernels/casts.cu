// Casts to FP8: rows under their own scales, and codes under known maxima, as stored and transposed in one pass.
#include "kernels/cast_tiles.h"
#include "kernels/measured.h"

namespace octet::kernels {
namespace {

/// 2 (x) + 1 (codes) bytes an element; with no codes wanted, the maxima alone, of matrix block_index_y().
template <fp8::Format F, int V>
OCTET_DEVICE void quantize_rows(const QuantizeRows& a) {
  OCTET_SHARED std::uint32_t parts[BlockFold<std::uint32_t>::kParts];
  BlockFold<std::uint32_t, BlockRows::several> maxima(parts);
  const RowPlace<V> place{a.cols, a.aligned};
  ColumnFold<V> columns(a.measured.column_partials != nullptr);
  const RowAhead<V> next(a.ahead, place, 1);
  const Index matrix = block_index_y();
  const bf16* matrix_x = a.x + matrix * a.rows * a.cols;
  next.ask(matrix_x + first_row() * a.cols, place, first_row() < a.rows);
  for (Index r = first_row(); r < a.rows; r += row_step()) {
    RowVectors<V> x;
    finish_copies();
    next.take(matrix_x + r * a.cols, place, x);
    next.ask(matrix_x + (r + row_step()) * a.cols, place, r + row_step() < a.rows);
    leave_row<F, V>(a.measured, x, place, r, columns, maxima);
    if (a.measured.codes == nullptr && a.measured.row_amax != nullptr) {
      const std::uint16_t amax = maxima.largest_half(x.largest());
      if (thread_index() == 0) a.measured.row_amax[matrix * a.rows + r] = bf16{amax};
    }
  }
  columns.store(a.measured.column_partials + matrix * block_count() * a.cols, a.cols, 0, place);
}

/// The largest of a matrix's maxima gives its one scale; a block a matrix.
OCTET_DEVICE void make_one_scale(const MakeScale& a) {
  OCTET_SHARED std::uint32_t parts[BlockFold<std::uint32_t>::kParts];
  BlockFold<std::uint32_t> maxima(parts);
  const bf16* amax_of_matrix = a.amax + block_index() * a.count;
  std::uint32_t largest = 0;
  for (Index i = thread_index(); i < a.count; i += thread_count()) largest = max_u16x2(largest, amax_of_matrix[i].bits);
  const bf16 amax{maxima.largest_half(largest)};
  if (thread_index() != 0) return;
  const float scale = scale_of(a.rule, amax);
  a.scale[block_index()] = scale;
  a.scale_inverse[block_index()] = fp8::inverse(scale);
}

OCTET_DEVICE void repeat_scale(const RepeatScale& a) {
  const Index i = Index{block_index()} * thread_count() + thread_index();
  if (i < a.count) a.to[i] = a.from[0];
}

/// Where matrix block_index_y() begins.
OCTET_DEVICE Index matrix_begin(const CastTiles& a) {
  return block_index_y() * a.rows * a.cols;
}

/// The next tile, under way to shared memory while a block casts the one before, as kernels/row.h has it of rows.
struct TileAhead {
  Vector slots[4][kTileThreads];

  OCTET_DEVICE void ask(const CastTiles& a, const TilePart& part) {
    if (!a.aligned) return;
#pragma unroll
    for (int r = 0; r < 4; ++r) {
      begin_copy<16>(&slots[r][thread_index()], a.x + matrix_begin(a) + (part.row + r) * a.cols + part.col,
                     part.has(r, a.rows, a.cols));
    }
  }

  /// The tile that was asked for, after finish_copies(); rows that are not aligned are read now.
  [[nodiscard]] OCTET_DEVICE TileValues take(const CastTiles& a, const TilePart& part) const {
    TileValues x;
#pragma unroll
    for (int r = 0; r < 4; ++r) {
      if (a.aligned) {
        x.rows[r] = slots[r][thread_index()];
      } else {
        x.rows[r] = part.has(r, a.rows, a.cols)
                        ? load_some(a.x + matrix_begin(a) + (part.row + r) * a.cols + part.col, a.cols - part.col)
                        : Vector{};
      }
    }
    return x;
  }
};

/// The first threads make scales of the tile's rows, the next of its columns.
OCTET_DEVICE ScaleMaker maker_of(const CastTiles& a, const TilePlace& tile) {
  const int i = thread_index();
  if (i < kTileRows) return {a.stored, tile.first_row + i, a.rows, tile.first_col == 0};
  if (i >= kTileRows + kTileCols) return {};
  return {a.transposed, tile.first_col + i - kTileRows, a.cols, tile.first_row == 0};
}

/// Of a tile's rows, then of its columns.
struct TileScales {
  alignas(16) float of[kTileRows + kTileCols];

  OCTET_DEVICE void set(int i, float scale) {
    if (i < kTileRows + kTileCols) of[i] = scale;
  }
  [[nodiscard]] OCTET_DEVICE float row(int r) const { return of[r]; }
  [[nodiscard]] OCTET_DEVICE const float* columns() const { return of + kTileRows; }
};

template <fp8::Format F>
OCTET_DEVICE void store_as_stored(const CastTiles& a, const TilePart& part, const TileValues& x,
                                  const TileScales& scales) {
#pragma unroll
  for (int r = 0; r < 4; ++r) {
    if (!part.has(r, a.rows, a.cols)) continue;
    const float scale = scales.row(thread_index() / 8 * 4 + r);
    std::uint32_t codes[2];
#pragma unroll
    for (int w = 0; w < 2; ++w) {
      codes[w] = encode_four<F>(x.at(r, 4 * w) * scale, x.at(r, 4 * w + 1) * scale, x.at(r, 4 * w + 2) * scale,
                                x.at(r, 4 * w + 3) * scale);
    }
    std::uint8_t* to = a.stored.codes + matrix_begin(a) + (part.row + r) * a.cols + part.col;
    if (a.aligned) {
      *reinterpret_cast<std::uint64_t*>(to) = codes[0] | (std::uint64_t{codes[1]} << 32);
    } else {
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        if (part.col + i < a.cols) to[i] = static_cast<std::uint8_t>(codes[i / 4] >> (i % 4 * 8));
      }
    }
  }
}

/// Tiles of matrix block_index_y() one after the other: 2 (x) + 1 for each layout bytes an element.
template <fp8::Format F>
OCTET_DEVICE void cast_tiles(const CastTiles& a) {
  OCTET_SHARED TransposedTile transposed;
  OCTET_SHARED TileScales scales;
  OCTET_SHARED TileAhead ahead;
  int tile = block_index();
  TilePlace place(a.tiles_across, tile);
  ScaleMaker maker = maker_of(a, place);
  ahead.ask(a, TilePart(place));
  while (tile < a.tiles) {
    scales.set(thread_index(), maker.make(a.rule));
    const TilePart part(place);
    finish_copies();
    const TileValues x = ahead.take(a, part);
    sync_block();
    tile += block_count();
    const TilePlace next(a.tiles_across, tile);
    maker = maker_of(a, next);
    ahead.ask(a, TilePart(next));
    if (a.stored.codes != nullptr) store_as_stored<F>(a, part, x, scales);
    if (a.transposed.codes != nullptr) transposed.fill<F>(x, scales.columns());
    sync_block();  // all have read the scales, which the next tile replaces
    if (a.transposed.codes != nullptr) {
      transposed.store(a.transposed.codes + matrix_begin(a), place, a.rows, a.cols, a.rows_aligned);
    }
    place = next;
  }
}

}  // namespace
}  // namespace octet::kernels

OCTET_ROW_KERNELS(quantize_rows, QuantizeRows, quantize_rows)
OCTET_SIMPLE_KERNEL(256, repeat_scale, RepeatScale, repeat_scale)
OCTET_SIMPLE_KERNEL(1024, make_one_scale, MakeScale, make_one_scale)
// 64 registers, with which a multiprocessor runs four blocks.
OCTET_FORMAT_KERNELS(OCTET_DENSE_KERNEL(256, 4), cast_tiles, CastTiles, cast_tiles)
