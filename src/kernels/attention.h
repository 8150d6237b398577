// What the kernels of attention share: where heads lie, and blocks of rows of a head in shared memory, which a block's
// warps multiply in tiles of 16 x 16.
//
// A block owns 64 rows of queries or of keys, sixteen a warp, and streams the rows of the other side past them. Nothing
// of size S x S is ever written. Sums run in the order of the stream, so the bits depend on sizes alone.
#pragma once

#include "kernels/arguments.h"
#include "kernels/attention_layout.h"
#include "kernels/prelude.h"

namespace octet::kernels {

constexpr int kAttentionThreads = kAttentionWarps * kWarpSize;
constexpr float kLog2E = 1.4426950408889634F;
constexpr float kLn2 = 0.6931471805599453F;

/// One head of one sequence.
struct HeadPlace {
  int batch, head, kv_head;
  Index first_token;

  OCTET_DEVICE HeadPlace(const AttentionSizes& sizes, int sequence, int query_head)
      : batch(sequence),
        head(query_head),
        kv_head(query_head / (sizes.heads / sizes.kv_heads)),
        first_token(Index{sequence} * sizes.seq_len) {}

  /// Offsets of the head's first element of the sequence, in rows of qkv and of out.
  OCTET_DEVICE Index query(const AttentionSizes& sizes) const {
    return first_token * sizes.qkv_stride + Index{head} * sizes.head_dim;
  }
  OCTET_DEVICE Index key(const AttentionSizes& sizes) const {
    return first_token * sizes.qkv_stride + Index{sizes.heads + kv_head} * sizes.head_dim;
  }
  OCTET_DEVICE Index value(const AttentionSizes& sizes) const {
    return first_token * sizes.qkv_stride + Index{sizes.heads + sizes.kv_heads} * sizes.head_dim +
           Index{kv_head} * sizes.value_dim;
  }
  OCTET_DEVICE Index out(const AttentionSizes& sizes) const {
    return first_token * sizes.out_stride + Index{head} * sizes.value_dim;
  }
  /// Of the head's rows in lse and delta.
  OCTET_DEVICE Index rows(const AttentionSizes& sizes) const {
    return (Index{batch} * sizes.heads + head) * sizes.seq_len;
  }
};

OCTET_DEVICE int warp_index() {
  return thread_index() / kWarpSize;
}

/// Rows of at most Dim elements in shared memory.
template <int Dim>
struct SharedRows {
  static constexpr int kPitch = shared_pitch(Dim);
  static constexpr int kSteps = Dim / 16;
  bf16* first;

  static constexpr int elements(int rows) { return rows * kPitch; }

  // Who moves what: thread t moves the eight elements from column `own_col` on of rows own_row, own_row + kRowStep, ...
  static constexpr int kVectors = Dim / 8;
  static constexpr int kRowStep = kAttentionThreads / kVectors;
  static_assert(kAttentionThreads % kVectors == 0);
  static OCTET_DEVICE int own_row() { return thread_index() / kVectors; }
  static OCTET_DEVICE int own_col() { return thread_index() % kVectors * 8; }

  /// Begins to fetch rows [begin, begin + Rows) of a head whose rows lie `stride` apart. Rows from `end` on and columns
  /// from `dim` on become zero.
  template <int Rows>
  OCTET_DEVICE void begin_fetch(const bf16* x, Index stride, int begin, int end, int dim) const {
    static_assert(Rows % kRowStep == 0);
    const bf16* from = x + (begin + own_row()) * stride + own_col();
    bf16* to = first + own_row() * kPitch + own_col();
    const int rows = own_col() < dim ? end - begin - own_row() : 0;  // that are there, from the thread's first on
#pragma unroll
    for (int i = 0; i < Rows / kRowStep; ++i) {
      begin_copy<16>(to + i * kRowStep * kPitch, from + i * kRowStep * stride, i * kRowStep < rows);
    }
  }

  /// Rows [0, kOwnedRows), columns [0, dim), to rows [begin, end) of a head.
  OCTET_DEVICE void write(bf16* x, Index stride, int begin, int end, int dim) const {
    if (own_col() >= dim) return;
    for (int row = own_row(); row < kOwnedRows && begin + row < end; row += kRowStep) {
      store_16_bytes(x + (begin + row) * stride + own_col(),
                     *reinterpret_cast<const Vector*>(first + row * kPitch + own_col()));
    }
  }

