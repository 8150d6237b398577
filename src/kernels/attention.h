// What the kernels of attention share: where heads lie, and blocks of rows of a head in shared memory, which a block's
// warps multiply in tiles of 16 x 16.
//
// A block owns 64 rows of queries or of keys, sixteen a warp, and streams the rows of the other side past them. Nothing
// of size S x S is ever written. Sums run in the order of the stream, so the bits depend on sizes alone.
#pragma once

#include <numeric>

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

/// Which keys a sequence's queries see, as far as documents are concerned: without any, all.
class SeenKeys {
 public:
  OCTET_DEVICE SeenKeys(const std::int32_t* document_start, const HeadPlace& place, int seq_len)
      : starts_(document_start == nullptr ? nullptr : document_start + place.first_token), seq_len_(seq_len) {}

  /// The first key of a query, which may lie behind the sequence.
  OCTET_DEVICE int first_of(int query) const {
    if (starts_ == nullptr) return 0;
    const int first = starts_[query < seq_len_ ? query : seq_len_ - 1];
    __builtin_assume(first >= 0);  // so that no loop over keys extends a sign where it counts from 0
    return first;
  }

  /// The end of the queries that see a key: the end of its document. Starts never fall, so that halving finds it.
  OCTET_DEVICE int end_of_queries(int key) const {
    if (starts_ == nullptr) return seq_len_;
    int sees = key;  // the last that is known to
    int end = seq_len_;
    while (sees + 1 < end) {
      const int middle = (sees + end) / 2;
      if (starts_[middle] > key) {
        end = middle;
      } else {
        sees = middle;
      }
    }
    return end;
  }

 private:
  const std::int32_t* starts_;
  int seq_len_;
};

OCTET_DEVICE int warp_index() {
  return thread_index() / kWarpSize;
}

/// The keys that a thread's rows of a tile see, where rows are the warp's queries.
class SeenOfRows {
 public:
  /// `first_query` is the block's.
  OCTET_DEVICE SeenOfRows(const SeenKeys& seen, int first_query) {
#pragma unroll
    for (int of = 0; of < Tile::kRows; ++of) {
      const int query = first_query + 16 * warp_index() + Tile::row(of);
      first_[of] = seen.first_of(query);
      last_[of] = static_cast<unsigned>(query - first_[of]);
    }
  }

  /// Whether a key counts for the row of element i: those before the first one are the largest unsigned numbers.
  OCTET_DEVICE bool counts(int i, int key) const {
    const int of = Tile::row_of(i);
    return static_cast<unsigned>(key - first_[of]) <= last_[of];
  }

 private:
  int first_[Tile::kRows];
  unsigned last_[Tile::kRows];  // from the first one on
};

/// Rows of at most Dim elements in shared memory.
template <int Dim>
struct SharedRows {
  static constexpr int kPitch = shared_pitch(Dim, kSharedBytes);
  static constexpr int kSteps = Dim / 16;
  bf16* first;

  static constexpr int elements(int rows) { return rows * kPitch; }

  // Who moves what: eight elements a thread, side by side along the rows. Where the threads are no whole number of
  // rows, they come back to their columns after kTurns turns, kRowStep rows further on.
  static constexpr int kVectors = Dim / 8;
  static constexpr int kTurns = kVectors / std::gcd(kVectors, kAttentionThreads);
  static constexpr int kRowStep = kTurns * kAttentionThreads / kVectors;
  static OCTET_DEVICE int own_row(int turn) { return (thread_index() + turn * kAttentionThreads) / kVectors; }
  static OCTET_DEVICE int own_col(int turn) { return (thread_index() + turn * kAttentionThreads) % kVectors * 8; }

  /// A thread's copies of `Rows` rows.
  template <int Rows>
  static constexpr int kCopiesATurn = (Rows + kRowStep - 1) / kRowStep;
  template <int Rows>
  using Fetch = Copies<16, kTurns * kCopiesATurn<Rows>>;

