// Casts to FP8 that transpose: one scale per column (or one for all), codes of a column side by side; and on the way,
// where they are wanted, the codes as stored.
//
// A block of columns is read row by row. 64 rows of codes at a time are transposed in registers and written out in
// whole cache lines.
#include "ops/cpu/isa/cast.h"
#include "ops/cpu/isa/kernels.h"

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

/// How long before its turn a row is asked for: a processor's own look-ahead ends with the short piece of a row.
constexpr Index kRowsAhead = 8;

/// Asks for values that are needed some rows later.
[[gnu::always_inline]] inline void prefetch_later_row(const ColumnBlock& block, const bf16* x) {
  __builtin_prefetch(x + kRowsAhead * block.stride);
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

/// The codes as stored of a row's part in the block. Asks for the lines that a later row goes to.
template <fp8::Format F>
[[gnu::always_inline]] inline void encode_stored(const ColumnBlock& block, const bf16* x, float scale,
                                                 std::uint8_t* codes) {
  for (Index col = 0; col < block.width; col += kTileSize) {
    __builtin_prefetch(codes + kRowsAhead * block.stride + col, 1);
  }
  const PairScales scales{splat(scale), splat(scale)};
  std::uint8_t row[kColumnBlock];
  for (Index col = 0; col < block.padded_width(); col += kPairLanes) encode_pairs<F>(x + col, scales, row + col);
  if (block.width == kColumnBlock) [[likely]] {
    __builtin_memcpy(codes, row, kColumnBlock);
  } else {
    __builtin_memcpy(codes, row, static_cast<std::size_t>(block.width));
  }
}

/// The layout as stored of a block that is cast to both: where its first row goes, and one scale per row or for all.
struct StoredBlock {
  std::uint8_t* codes = nullptr;  // null: not wanted
  const float* scales = nullptr;
  bool by_row = false;
};

/// Codes of the block under one scale per column; column i of the block starts at codes + i * rows.
template <fp8::Format F>
[[gnu::always_inline]] inline void encode_block(const ColumnBlock& block, const float (&scales)[kColumnBlock],
                                                std::uint8_t* codes, const StoredBlock& stored) {
  PairScales pairs[kColumnBlock / kPairLanes];
  for (Index i = 0; i < kColumnBlock / kPairLanes; ++i) pairs[i] = pair_scales(scales + i * kPairLanes);
  RowTile tile{};
  PaddedRow padded;
  for (Index first = 0; first < block.rows; first += kTileSize) {
    const Index count = block.rows - first < kTileSize ? block.rows - first : kTileSize;
    for (Index i = 0; i < count; ++i) {
      // The lines that the tile goes to lie far apart; asked for now, they are here when they are written.
      for (Index col = i; col < block.width; col += kTileSize) __builtin_prefetch(codes + col * block.rows + first, 1);
      const Index row = first + i;
      const bf16* x = padded_row(block, row, padded);
      for (Index col = 0; col < block.padded_width(); col += kPairLanes) {
        prefetch_later_row(block, x + col);
        encode_pairs<F>(x + col, pairs[col / kPairLanes], tile[i] + col);
      }
      if (stored.codes == nullptr) continue;
      encode_stored<F>(block, x, stored.scales[stored.by_row ? row : 0], stored.codes + row * block.stride);
    }
    for (Index col = 0; col < block.width; col += kTileSize) store_transposed(tile, block, col, first, count, codes);
  }
}

}  // namespace

void cast_transposed(const Cast& op, const float* row_scales, const float* column_scales, Index begin, Index end) {
  const bool by_column = op.transposed.axis == ScaleAxis::row;
  for (Index col = begin; col < end; col += kColumnBlock) {
    const ColumnBlock block{op.x + col, op.rows, op.cols, end - col < kColumnBlock ? end - col : kColumnBlock};
    float scales[kColumnBlock]{};
    for (Index i = 0; i < block.width; ++i) scales[i] = column_scales[by_column ? col + i : 0];
    StoredBlock stored;
    if (op.as_stored.wanted()) stored = {op.as_stored.codes + col, row_scales, op.as_stored.axis == ScaleAxis::row};
    with_format(op.rule.format(), [&](auto tag) {
      encode_block<tag.format>(block, scales, op.transposed.codes + col * op.rows, stored);
    });
  }
}

}  // namespace octet::ops::cpu::OCTET_ISA
