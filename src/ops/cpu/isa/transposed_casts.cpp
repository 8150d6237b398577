// Casts to FP8 that transpose: one scale per column (or one for all), codes of a column side by side.
//
// A block of columns is read twice, row by row: for its maxima, then for its codes. 64 rows of codes at a time are
// transposed in registers and written out in whole cache lines.
#include "ops/cpu/isa/cast.h"
#include "ops/cpu/isa/kernels.h"
#include "ops/cpu/row_scale.h"

namespace octet::ops::cpu::OCTET_ISA {
namespace {

/// Rows and columns that are transposed at once.
constexpr Index kTileSize = 64;

using Bytes [[gnu::vector_size(kRegisterBytes)]] = std::uint8_t;

/// Part of a matrix: all rows of at most kColumnBlock columns.
struct ColumnBlock {
  const bf16* x;  // [rows, stride], from the first column of the block
  Index rows, stride, width;

  /// The width, rounded up to whole tiles.
  [[gnu::always_inline]] [[nodiscard]] Index padded_width() const {
    return (width + kTileSize - 1) / kTileSize * kTileSize;
  }
};

using PaddedRow = bf16[kColumnBlock];

/// The row's values in the block; where they do not fill whole tiles, copied and followed by zeros.
[[gnu::always_inline]] inline const bf16* padded_row(const ColumnBlock& block, Index row, PaddedRow& padded) {
  const bf16* x = block.x + row * block.stride;
  if (block.width % kTileSize == 0) [[likely]]
    return x;
  __builtin_memset(padded, 0, sizeof padded);
  __builtin_memcpy(padded, x, static_cast<std::size_t>(block.width) * sizeof(bf16));
  return padded;
}

/// Asks for values that are needed some rows later: a processor's own look-ahead ends with the short piece of a row.
[[gnu::always_inline]] inline void prefetch_later_row(const ColumnBlock& block, const bf16* x) {
  constexpr Index kRowsAhead = 8;
  __builtin_prefetch(x + kRowsAhead * block.stride);
}

[[gnu::always_inline]] inline void column_maxima(const ColumnBlock& block, std::uint16_t (&maxima)[kColumnBlock]) {
  const I16 mask = splat<std::int16_t>(0x7FFF);
  __builtin_memset(maxima, 0, sizeof maxima);
  PaddedRow padded;
  for (Index row = 0; row < block.rows; ++row) {
    const bf16* x = padded_row(block, row, padded);
    for (Index col = 0; col < block.padded_width(); col += kPairLanes) {
      prefetch_later_row(block, x + col);
      store_64_bytes(maxima + col, max(load_64_bytes<I16>(maxima + col), load_64_bytes<I16>(x + col) & mask));
    }
  }
}

/// Bytes of a and b in turn, from the lower or upper half of each 16 bytes.
template <int half, std::size_t... byte>
[[gnu::always_inline]] inline Bytes interleave(Bytes a, Bytes b, std::index_sequence<byte...>) {
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
[[gnu::always_inline]] inline void transpose_16_rows(const RowTile& from, Index row, Index col, ColumnTile& to) {
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
[[gnu::always_inline]] inline void store_transposed(const RowTile& tile, const ColumnBlock& block, Index col, Index row,
                                                    Index count, std::uint8_t* codes) {
  ColumnTile columns;
  for (Index i = 0; i < kTileSize; i += 16) transpose_16_rows(tile, i, col, columns);
  const Index width = block.width - col < kTileSize ? block.width - col : kTileSize;
  for (Index i = 0; i < width; ++i) {
    std::uint8_t* to = codes + (col + i) * block.rows + row;
    if (count == kTileSize) [[likely]] {
      __builtin_memcpy(to, columns[i], kTileSize);
    } else {
      __builtin_memcpy(to, columns[i], static_cast<std::size_t>(count));
    }
  }
}

/// Codes of the block under one scale per column; column i of the block starts at codes + i * rows.
template <fp8::Format F>
[[gnu::always_inline]] inline void encode_transposed(const ColumnBlock& block, const float (&scales)[kColumnBlock],
                                                     std::uint8_t* codes) {
  PairScales pairs[kColumnBlock / kPairLanes];
  for (Index i = 0; i < kColumnBlock / kPairLanes; ++i) pairs[i] = pair_scales(scales + i * kPairLanes);
  RowTile tile{};
  PaddedRow padded;
  for (Index row = 0; row < block.rows; row += kTileSize) {
    const Index count = block.rows - row < kTileSize ? block.rows - row : kTileSize;
    for (Index i = 0; i < count; ++i) {
      // The lines that the tile goes to lie far apart; asked for now, they are here when they are written.
      for (Index col = i; col < block.width; col += kTileSize) __builtin_prefetch(codes + col * block.rows + row, 1);
      const bf16* x = padded_row(block, row + i, padded);
      for (Index col = 0; col < block.padded_width(); col += kPairLanes) {
        prefetch_later_row(block, x + col);
        encode_pairs<F>(x + col, pairs[col / kPairLanes], tile[i] + col);
      }
    }
    for (Index col = 0; col < block.width; col += kTileSize) store_transposed(tile, block, col, row, count, codes);
  }
}

/// Calls visit(first column, block) on columns [begin, end).
template <typename Visit>
[[gnu::always_inline]] inline void for_each_block(const bf16* x, Index rows, Index cols, Index begin, Index end,
                                                  Visit visit) {
  for (Index col = begin; col < end; col += kColumnBlock) {
    visit(col, ColumnBlock{x + col, rows, cols, end - col < kColumnBlock ? end - col : kColumnBlock});
  }
}

}  // namespace

void quantize_columns(const QuantizeColumns& op, Index begin, Index end) {
  for_each_block(op.x, op.rows, op.cols, begin, end, [&](Index col, const ColumnBlock& block) {
    std::uint16_t maxima[kColumnBlock];
    float scales[kColumnBlock]{};
    column_maxima(block, maxima);
    for (Index i = 0; i < block.width; ++i) {
      const RowScale scale = row_scale(op.codes.rule, maxima[i]);
      scales[i] = scale.scale;
      op.codes.scale_inverse[col + i] = scale.inverse;
    }
    with_format(op.codes.format,
                [&](auto tag) { encode_transposed<tag.format>(block, scales, op.codes.codes + col * op.rows); });
  });
}

void cast_columns(const QuantizeTensor& op, float scale, Index begin, Index end) {
  float scales[kColumnBlock];
  for (float& each : scales) each = scale;
  for_each_block(op.x, op.rows, op.cols, begin, end, [&](Index col, const ColumnBlock& block) {
    with_format(op.format,
                [&](auto tag) { encode_transposed<tag.format>(block, scales, op.codes_transposed + col * op.rows); });
  });
}

}  // namespace octet::ops::cpu::OCTET_ISA