  /// Begins to fetch rows [begin, begin + Rows) of a head whose rows lie `stride` apart. Rows from `end` on and columns
  /// from `dim` on become zero.
  template <int Rows>
  OCTET_DEVICE void begin_fetch(Fetch<Rows>& fetch, const bf16* x, Index stride, int begin, int end, int dim) const {
#pragma unroll
    for (int turn = 0; turn < kTurns; ++turn) {
      const int own = own_row(turn);
      const bf16* from = x + (begin + own) * stride + own_col(turn);
      bf16* to = first + own * kPitch + own_col(turn);
      const int rows = own_col(turn) < dim ? end - begin - own : 0;  // that are there, from the thread's first on
#pragma unroll
      for (int i = 0; i < kCopiesATurn<Rows>; ++i) {
        const int row = i * kRowStep;
        if (Rows % kRowStep != 0 && own + row >= Rows) continue;
        fetch.begin(turn * kCopiesATurn<Rows> + i, to + row * kPitch, from + row * stride, row < rows);
      }
    }
  }

  /// Ends it: the rows are there for this thread after finish_copies(), for all after a barrier.
  template <int Rows>
  OCTET_DEVICE void end_fetch(const Fetch<Rows>& fetch) const {
#pragma unroll
    for (int turn = 0; turn < kTurns; ++turn) {
      const int own = own_row(turn);
      bf16* to = first + own * kPitch + own_col(turn);
#pragma unroll
      for (int i = 0; i < kCopiesATurn<Rows>; ++i) {
        const int row = i * kRowStep;
        if (Rows % kRowStep != 0 && own + row >= Rows) continue;
        fetch.end(turn * kCopiesATurn<Rows> + i, to + row * kPitch);
      }
    }
  }

  template <int Rows>
  OCTET_DEVICE void fetch(const bf16* x, Index stride, int begin, int end, int dim) const {
    Fetch<Rows> copies;
    begin_fetch<Rows>(copies, x, stride, begin, end, dim);
    end_fetch<Rows>(copies);
  }

  /// Rows [0, kOwnedRows), columns [0, dim), to rows [begin, end) of a head.
  OCTET_DEVICE void write(bf16* x, Index stride, int begin, int end, int dim) const {
#pragma unroll
    for (int turn = 0; turn < kTurns; ++turn) {
      const int col = own_col(turn);
      if (col >= dim) continue;
      for (int row = own_row(turn); row < kOwnedRows && begin + row < end; row += kRowStep) {
        store_16_bytes(x + (begin + row) * stride + col, load_shared_row<Vector>(first + row * kPitch + col));
      }
    }
  }

