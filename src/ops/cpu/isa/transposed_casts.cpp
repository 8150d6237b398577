// Casts to FP8 that transpose: one scale per column (or one for all), codes of a column side by side.
//
// Blocks of 64 columns: their maxima first, then, from the second-level cache, tiles of 64 rows, which are encoded row
// by row, transposed in registers and written out in whole cache lines.
#include "ops/cpu/isa/cast.h"
#include "ops/cpu/isa/kernels.h"
#include "ops/cpu/row_scale.h"

namespace octet::ops::cpu::OCTET_ISA {
namespace {

constexpr Index kTileSize = 64;

using Bytes [[gnu::vector_size(kRegisterBytes)]] = std::uint8_t;

struct Tile {
  alignas(64) std::uint8_t codes[kTileSize][kTileSize];
};

/// Part of a matrix: all rows of at most 64 columns.
struct ColumnBlock {
  const bf16* x;  // [rows, stride], from the first column of the block
  Index rows, stride, width;
};

/// The row's values in the block; where the block is narrower than 64 columns, copied and followed by zeros.
[[gnu::always_inline]] inline const bf16* padded_row(const ColumnBlock& block, Index row, bf16 (&padded)[kTileSize]) {
  const bf16* x = block.x + row * block.stride;
  if (block.width == kTileSize) [[likely]]
    return x;
  __builtin_memset(padded, 0, sizeof padded);
  __builtin_memcpy(padded, x, static_cast<std::size_t>(block.width) * sizeof(bf16));
  return padded;
}

[[gnu::always_inline]] inline void column_maxima(const ColumnBlock& block, std::uint16_t (&maxima)[kTileSize]) {
  const I16 mask = splat<std::int16_t>(0x7FFF);
  I16 left{};
  I16 right{};
  bf16 padded[kTileSize];
  for (Index row = 0; row < block.rows; ++row) {
    const bf16* x = padded_row(block, row, padded);
    left = max(left, load_64_bytes<I16>(x) & mask);
    right = max(right, load_64_bytes<I16>(x + kPairLanes) & mask);
  }
  __builtin_memcpy(maxima, &left, sizeof left);
  __builtin_memcpy(maxima + kPairLanes, &right, sizeof right);
}

/// Bytes of a and b in turn, from the lower or upper half of each 16 bytes.
template <int half, std::size_t... byte>
[[gnu::always_inline]] inline Bytes interleave(Bytes a, Bytes b, std::index_sequence<byte...>) {
  constexpr Bytes order{
      static_cast<std::uint8_t>(byte % 2 * kRegisterBytes + byte / 16 * 16 + half * 8 + byte % 16 / 2)...};
  return __builtin_shuffle(a, b, order);
}

/// Rows [row, row + 16) of `from` become columns of `to`. Four perfect shuffles of 16 rows transpose each 16 x 16
/// block.
[[gnu::always_inline]] inline void transpose_16_rows(const Tile& from, Index row, Tile& to) {
  constexpr auto all_bytes = std::make_index_sequence<kRegisterBytes>();
  for (Index col = 0; col < kTileSize; col += kRegisterBytes) {
    Bytes rows[16];
    for (int i = 0; i < 16; ++i) __builtin_memcpy(&rows[i], &from.codes[row + i][col], sizeof(Bytes));
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
        __builtin_memcpy(&to.codes[col + part * 16 + i][row], bytes + part * 16, 16);
      }
    }
  }
}

/// Codes of the block under one scale per column; column i of the block starts at codes + i * rows.
template <fp8::Format F>
[[gnu::always_inline]] inline void encode_transposed(const ColumnBlock& block, const float (&scales)[kTileSize],
                                                     std::uint8_t* codes) {
  const PairScales left = pair_scales(scales);
  const PairScales right = pair_scales(scales + kPairLanes);
  Tile rows_of_codes{};
  Tile columns_of_codes;
  bf16 padded[kTileSize];
  for (Index row = 0; row < block.rows; row += kTileSize) {
    const Index count = block.rows - row < kTileSize ? block.rows - row : kTileSize;
    for (Index i = 0; i < count; ++i) {
      const bf16* x = padded_row(block, row + i, padded);
      encode_pairs<F>(x, left, rows_of_codes.codes[i]);
      encode_pairs<F>(x + kPairLanes, right, rows_of_codes.codes[i] + kPairLanes);
    }
    for (Index i = 0; i < kTileSize; i += 16) transpose_16_rows(rows_of_codes, i, columns_of_codes);
    for (Index col = 0; col < block.width; ++col) {
      std::uint8_t* to = codes + col * block.rows + row;
      if (count == kTileSize) [[likely]] {
        __builtin_memcpy(to, columns_of_codes.codes[col], kTileSize);
      } else {
        __builtin_memcpy(to, columns_of_codes.codes[col], static_cast<std::size_t>(count));
      }
    }
  }
}

/// Calls visit(first column, block) on columns [begin, end).
template <typename Visit>
[[gnu::always_inline]] inline void for_each_block(const bf16* x, Index rows, Index cols, Index begin, Index end,
                                                  Visit visit) {
  for (Index col = begin; col < end; col += kTileSize) {
    visit(col, ColumnBlock{x + col, rows, cols, end - col < kTileSize ? end - col : kTileSize});
  }
}

}  // namespace

void quantize_columns(const QuantizeColumns& op, Index begin, Index end) {
  for_each_block(op.x, op.rows, op.cols, begin, end, [&](Index col, const ColumnBlock& block) {
    std::uint16_t maxima[kTileSize];
    float scales[kTileSize]{};
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
  float scales[kTileSize];
  for (float& each : scales) each = scale;
  for_each_block(op.x, op.rows, op.cols, begin, end, [&](Index col, const ColumnBlock& block) {
    with_format(op.format,
                [&](auto tag) { encode_transposed<tag.format>(block, scales, op.codes_transposed + col * op.rows); });
  });
}

}  // namespace octet::ops::cpu::OCTET_ISA
