// Casts to FP8: rows under their own scales, and codes under known maxima, as stored and transposed in one pass.
#include "kernels/eight.h"
#include "kernels/measured.h"

namespace octet::kernels {
namespace {

/// 2 (x) + 1 (codes) bytes an element; with no codes wanted, the maxima alone.
template <fp8::Format F, int V>
OCTET_DEVICE void quantize_rows(const QuantizeRows& a) {
  OCTET_SHARED std::uint32_t maxima[32];
  const RowPlace<V> place{a.cols, a.aligned};
  ColumnFold<V> columns(a.measured.column_partials != nullptr);
  for (Index r = block_index(); r < a.rows; r += block_count()) {
    RowVectors<V> x;
    x.load(a.x + r * a.cols, place);
    leave_row<F, V>(a.measured, x, place, r, columns, maxima);
    if (a.measured.codes == nullptr && a.measured.row_amax != nullptr) {
      const std::uint16_t amax = block_max(x.largest(), maxima);
      if (thread_index() == 0) a.measured.row_amax[r] = bf16{amax};
    }
  }
  columns.store(a.measured.column_partials, a.cols, 0, place);
}

/// The scale of each row of a layout, or of all, and the inverse that products divide by.
OCTET_DEVICE void make_scales(const MakeScales& a) {
  const Index i = Index{block_index()} * thread_count() + thread_index();
  if (i >= a.count) return;
  const float scale = scale_of(a.rule, a.amax[i]);
  a.scales[i] = scale;
  a.scale_inverse[i] = fp8::inverse(scale);
}

/// The largest of all maxima gives one scale.
OCTET_DEVICE void make_one_scale(const MakeScales& a) {
  OCTET_SHARED std::uint32_t maxima[32];
  std::uint32_t largest = 0;
  for (Index i = thread_index(); i < a.count; i += thread_count()) largest = max_u16x2(largest, a.amax[i].bits);
  const bf16 amax{block_max(largest, maxima)};
  if (thread_index() != 0) return;
  const float scale = scale_of(a.rule, amax);
  a.scales[0] = scale;
  a.scale_inverse[0] = fp8::inverse(scale);
}

OCTET_DEVICE void repeat_scale(const RepeatScale& a) {
  const Index i = Index{block_index()} * thread_count() + thread_index();
  if (i < a.count) a.to[i] = a.from[0];
}

constexpr int kTileRows = 128;  // that a block of 256 threads casts at once
constexpr int kTileCols = 64;

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

/// Eight columns of four rows: thread t of a tile has columns 8 (t % 8) and rows 4 (t / 8) on.
struct TilePart {
  Index row;
  int col;
  Vector x[4];  // zero beyond the matrix

  OCTET_DEVICE TilePart(const CastTiles& a, Index first_row, int first_col)
      : row(first_row + thread_index() / 8 * 4), col(first_col + thread_index() % 8 * 8) {
#pragma unroll
    for (int r = 0; r < 4; ++r) {
      x[r] = Vector{};
      if (row + r >= a.rows || col >= a.cols) continue;
      const bf16* from = a.x + (row + r) * a.cols + col;
      if (a.aligned) {
        x[r] = load_16_bytes<Vector>(from);
      } else {
#pragma unroll
        for (int i = 0; i < 8; ++i) {
          const std::uint32_t bits = col + i < a.cols ? from[i].bits : 0U;
          x[r].words[i / 2] |= bits << (i % 2 * 16);
        }
      }
    }
  }

  OCTET_DEVICE float at(int r, int i) const {
    return i % 2 == 0 ? low_half(x[r].words[i / 2]) : high_half(x[r].words[i / 2]);
  }
};

/// The scales of a part, loaded before anything is stored: no store can then stand before them.
struct TileScales {
  float rows[4];
  Eight cols;

  OCTET_DEVICE TileScales(const CastTiles& a, Index row, int col) {
#pragma unroll
    for (int r = 0; r < 4; ++r) {
      const bool wanted = a.stored_codes != nullptr && row + r < a.rows;
      rows[r] = wanted ? a.row_scales[a.scale_by_row ? row + r : 0] : 0.0F;
    }
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const bool wanted = a.transposed_codes != nullptr && col + i < a.cols;
      cols[i] = wanted ? a.column_scales[a.scale_by_column ? col + i : 0] : 0.0F;
    }
  }
};

template <fp8::Format F>
OCTET_DEVICE void store_as_stored(const CastTiles& a, const TilePart& part, const TileScales& scales) {
#pragma unroll
  for (int r = 0; r < 4; ++r) {
    if (part.row + r >= a.rows || part.col >= a.cols) continue;
    const float scale = scales.rows[r];
    std::uint32_t codes[2];
#pragma unroll
    for (int w = 0; w < 2; ++w) {
      codes[w] = encode_four<F>(part.at(r, 4 * w) * scale, part.at(r, 4 * w + 1) * scale, part.at(r, 4 * w + 2) * scale,
                                part.at(r, 4 * w + 3) * scale);
    }
    std::uint8_t* to = a.stored_codes + (part.row + r) * a.cols + part.col;
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
    const float scale = scales.cols[i];
    tile.quad(thread_index() % 8 * 8 + i, thread_index() / 8) =
        encode_four<F>(part.at(0, i) * scale, part.at(1, i) * scale, part.at(2, i) * scale, part.at(3, i) * scale);
  }
}

/// 128 rows of a column are eight threads' 16 bytes each: whole lines of memory.
OCTET_DEVICE void store_transposed(const CastTiles& a, const TransposedTile& tile, Index first_row, int first_col) {
  const int sixteen = thread_index() % 8;
  const Index row = first_row + sixteen * 16;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int col = thread_index() / 8 + half * 32;
    if (first_col + col >= a.cols || row >= a.rows) continue;
    const Vector codes = tile.sixteen(col, sixteen);
    std::uint8_t* to = a.transposed_codes + Index{first_col + col} * a.rows + row;
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

/// A tile of 128 rows and 64 columns: 2 (x) + 1 for each layout bytes an element.
template <fp8::Format F>
OCTET_DEVICE void cast_tiles(const CastTiles& a) {
  OCTET_SHARED TransposedTile tile;
  for (Index first_row = Index{block_index_y()} * kTileRows; first_row < a.rows;
       first_row += Index{block_count_y()} * kTileRows) {
    const int first_col = block_index() * kTileCols;
    const TilePart part(a, first_row, first_col);
    const TileScales scales(a, part.row, part.col);
    if (a.stored_codes != nullptr) store_as_stored<F>(a, part, scales);
    if (a.transposed_codes == nullptr) continue;
    transpose<F>(part, scales, tile);
    sync_block();
    store_transposed(a, tile, first_row, first_col);
    sync_block();  // the tile may be written again
  }
}

}  // namespace
}  // namespace octet::kernels

OCTET_ROW_KERNELS(quantize_rows, QuantizeRows, quantize_rows)
OCTET_SIMPLE_KERNEL(256, repeat_scale, RepeatScale, repeat_scale)
OCTET_SIMPLE_KERNEL(256, make_scales, MakeScales, make_scales)
OCTET_SIMPLE_KERNEL(1024, make_one_scale, MakeScales, make_one_scale)
// Launched with 256 threads: the bound says 64 registers, with which a multiprocessor runs four blocks.
OCTET_SIMPLE_KERNEL(1024, cast_tiles_e4m3fn, CastTiles, cast_tiles<octet::fp8::Format::e4m3fn>)
OCTET_SIMPLE_KERNEL(1024, cast_tiles_e5m2, CastTiles, cast_tiles<octet::fp8::Format::e5m2>)
