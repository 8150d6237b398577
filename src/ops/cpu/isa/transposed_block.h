// What casts that transpose have in common: one scale per column (or one for all), codes of a column side by side; and
// on the way, where they are wanted, the codes as stored.
//
// A block of columns is read, or computed, row by row. 64 rows of codes at a time are transposed in registers and
// written out in whole cache lines.
#pragma once

#include "ops/cpu/isa/cast.h"
#include "ops/cpu/row_kernels.h"

namespace octet::ops::cpu::OCTET_ISA {

/// Rows and columns that are transposed at once.
inline constexpr Index kTileSize = 64;

using Bytes [[gnu::vector_size(kRegisterBytes)]] = std::uint8_t;

/// Part of a matrix with its transposed codes: all rows of at most kTileSize columns.
struct TileColumns {
  std::uint8_t* codes;  // of the first column; the next begins a stride behind
  Index width;
};

/// What is cast at once: kColumnBlock columns, some of which may be missing.
struct ColumnBlock {
  Index rows;
  Index stride;  // between the codes of neighbouring columns
  TileColumns tiles[kColumnBlock / kTileSize];

  /// The columns of tiles that hold any.
  [[gnu::always_inline]] [[nodiscard]] Index padded_width() const {
    return tiles[1].width > 0 ? 2 * kTileSize : kTileSize;
  }
};

/// A row of a block; zero where columns are missing.
using PaddedRow = bf16[kColumnBlock];

/// How long before its turn a row is asked for: a processor's own look-ahead ends with the short piece of a row.
inline constexpr Index kRowsAhead = 8;

/// Where the values of a block come from: a matrix.
struct MatrixRows {
  const bf16* x;  // [rows, stride], from the first column of the block
  Index stride, width;

  /// In place where they fill whole tiles, else copied.
  [[gnu::always_inline]] const bf16* row(Index row, PaddedRow& padded) const {
    const bf16* values = x + row * stride;
    for (Index col = 0; col < width; col += kPairLanes) __builtin_prefetch(values + col + kRowsAhead * stride);
    if (width % kTileSize == 0) [[likely]]
      return values;
    __builtin_memset(padded, 0, sizeof padded);
    __builtin_memcpy(padded, values, static_cast<std::size_t>(width) * sizeof(bf16));
    return padded;
  }
};

/// Bytes of a and b in turn, from the lower or upper half of each 16 bytes.
template <int half, std::size_t... byte>
[[gnu::always_inline]] static inline Bytes interleave(Bytes a, Bytes b, std::index_sequence<byte...>) {
  constexpr auto index = [](std::size_t i) { return i % 2 * kRegisterBytes + i / 16 * 16 + half * 8 + i % 16 / 2; };
#if __has_builtin(__builtin_shufflevector)
  return __builtin_shufflevector(a, b, index(byte)...);
#else  // g++ before 12
  return __builtin_shuffle(a, b, Bytes{static_cast<std::uint8_t>(index(byte))...});
#endif
}

/// Codes of 64 rows of a block.
using RowTile = std::uint8_t[kTileSize][kColumnBlock];
/// Codes of 64 columns, transposed.
using ColumnTile = std::uint8_t[kTileSize][kTileSize];

/// Rows [row, row + 16) of 64 columns from `col` on become columns of `to`. Four perfect shuffles of 16 rows transpose
/// each block of 16 x 16.
[[gnu::always_inline]] static inline void transpose_16_rows(const RowTile& from, Index row, Index col, ColumnTile& to) {
  constexpr auto all_bytes = std::make_index_sequence<kRegisterBytes>();
  for (Index first = 0; first < kTileSize; first += kRegisterBytes) {
    Bytes rows[16];
    for (int i = 0; i < 16; ++i) __builtin_memcpy(&rows[i], &from[row + i][col + first], sizeof(Bytes));
    for (int round = 0; round < 4; ++round) {
      Bytes shuffled[16];
      for (int i = 0; i < 8; ++i) {
        shuffled[2 * i] = interleave<0>(rows[i], rows[i + 8], all_bytes);
        shuffled[2 * i + 1] = interleave<1>(rows[i], rows[i + 8], all_bytes);
      }
      __builtin_memcpy(rows, shuffled, sizeof rows);
    }
    for (int i = 0; i < 16; ++i) {
      std::uint8_t bytes[kRegisterBytes];
      __builtin_memcpy(bytes, &rows[i], sizeof bytes);
      for (int part = 0; part < kRegisterBytes / 16; ++part) {
        __builtin_memcpy(&to[first + part * 16 + i][row], bytes + part * 16, 16);
      }
    }
  }
}

/// Columns [col, col + 64) of 64 rows of codes, the first `count` of them valid, to the rows from `row` on.
[[gnu::always_inline]] static inline void store_transposed(const RowTile& tile, Index col,
                                                           const TileColumns& to_columns, Index stride, Index row,
                                                           Index count) {
  ColumnTile columns;
  for (Index i = 0; i < kTileSize; i += 16) transpose_16_rows(tile, i, col, columns);
  for (Index i = 0; i < to_columns.width; ++i) {
    std::uint8_t* to = to_columns.codes + i * stride + row;
    if (count == kTileSize) [[likely]] {
      __builtin_memcpy(to, columns[i], kTileSize);
    } else {
      __builtin_memcpy(to, columns[i], static_cast<std::size_t>(count));
    }
  }
}

/// The layout as stored of a block that is cast to both: where its first row goes, and one scale per row or for all.
struct StoredBlock {
  std::uint8_t* codes = nullptr;
  Index stride = 0, width = 0;
  const float* scales = nullptr;
  bool by_row = false;

