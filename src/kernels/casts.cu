// Casts to FP8: rows under their own scales, and codes under known maxima, as stored and transposed in one pass.
#include "kernels/measured.h"

namespace octet::kernels {
namespace {

/// 2 (x) + 1 (codes) bytes an element; with no codes wanted, the maxima alone.
template <fp8::Format F, int V>
OCTET_DEVICE void quantize_rows(const QuantizeRows& a) {
  OCTET_SHARED std::uint32_t maxima[32];
  const RowPlace<V> place{a.cols, a.aligned};
  ColumnFold<V> columns;
  for (Index r = block_index(); r < a.rows; r += block_count()) {
    RowVectors<V> x;
    x.load(a.x + r * a.cols, place);
    leave_row<F, V>(a.measured, x, place, r, columns, maxima);
    if (a.measured.codes == nullptr && a.measured.row_amax != nullptr) {
      const std::uint16_t amax = block_max(x.largest(), maxima);
      if (thread_index() == 0) a.measured.row_amax[r] = bf16{amax};
    }
  }
  if (a.measured.column_partials != nullptr) {
    columns.store(a.measured.column_partials + Index{block_index()} * a.cols, place);
  }
}

/// The scale of each row of a layout, or of all, and the inverse that products divide by.
OCTET_DEVICE void make_scales(const MakeScales& a) {
  const Index i = Index{block_index()} * thread_count() + thread_index();
  if (i >= a.count) return;
  const float scale = a.rule.scale(to_float(a.amax[i]));
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
  const float scale = a.rule.scale(to_float(amax));
  a.scales[0] = scale;
  a.scale_inverse[0] = fp8::inverse(scale);
}

constexpr int kTile = 64;  // rows and columns that a block casts at once

/// Where the code of (row, column) of a tile lies in shared memory, transposed: columns are padded by four bytes, so
/// that neither side meets a bank twice.
constexpr int kTileStride = kTile + 4;

/// A tile of 64 x 64 by 256 threads. Thread t reads rows t / 8 and t / 8 + 32, columns 8 (t % 8) and on: eight bf16
/// each time. Transposed codes go through shared memory and leave as 16 bytes of a column.
template <fp8::Format F>
OCTET_DEVICE void cast_tiles(const CastTiles& a) {
  OCTET_SHARED alignas(16) std::uint8_t tile[kTile * kTileStride];
  const Index first_row = Index{block_index_y()} * kTile;
  const int first_col = block_index() * kTile;
  const int col = first_col + thread_index() % 8 * 8;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int tile_row = thread_index() / 8 + half * 32;
    const Index row = first_row + tile_row;
    Vector x{};
    if (row < a.rows) {
      if (a.aligned && col < a.cols) {
        x = load_16_bytes<Vector>(a.x + row * a.cols + col);
      } else if (!a.aligned) {
        for (int i = 0; i < 8; ++i) {
          const std::uint32_t bits = col + i < a.cols ? a.x[row * a.cols + col + i].bits : 0U;
          x.words[i / 2] |= bits << (i % 2 * 16);
        }
      }
    }
    const auto value = [&](int i) { return i % 2 == 0 ? low_half(x.words[i / 2]) : high_half(x.words[i / 2]); };
    if (a.stored_codes != nullptr && row < a.rows && col < a.cols) {
      const float scale = a.row_scales[a.scale_by_row ? row : 0];
      std::uint64_t codes = 0;
#pragma unroll
      for (int i = 0; i < 8; i += 4) {
        codes |= std::uint64_t{encode_four<F>(value(i) * scale, value(i + 1) * scale, value(i + 2) * scale,
                                              value(i + 3) * scale)}
                 << (8 * i);
      }
      std::uint8_t* to = a.stored_codes + row * a.cols + col;
      if (a.aligned) {
        *reinterpret_cast<std::uint64_t*>(to) = codes;
      } else {
        for (int i = 0; i < 8 && col + i < a.cols; ++i) to[i] = static_cast<std::uint8_t>(codes >> (8 * i));
      }
    }
    if (a.transposed_codes == nullptr) continue;
#pragma unroll
    for (int i = 0; i < 8; i += 2) {
      const float low = col + i < a.cols ? a.column_scales[a.scale_by_column ? col + i : 0] : 0.0F;
      const float high = col + i + 1 < a.cols ? a.column_scales[a.scale_by_column ? col + i + 1 : 0] : 0.0F;
      const std::uint16_t pair = encode_pair<F>(value(i) * low, value(i + 1) * high);
      tile[(col - first_col + i) * kTileStride + tile_row] = static_cast<std::uint8_t>(pair);
      tile[(col - first_col + i + 1) * kTileStride + tile_row] = static_cast<std::uint8_t>(pair >> 8);
    }
  }
  if (a.transposed_codes == nullptr) return;
  sync_block();
  // Thread t writes 16 rows' codes of column t / 4, from row 16 (t % 4) on.
  const int tile_col = thread_index() / 4;
  const int tile_row = thread_index() % 4 * 16;
  if (first_col + tile_col >= a.cols) return;
  const std::uint8_t* from = tile + tile_col * kTileStride + tile_row;
  std::uint8_t* to = a.transposed_codes + Index{first_col + tile_col} * a.rows + first_row + tile_row;
  if (a.rows_aligned && first_row + tile_row < a.rows) {
    Vector codes;
#pragma unroll
    for (int w = 0; w < 4; ++w) codes.words[w] = *reinterpret_cast<const std::uint32_t*>(from + 4 * w);
    store_16_bytes(to, codes);
  } else {
    for (int i = 0; i < 16 && first_row + tile_row + i < a.rows; ++i) to[i] = from[i];
  }
}

}  // namespace
}  // namespace octet::kernels

OCTET_ROW_KERNELS(quantize_rows, QuantizeRows, quantize_rows)
OCTET_SIMPLE_KERNEL(256, make_scales, MakeScales, make_scales)
OCTET_SIMPLE_KERNEL(1024, make_one_scale, MakeScales, make_one_scale)
OCTET_SIMPLE_KERNEL(256, cast_tiles_e4m3fn, CastTiles, cast_tiles<octet::fp8::Format::e4m3fn>)
OCTET_SIMPLE_KERNEL(256, cast_tiles_e5m2, CastTiles, cast_tiles<octet::fp8::Format::e5m2>)