  /// The sixteen rows from `row` on, along columns [16 step, 16 step + 16).
  OCTET_DEVICE LeftFactor left(int row, int step) const {
    return load_left(first + row * kPitch + 16 * step, kPitch);
  }
  OCTET_DEVICE RightFactor right(int row, int step) const {
    return load_right(first + row * kPitch + 16 * step, kPitch);
  }
  /// Columns [16 step, 16 (step + Tiles)) as the factors' rows, along the sixteen rows from `row` on.
  template <int Tiles>
  OCTET_DEVICE void transposed_right(RightFactor (&factors)[Tiles], int row, int step) const {
    load_transposed_right(factors, first + row * kPitch + 16 * step, kPitch);
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

/// A block's owned rows, of which each warp takes its sixteen as left factors: from registers that hold them, or from
/// shared memory each time.
template <int Dim>
struct OwnedRows {
  static constexpr bool kHeld = holds_owned_rows(kSharedBytes);
  static constexpr int kSteps = SharedRows<Dim>::kSteps;
  /// Of shared memory that stay theirs.
  static constexpr int kElements = kHeld ? 0 : SharedRows<Dim>::elements(kOwnedRows);
  SharedRows<Dim> rows;
  LeftFactor held[kHeld ? kSteps : 1];

  /// Rows [begin, begin + kOwnedRows) of a head, as SharedRows fetches them; there after finish_copies() and a barrier.
  OCTET_DEVICE void fetch(const bf16* x, Index stride, int begin, int end, int dim) {
    rows.template fetch<kOwnedRows>(x, stride, begin, end, dim);
    if constexpr (kHeld) {
      finish_copies();
      sync_block();
#pragma unroll
      for (int step = 0; step < kSteps; ++step) held[step] = rows.left(16 * warp_index(), step);
      sync_block();  // shared memory is free again
    }
  }

  OCTET_DEVICE LeftFactor left(int step) const {
    if constexpr (kHeld) {
      return held[step];
    } else {
      return rows.left(16 * warp_index(), step);
    }
  }
};

/// products [16, 16 N] = the warp's sixteen rows of `owned` times the first 16 N rows of `streamed`.
template <int Dim, int N>
OCTET_DEVICE void multiply_rows(Tile (&products)[N], const OwnedRows<Dim>& owned, const SharedRows<Dim>& streamed) {
  clear(products);
#pragma unroll
  for (int step = 0; step < SharedRows<Dim>::kSteps; ++step) {
    const LeftFactor a = owned.left(step);
#pragma unroll
    for (int n = 0; n < N; ++n) multiply_add(products[n], a, streamed.right(16 * n, step));
  }
}

/// Of M tiles side by side, as many as are read at once where their factors are transposed.
template <int M>
inline constexpr int kTilesAtOnce = M < kTransposedTiles ? M : kTransposedTiles;

/// sums [16, 16 M] += factors [16, 16 N] times columns [16 first_step, ...) of the first 16 N rows of `streamed`.
/// Columns lie in the tiles as load_transposed_right leaves them.
template <int Dim, int N, int M>
OCTET_DEVICE void add_weighted_rows(Tile (&sums)[M], const LeftFactor (&factors)[N], const SharedRows<Dim>& streamed,
                                    int first_step) {
  constexpr int kTiles = kTilesAtOnce<M>;
  static_assert(M % kTiles == 0);
#pragma unroll
  for (int n = 0; n < N; ++n) {
#pragma unroll
    for (int m = 0; m < M; m += kTiles) {
      RightFactor columns[kTiles];
      streamed.transposed_right(columns, 16 * n, first_step + m);
#pragma unroll
      for (int i = 0; i < kTiles; ++i) multiply_add(sums[m + i], factors[n], columns[i]);
    }
  }
}

/// Sums of weighted rows, times a factor for each of the thread's rows, into the warp's sixteen rows.
template <int Dim, int M>
OCTET_DEVICE void store_sums(Tile (&sums)[M], const float (&factors)[Tile::kRows], const SharedRows<Dim>& rows) {
  constexpr int kTiles = kTilesAtOnce<M>;
#pragma unroll
  for (int m = 0; m < M; m += kTiles) {
    Tile tiles[kTiles];
#pragma unroll
    for (int i = 0; i < kTiles; ++i) {
#pragma unroll
      for (int e = 0; e < Tile::kElements; ++e) tiles[i].x[e] = sums[m + i].x[e] * factors[Tile::row_of(e)];
    }
    store_tiles(rows.first + 16 * warp_index() * SharedRows<Dim>::kPitch + 16 * m, SharedRows<Dim>::kPitch, tiles);
  }
}

/// Sums, times a factor for each of the thread's rows, by way of shared memory, whose contents are used up, to columns
/// [0, cols) of rows [begin, end) of a head.
template <int Dim, int M>
OCTET_DEVICE void write_sums(bf16* shared, Tile (&sums)[M], const float (&factors)[Tile::kRows], bf16* x, Index stride,
                             int begin, int end, int cols) {
  const SharedRows<Dim> rows{shared};
  sync_block();
  store_sums(sums, factors, rows);
  sync_block();
  rows.write(x, stride, begin, end, cols);
}

/// Blocks of owned rows in a sequence.
OCTET_DEVICE int owned_blocks(const AttentionSizes& sizes) {
  return (sizes.seq_len + kOwnedRows - 1) / kOwnedRows;
}

}  // namespace octet::kernels

// The instances of a kernel, <name>_<head_dim>_<value_dim>, those of kAttentionTiles. `blocks` share a multiprocessor.
#define OCTET_ATTENTION_KERNEL(name, Arguments, body, head_dim, value_dim, blocks)        \
  OCTET_DENSE_KERNEL(octet::kernels::kAttentionThreads, blocks)                           \
  name##_##head_dim##_##value_dim(OCTET_ARGUMENTS(octet::kernels::Arguments) arguments) { \
    octet::kernels::await_previous_kernels();                                             \
    octet::kernels::body<head_dim, value_dim>(octet::kernels::in_place(arguments));       \
  }
#define OCTET_ATTENTION_KERNELS(name, Arguments, body, blocks_128, blocks_192, blocks_256) \
  OCTET_ATTENTION_KERNEL(name, Arguments, body, 32, 32, blocks_128)                        \
  OCTET_ATTENTION_KERNEL(name, Arguments, body, 64, 64, blocks_128)                        \
  OCTET_ATTENTION_KERNEL(name, Arguments, body, 128, 128, blocks_128)                      \
  OCTET_ATTENTION_KERNEL(name, Arguments, body, 192, 128, blocks_192)                      \
  OCTET_ATTENTION_KERNEL(name, Arguments, body, 256, 256, blocks_256)