  /// The codes of a row's part in the block. Asks for the lines that a later row goes to.
  template <fp8::Format F>
  [[gnu::always_inline]] void encode(const bf16* x, Index row) const {
    std::uint8_t* to = codes + row * stride;
    for (Index col = 0; col < width; col += kTileSize) __builtin_prefetch(to + kRowsAhead * stride + col, 1);
    const F32 scale = splat(scales[by_row ? row : 0]);
    std::uint8_t row_codes[kColumnBlock];
    for (Index col = 0; col < width; col += kPairLanes) encode_pairs<F>(x + col, {scale, scale}, row_codes + col);
    if (width == kColumnBlock) [[likely]] {
      __builtin_memcpy(to, row_codes, kColumnBlock);
    } else {
      __builtin_memcpy(to, row_codes, static_cast<std::size_t>(width));
    }
  }
};

/// Codes of the block under one scale per column.
template <fp8::Format F, typename Rows>
[[gnu::always_inline]] static inline void encode_block(const ColumnBlock& block, const Rows& values,
                                                       const float (&scales)[kColumnBlock], const StoredBlock& stored) {
  PairScales pairs[kColumnBlock / kPairLanes];
  for (Index i = 0; i < kColumnBlock / kPairLanes; ++i) pairs[i] = pair_scales(scales + i * kPairLanes);
  RowTile tile{};
  PaddedRow padded{};
  for (Index first = 0; first < block.rows; first += kTileSize) {
    const Index count = block.rows - first < kTileSize ? block.rows - first : kTileSize;
    for (Index i = 0; i < count; ++i) {
      // The lines that the tile goes to lie far apart; asked for now, they are here when they are written.
      for (const TileColumns& to : block.tiles) {
        if (i < to.width) __builtin_prefetch(to.codes + i * block.stride + first, 1);
      }
      const bf16* x = values.row(first + i, padded);
      for (Index col = 0; col < block.padded_width(); col += kPairLanes) {
        encode_pairs<F>(x + col, pairs[col / kPairLanes], tile[i] + col);
      }
      if (stored.codes != nullptr) stored.encode<F>(x, first + i);
    }
    Index col = 0;
    for (const TileColumns& to : block.tiles) {
      if (to.width > 0) store_transposed(tile, col, to, block.stride, first, count);
      col += kTileSize;
    }
  }
}

[[gnu::always_inline]] static inline Index smaller(Index a, Index b) {
  return a < b ? a : b;
}

/// A block of neighbouring columns, whose codes begin at `codes`.
[[gnu::always_inline]] static inline ColumnBlock neighbours(std::uint8_t* codes, Index rows, Index stride,
                                                            Index width) {
  const Index first = smaller(width, kTileSize);
  return {rows, stride, {{codes, first}, {codes + first * stride, width - first}}};
}

}  // namespace octet::ops::cpu::OCTET_ISA
