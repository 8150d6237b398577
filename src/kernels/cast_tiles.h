// What casts that transpose share: tiles of 128 rows and 64 columns, whose codes leave in whole lines of memory.
#pragma once

#include "kernels/arguments.h"
#include "kernels/eight.h"
#include "kernels/measured.h"

namespace octet::kernels {

constexpr int kTileRows = 128;  // that a block of 256 threads casts at once
constexpr int kTileCols = 64;
constexpr int kTileThreads = 256;

/// Where a tile lies: tiles of a row of tiles are neighbours.
struct TilePlace {
  Index first_row;
  int first_col;

  OCTET_DEVICE TilePlace(int tiles_across, int tile)
      : first_row(Index{tile / tiles_across} * kTileRows), first_col(tile % tiles_across * kTileCols) {}
};

/// A thread's part of a tile, eight columns of four rows: thread t has columns 8 (t % 8) and rows 4 (t / 8) on.
struct TilePart {
  Index row;
  int col;

  OCTET_DEVICE explicit TilePart(const TilePlace& tile)
      : row(tile.first_row + thread_index() / 8 * 4), col(tile.first_col + thread_index() % 8 * 8) {}

  /// Whether row r of the four lies in a matrix [rows, cols].
  [[nodiscard]] OCTET_DEVICE bool has(int r, Index rows, int cols) const { return row + r < rows && col < cols; }
};

/// The values of a thread's part; zero beyond the matrix.
struct TileValues {
  Vector rows[4];

  [[nodiscard]] OCTET_DEVICE float at(int r, int i) const {
    return i % 2 == 0 ? low_half(rows[r].words[i / 2]) : high_half(rows[r].words[i / 2]);
  }
};

/// Whose scale a thread makes of a tile: that of one slice of a layout, or none. Of several matrices, it is
/// block_index_y()'s.
struct ScaleMaker {
  const CastSide* side = nullptr;
  Index at = 0;
  bool leaves = false;  // the inverse: the first tile of each row or column of tiles does
  bf16 amax{0};         // read ahead of its use

  OCTET_DEVICE ScaleMaker() {}
  /// Of slice i of `count`, where the layout is wanted.
  OCTET_DEVICE ScaleMaker(const CastSide& of, Index i, Index count, bool first) {
    if (of.codes == nullptr || i >= count) return;
    side = &of;
    at = block_index_y() * count + i;
    leaves = first;
    if (of.amax != nullptr) amax = of.amax[at];
  }

  [[nodiscard]] OCTET_DEVICE float make(const fp8::ScaleRule& rule) const {
    if (side == nullptr) return 0.0F;
    if (side->amax == nullptr) return side->one_scale[block_index_y()];
    const float scale = scale_of(rule, amax);
    if (leaves) side->scale_inverse[at] = fp8::inverse(scale);
    return scale;
  }
};

/// Scales of the columns of some tiles, read four at a time.
template <int Tiles>
struct alignas(16) ColumnScales {
  float of[Tiles * kTileCols];

  OCTET_DEVICE void set(int i, float scale) {
    if (i < Tiles * kTileCols) of[i] = scale;
  }
};

/// Transposed codes of a tile, four rows of a column to a word. A warp writes words of four neighbouring row quads and
/// of every eighth column, and reads 16 bytes of eight neighbouring quads: with the quads of each eight columns in an
/// order of their own, neither meets a bank twice.
struct alignas(16) TransposedTile {
  std::uint32_t words[kTileCols][kTileRows / 4];

  OCTET_DEVICE std::uint32_t& quad(int col, int quad) { return words[col][quad ^ (col / 8 * 4)]; }
  /// Sixteen rows of a column.
  [[nodiscard]] OCTET_DEVICE Vector sixteen(int col, int part) const {
    return *reinterpret_cast<const Vector*>(&words[col][(part ^ (col / 8)) * 4]);
  }

  /// The thread's part, under the scales of the tile's columns. `kept` has a byte for each of its four rows: codes of
  /// those that are not there are zero, whatever the scale.
  template <fp8::Format F>
  OCTET_DEVICE void fill(const TileValues& x, const float* column_scales, std::uint32_t kept = 0xFFFF'FFFFU) {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const int col = thread_index() % 8 * 8 + i;
      const float scale = column_scales[col];
      quad(col, thread_index() / 8) =
          encode_four<F>(x.at(0, i) * scale, x.at(1, i) * scale, x.at(2, i) * scale, x.at(3, i) * scale) & kept;
    }
  }

  /// To codes [cols, rows]. 128 rows of a column are eight threads' 16 bytes each: whole lines of memory.
  OCTET_DEVICE void store(std::uint8_t* codes, const TilePlace& place, Index rows, int cols, bool aligned) const {
    const int part = thread_index() % 8;
    const Index row = place.first_row + part * 16;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int col = thread_index() / 8 + half * 32;
      if (place.first_col + col >= cols || row >= rows) continue;
      const Vector of_column = sixteen(col, part);
      std::uint8_t* to = codes + Index{place.first_col + col} * rows + row;
      if (aligned) {
        store_16_bytes(to, of_column);
        continue;
      }
#pragma unroll
      for (int i = 0; i < 16; ++i) {
        if (row + i < rows) to[i] = static_cast<std::uint8_t>(of_column.words[i / 4] >> (i % 4 * 8));
      }
    }
  }
};

}  // namespace octet::kernels
