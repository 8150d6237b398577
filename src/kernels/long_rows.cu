// Casts and maxima of rows that no block holds in registers, logits above all: 2 (x) + 1 (codes) bytes an element, x
// once more out of L2. Column maxima are a launch of their own.
#include "kernels/measured.h"

namespace octet::kernels {
namespace {

/// Eight elements as bits, those beyond the row zero.
OCTET_DEVICE Vector load_part(const bf16* row, int col, int cols, bool aligned) {
  if (aligned) return load_16_bytes_again<Vector>(row + col);
  Vector x{};
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const std::uint32_t bits = col + i < cols ? row[col + i].bits : 0U;
    x.words[i / 2] |= bits << (i % 2 * 16);
  }
  return x;
}

OCTET_DEVICE void raise_by_magnitudes(Vector& maxima, const Vector& x) {
#pragma unroll
  for (int w = 0; w < 4; ++w) maxima.words[w] = max_u16x2(maxima.words[w], x.words[w] & 0x7FFF'7FFFU);
}

OCTET_DEVICE bf16 amax_of(const bf16* row, const QuantizeRows& a, BlockFold<std::uint32_t>& largest) {
  Vector maxima{};
#pragma unroll 4
  for (int col = 8 * thread_index(); col < a.cols; col += 8 * thread_count()) {
    raise_by_magnitudes(maxima, load_part(row, col, a.cols, a.aligned));
  }
  const std::uint32_t halves =
      max_u16x2(max_u16x2(maxima.words[0], maxima.words[1]), max_u16x2(maxima.words[2], maxima.words[3]));
  return bf16{largest.largest_half(halves)};
}

template <fp8::Format F>
OCTET_DEVICE void encode_row(const bf16* row, std::uint8_t* codes, float scale, const QuantizeRows& a) {
#pragma unroll 4
  for (int col = 8 * thread_index(); col < a.cols; col += 8 * thread_count()) {
    const Vector x = load_part(row, col, a.cols, a.aligned);
    std::uint32_t words[2];
#pragma unroll
    for (int w = 0; w < 2; ++w) {
      words[w] = encode_four<F>(low_half(x.words[2 * w]) * scale, high_half(x.words[2 * w]) * scale,
                                low_half(x.words[2 * w + 1]) * scale, high_half(x.words[2 * w + 1]) * scale);
    }
    if (a.aligned) {
      *reinterpret_cast<std::uint64_t*>(codes + col) = words[0] | (std::uint64_t{words[1]} << 32);
      continue;
    }
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      if (col + i < a.cols) codes[col + i] = static_cast<std::uint8_t>(words[i / 4] >> (i % 4 * 8));
    }
  }
}

/// A block a row.
template <fp8::Format F>
OCTET_DEVICE void quantize_long_rows(const QuantizeRows& a) {
  OCTET_SHARED std::uint32_t parts[BlockFold<std::uint32_t>::kParts];
  BlockFold<std::uint32_t> largest(parts);
  for (Index r = block_index(); r < a.rows; r += block_count()) {
    const bf16* row = a.x + r * a.cols;
    const bf16 amax = amax_of(row, a, largest);
    if (a.measured.codes != nullptr) {
      encode_row<F>(row, a.measured.codes + r * a.cols, leave_scale(a.measured, amax, r), a);
    } else if (thread_index() == 0) {
      a.measured.row_amax[r] = amax;
    }
  }
}

/// Block (x, y): eight columns a thread, rows y, y + blocks_y, ... of them.
OCTET_DEVICE void column_maxima(const QuantizeRows& a) {
  const int col = (block_index() * thread_count() + thread_index()) * 8;
  if (col >= a.cols) return;
  Vector maxima{};
#pragma unroll 4
  for (Index r = block_index_y(); r < a.rows; r += block_count_y()) {
    raise_by_magnitudes(maxima, load_part(a.x + r * a.cols, col, a.cols, a.aligned));
  }
  bf16* partials = a.measured.column_partials + Index{block_index_y()} * a.cols + col;
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    if (col + i < a.cols) partials[i].bits = static_cast<std::uint16_t>(maxima.words[i / 2] >> (i % 2 * 16));
  }
}

}  // namespace
}  // namespace octet::kernels

OCTET_FORMAT_KERNELS(OCTET_KERNEL(1024), quantize_long_rows, QuantizeRows, quantize_long_rows)
OCTET_SIMPLE_KERNEL(256, column_maxima, QuantizeRows, column_maxima)