  /// The sixteen rows from `row` on, along columns [16 step, 16 step + 16).
  OCTET_DEVICE LeftFactor left(int row, int step) const {
    return load_left(first + row * kPitch + 16 * step, kPitch);
  }
  OCTET_DEVICE RightFactor right(int row, int step) const {
    return load_right(first + row * kPitch + 16 * step, kPitch);
  }
  /// Columns [16 step, 16 step + 16) as the factor's rows, along the sixteen rows from `row` on.
  OCTET_DEVICE RightFactor transposed_right(int row, int step) const {
    return load_transposed_right(first + row * kPitch + 16 * step, kPitch);
  }
};

template <int N>
OCTET_DEVICE void clear(Tile (&tiles)[N]) {
#pragma unroll
  for (int n = 0; n < N; ++n) {
#pragma unroll
    for (int i = 0; i < Tile::kElements; ++i) tiles[n].x[i] = 0;
  }
}

/// products [16, 16 N] = the warp's sixteen rows of `owned` times the first 16 N rows of `streamed`.
template <int Dim, int N>
OCTET_DEVICE void multiply_rows(Tile (&products)[N], const SharedRows<Dim>& owned, const SharedRows<Dim>& streamed) {
  clear(products);
#pragma unroll
  for (int step = 0; step < SharedRows<Dim>::kSteps; ++step) {
    const LeftFactor a = owned.left(16 * warp_index(), step);
#pragma unroll
    for (int n = 0; n < N; ++n) multiply_add(products[n], a, streamed.right(16 * n, step));
  }
}

/// sums [16, 16 M] += factors [16, 16 N] times columns [16 first_step, ...) of the first 16 N rows of `streamed`.
template <int Dim, int N, int M>
OCTET_DEVICE void add_weighted_rows(Tile (&sums)[M], const LeftFactor (&factors)[N], const SharedRows<Dim>& streamed,
                                    int first_step) {
#pragma unroll
  for (int n = 0; n < N; ++n) {
#pragma unroll
    for (int m = 0; m < M; ++m) multiply_add(sums[m], factors[n], streamed.transposed_right(16 * n, first_step + m));
  }
}

/// Sums, times a factor for each of the thread's rows, into the warp's sixteen rows.
template <int Dim, int M>
OCTET_DEVICE void store_sums(Tile (&sums)[M], const float (&factors)[Tile::kRows], const SharedRows<Dim>& rows) {
#pragma unroll
  for (int m = 0; m < M; ++m) {
#pragma unroll
    for (int i = 0; i < Tile::kElements; ++i) sums[m].x[i] *= factors[Tile::row_of(i)];
    store_tile(rows.first + 16 * warp_index() * SharedRows<Dim>::kPitch + 16 * m, SharedRows<Dim>::kPitch, sums[m]);
  }
}

/// Blocks of owned rows in a sequence.
OCTET_DEVICE int owned_blocks(const AttentionSizes& sizes) {
  return (sizes.seq_len + kOwnedRows - 1) / kOwnedRows;
}

}  // namespace octet::kernels

// The instances of a kernel for heads of up to 32, 64, 128 and 256 elements: <name>_<elements>. `blocks` of the larger
// two share a multiprocessor.
#define OCTET_ATTENTION_KERNEL(name, Arguments, body, dim, blocks)     \
  OCTET_DENSE_KERNEL(octet::kernels::kAttentionThreads, blocks)        \
  name##_##dim(OCTET_ARGUMENTS(octet::kernels::Arguments) arguments) { \
    octet::kernels::await_previous_kernels();                          \
    octet::kernels::body<dim>(octet::kernels::in_place(arguments));    \
  }
#define OCTET_ATTENTION_KERNELS(name, Arguments, body, blocks_128, blocks_256) \
  OCTET_ATTENTION_KERNEL(name, Arguments, body, 32, blocks_128)                \
  OCTET_ATTENTION_KERNEL(name, Arguments, body, 64, blocks_128)                \
  OCTET_ATTENTION_KERNEL(name, Arguments, body, 128, blocks_128)               \
  OCTET_ATTENTION_KERNEL(name, Arguments, body, 256, blocks_256)
