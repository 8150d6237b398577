// Casts to FP8: rows under their own scales, and codes under known maxima, as stored and transposed in one pass.
#include "kernels/eight.h"
#include "kernels/measured.h"

namespace octet::kernels {
namespace {

/// 2 (x) + 1 (codes) bytes an element; with no codes wanted, the maxima alone.
template <fp8::Format F, int V>
OCTET_DEVICE void quantize_rows(const QuantizeRows& a) {
  OCTET_SHARED std::uint32_t parts[BlockFold<std::uint32_t>::kParts];
  BlockFold<std::uint32_t> maxima(parts);
  const RowPlace<V> place{a.cols, a.aligned};
  ColumnFold<V> columns(a.measured.column_partials != nullptr);
  const RowAhead<V> next(a.ahead, place, 1);
  next.ask(a.x + block_index() * Index{a.cols}, place, block_index() < a.rows);
  for (Index r = block_index(); r < a.rows; r += block_count()) {
    RowVectors<V> x;
    finish_copies();
    next.take(a.x + r * a.cols, place, x);
    next.ask(a.x + (r + block_count()) * a.cols, place, r + block_count() < a.rows);
    leave_row<F, V>(a.measured, x, place, r, columns, maxima);
    if (a.measured.codes == nullptr && a.measured.row_amax != nullptr) {
      const std::uint16_t amax = maxima.largest_half(x.largest());
      if (thread_index() == 0) a.measured.row_amax[r] = bf16{amax};
    }
  }
  columns.store(a.measured.column_partials, a.cols, 0, place);
}

/// The largest of all maxima gives one scale.
OCTET_DEVICE void make_one_scale(const MakeScale& a) {
  OCTET_SHARED std::uint32_t parts[BlockFold<std::uint32_t>::kParts];
  BlockFold<std::uint32_t> maxima(parts);
  std::uint32_t largest = 0;
  for (Index i = thread_index(); i < a.count; i += thread_count()) largest = max_u16x2(largest, a.amax[i].bits);
  const bf16 amax{maxima.largest_half(largest)};
  if (thread_index() != 0) return;
  const float scale = scale_of(a.rule, amax);
  a.scale[0] = scale;
  a.scale_inverse[0] = fp8::inverse(scale);
}

OCTET_DEVICE void repeat_scale(const RepeatScale& a) {
  const Index i = Index{block_index()} * thread_count() + thread_index();
  if (i < a.count) a.to[i] = a.from[0];
}

constexpr int kTileRows = 128;  // that a block of 256 threads casts at once
constexpr int kTileCols = 64;
constexpr int kTileThreads = 256;

/// Transposed codes of a tile, four rows of a column to a word. A warp writes words of four neighbouring row quads and
/// of every eighth column, and reads 16 bytes of eight neighbouring quads: with the quads of each eight columns in an
/// order of their own, neither meets a bank twice.
struct alignas(16) TransposedTile {
  std::uint32_t words[kTileCols][kTileRows / 4];

  OCTET_DEVICE std::uint32_t& quad(int col, int quad) { return words[col][quad ^ (col / 8 * 4)]; }
  /// Sixteen rows of a column.
  OCTET_DEVICE Vector sixteen(int col, int part) const {
    return *reinterpret_cast<const Vector*>(&words[col][(part ^ (col / 8)) * 4]);
  }
};

/// Where a tile lies: tiles of a row of tiles are neighbours.
struct TilePlace {
  Index first_row;
  int first_col;

  OCTET_DEVICE TilePlace(const CastTiles& a, int tile)
      : first_row(Index{tile / a.tiles_across} * kTileRows), first_col(tile % a.tiles_across * kTileCols) {}
};

/// Eight columns of four rows: thread t of a tile has columns 8 (t % 8) and rows 4 (t / 8) on.
struct TilePart {
  Index row;
  int col;
  Vector x[4];  // zero beyond the matrix

  OCTET_DEVICE explicit TilePart(const TilePlace& tile)
      : row(tile.first_row + thread_index() / 8 * 4), col(tile.first_col + thread_index() % 8 * 8) {}

  [[nodiscard]] OCTET_DEVICE bool has(const CastTiles& a, int r) const { return row + r < a.rows && col < a.cols; }

  OCTET_DEVICE float at(int r, int i) const {
    return i % 2 == 0 ? low_half(x[r].words[i / 2]) : high_half(x[r].words[i / 2]);
  }
};

/// The next tile, under way to shared memory while a block casts the one before, as kernels/row.h has it of rows.
struct TileAhead {
  Vector slots[4][kTileThreads];

  OCTET_DEVICE void ask(const CastTiles& a, const TilePart& part) {
    if (!a.aligned) return;
#pragma unroll
    for (int r = 0; r < 4; ++r) {
      begin_copy<16>(&slots[r][thread_index()], a.x + (part.row + r) * a.cols + part.col, part.has(a, r));
    }
  }

  /// The tile that was asked for, after finish_copies(); rows that are not aligned are read now.
  OCTET_DEVICE void take(const CastTiles& a, TilePart& part) const {
#pragma unroll
    for (int r = 0; r < 4; ++r) {
      Vector& x = part.x[r];
      if (a.aligned) {
        x = slots[r][thread_index()];
        continue;
      }
      x = Vector{};
      if (!part.has(a, r)) continue;
      const bf16* from = a.x + (part.row + r) * a.cols + part.col;
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        const std::uint32_t bits = part.col + i < a.cols ? from[i].bits : 0U;
        x.words[i / 2] |= bits << (i % 2 * 16);
      }
    }
  }
};

/// Whose scale a thread makes of a tile: that of a row, of a column, or none.
struct ScaleMaker {
  const CastSide* side = nullptr;
  Index at = 0;
  bool leaves = false;  // the inverse: the first tile of each row or column of tiles does
  bf16 amax{0};         // read ahead of its use

  OCTET_DEVICE ScaleMaker(const CastTiles& a, const TilePlace& tile) {
    const int i = thread_index();
    if (i < kTileRows) {
      pick(a.stored, tile.first_row + i, a.rows, tile.first_col == 0);
    } else if (i < kTileRows + kTileCols) {
      pick(a.transposed, tile.first_col + i - kTileRows, a.cols, tile.first_row == 0);
    }
  }

  OCTET_DEVICE float make(const fp8::ScaleRule& rule) const {
    if (side == nullptr) return 0.0F;
    if (side->amax == nullptr) return side->one_scale[0];
    const float scale = scale_of(rule, amax);
    if (leaves) side->scale_inverse[at] = fp8::inverse(scale);
    return scale;
  }

 private:
  OCTET_DEVICE void pick(const CastSide& of, Index i, Index count, bool first) {
    if (of.codes == nullptr || i >= count) return;
    side = &of;
    at = i;
    leaves = first;
    if (of.amax != nullptr) amax = of.amax[i];
  }
};

/// Of a tile's rows, then of its columns.
struct TileScales {
  alignas(16) float of[kTileRows + kTileCols];

  OCTET_DEVICE void set(int i, float scale) {
    if (i < kTileRows + kTileCols) of[i] = scale;
  }
  [[nodiscard]] OCTET_DEVICE float row(int r) const { return of[r]; }
  [[nodiscard]] OCTET_DEVICE float col(int c) const { return of[kTileRows + c]; }
};

template <fp8::Format F>
OCTET_DEVICE void store_as_stored(const CastTiles& a, const TilePart& part, const TileScales& scales) {
#pragma unroll
  for (int r = 0; r < 4; ++r) {
    if (!part.has(a, r)) continue;
    const float scale = scales.row(thread_index() / 8 * 4 + r);
    std::uint32_t codes[2];
#pragma unroll
    for (int w = 0; w < 2; ++w) {
      codes[w] = encode_four<F>(part.at(r, 4 * w) * scale, part.at(r, 4 * w + 1) * scale, part.at(r, 4 * w + 2) * scale,
                                part.at(r, 4 * w + 3) * scale);
    }
    std::uint8_t* to = a.stored.codes + (part.row + r) * a.cols + part.col;
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

template <fp8::Format F>
OCTET_DEVICE void transpose(const TilePart& part, const TileScales& scales, TransposedTile& tile) {
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const float scale = scales.col(thread_index() % 8 * 8 + i);
    tile.quad(thread_index() % 8 * 8 + i, thread_index() / 8) =
        encode_four<F>(part.at(0, i) * scale, part.at(1, i) * scale, part.at(2, i) * scale, part.at(3, i) * scale);
  }
}

/// 128 rows of a column are eight threads' 16 bytes each: whole lines of memory.
OCTET_DEVICE void store_transposed(const CastTiles& a, const TransposedTile& tile, const TilePlace& place) {
  const int sixteen = thread_index() % 8;
  const Index row = place.first_row + sixteen * 16;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int col = thread_index() / 8 + half * 32;
    if (place.first_col + col >= a.cols || row >= a.rows) continue;
    const Vector codes = tile.sixteen(col, sixteen);
    std::uint8_t* to = a.transposed.codes + Index{place.first_col + col} * a.rows + row;
    if (a.rows_aligned) {
      store_16_bytes(to, codes);
    } else {
#pragma unroll
      for (int i = 0; i < 16; ++i) {
        if (row + i < a.rows) to[i] = static_cast<std::uint8_t>(codes.words[i / 4] >> (i % 4 * 8));
      }
    }
  }
}

/// Tiles of 128 rows and 64 columns, one after the other: 2 (x) + 1 for each layout bytes an element.
template <fp8::Format F>
OCTET_DEVICE void cast_tiles(const CastTiles& a) {
  OCTET_SHARED TransposedTile transposed;
  OCTET_SHARED TileScales scales;
  OCTET_SHARED TileAhead ahead;
  int tile = block_index();
  TilePlace place(a, tile);
  ScaleMaker maker(a, place);
  ahead.ask(a, TilePart(place));
  while (tile < a.tiles) {
    scales.set(thread_index(), maker.make(a.rule));
    TilePart part(place);
    finish_copies();
    ahead.take(a, part);
    sync_block();
    tile += block_count();
    const TilePlace next(a, tile);
    maker = ScaleMaker(a, next);
    ahead.ask(a, TilePart(next));
    if (a.stored.codes != nullptr) store_as_stored<F>(a, part, scales);
    if (a.transposed.codes != nullptr) transpose<F>(part, scales, transposed);
    sync_block();  // all have read the scales, which the next tile replaces
    if (a.transposed.codes != nullptr) store_transposed(a, transposed, place);
    place = next;
  }
}

}  // namespace
}  // namespace octet::kernels

OCTET_ROW_KERNELS(quantize_rows, QuantizeRows, quantize_rows)
OCTET_SIMPLE_KERNEL(256, repeat_scale, RepeatScale, repeat_scale)
OCTET_SIMPLE_KERNEL(1024, make_one_scale, MakeScale, make_one_scale)
// 64 registers, with which a multiprocessor runs four blocks.
OCTET_DENSE_SIMPLE_KERNEL(256, 4, cast_tiles_e4m3fn, CastTiles, cast_tiles<octet::fp8::Format::e4m3fn>)
OCTET_DENSE_SIMPLE_KERNEL(256, 4, cast_tiles_e5m2, CastTiles, cast_tiles<octet::fp8::Format::e5m2>)
