// The embedding and its gradient: 2 (table) + 2 (out) bytes an element forward; 2 (dy) + 4 + 4 (dtable, or 2 + 2
// in bf16) backward, the latter once for each token that occurs.
#include "kernels/arguments.h"
#include "kernels/eight.h"

namespace octet::kernels {
namespace {

OCTET_DEVICE void embedding_forward(const EmbeddingForward& a) {
  for (Index t = block_index(); t < a.rows; t += block_count()) {
    const bf16* from = a.table + Index{a.tokens[t]} * a.dim;
    bf16* to = a.out + t * a.dim;
    if (a.aligned) {
      for (int i = 8 * thread_index(); i < a.dim; i += 8 * thread_count()) {
        store_16_bytes(to + i, load_16_bytes_again<Vector>(from + i));
      }
    } else {
      for (int i = thread_index(); i < a.dim; i += thread_count()) to[i] = from[i];
    }
  }
}

constexpr int kMostThreads = 512;
constexpr int kScan = 8;    // tokens that a thread compares between two barriers
constexpr int kAtOnce = 4;  // rows in flight while they are added

/// Whether a row before t has its token. The same answer in all threads of the block.
OCTET_DEVICE bool occurs_before(const EmbeddingBackward& a, Index t) {
  const std::int32_t token = a.tokens[t];
  for (Index base = 0; base < t; base += Index{kScan} * thread_count()) {
    bool found = false;
#pragma unroll
    for (int k = 0; k < kScan; ++k) {
      const Index row = base + k * thread_count() + thread_index();
      if (row < t && a.tokens[row] == token) found = true;
    }
    if (block_any(found)) return true;
  }
  return false;
}

/// Rows of one stretch of tokens, a token a thread, that match: their numbers in order.
struct Matches {
  int counts[32];  // of each warp
  std::uint16_t rows[kMostThreads];
};

/// All threads get how many there are; `matches.rows` may be read until the next barrier.
OCTET_DEVICE int list_matches(bool matches_here, Matches& matches) {
  const int warp = thread_index() / kWarpSize;
  const int lane = thread_index() % kWarpSize;
  const WarpMask mask = warp_mask(matches_here);
  if (lane == 0) matches.counts[warp] = count_bits(mask);
  sync_block();
  int before = 0;
  int count = 0;
  for (int w = 0; w < thread_count() / kWarpSize; ++w) {
    if (w < warp) before += matches.counts[w];
    count += matches.counts[w];
  }
  const int place = before + count_bits(mask & ((WarpMask{1} << lane) - 1));
  if (matches_here) matches.rows[place] = static_cast<std::uint16_t>(thread_index());
  sync_block();
  return count;
}

/// Eight columns of a row of dy.
OCTET_DEVICE Vector load_columns(const EmbeddingBackward& a, Index row, int col) {
  const bf16* from = a.dy + row * a.dim + col;
  return a.aligned ? load_16_bytes<Vector>(from) : load_some(from, a.dim - col);
}

OCTET_DEVICE void add(Eight& sums, const Vector& vector) {
  Eight x;
  unpack(vector, x);
#pragma unroll
  for (int i = 0; i < 8; ++i) sums[i] += x[i];
}

/// Adds the listed rows of dy, counted from `first`, to eight sums in order.
OCTET_DEVICE void add_rows(const EmbeddingBackward& a, Index first, int col, const Matches& matches, int count,
                           Eight& sums) {
  int i = 0;
  for (; a.aligned && i + kAtOnce <= count; i += kAtOnce) {
    Vector x[kAtOnce];
#pragma unroll
    for (int j = 0; j < kAtOnce; ++j) x[j] = load_columns(a, first + matches.rows[i + j], col);
#pragma unroll
    for (int j = 0; j < kAtOnce; ++j) add(sums, x[j]);
  }
  for (; i < count; ++i) add(sums, load_columns(a, first + matches.rows[i], col));
}

/// Block (t, slice of columns): where row t is the first of its token, adds all rows of that token in order and rounds
/// once. Other blocks end after the search, so that each element of dtable has one writer and one order. Most tokens
/// occur once: rows are listed only where a stretch of tokens has one more.
template <typename T>
OCTET_DEVICE void embedding_backward(const EmbeddingBackward& a) {
  OCTET_SHARED Matches matches;
  const Index t = block_index();
  if (occurs_before(a, t)) return;
  const std::int32_t token = a.tokens[t];
  const int col = (block_index_y() * thread_count() + thread_index()) * 8;
  T* out = static_cast<T*>(a.dtable) + Index{token} * a.dim + col;
  Eight sums = {};
  if (col < a.dim) {
    if (a.aligned) {
      load_eight(out, sums);
    } else {
      load_some(out, a.dim - col, 0, sums);
    }
    add(sums, load_columns(a, t, col));
  }
  for (Index base = t + 1; base < a.rows; base += Index{kScan} * thread_count()) {
    unsigned found = 0;  // a bit for each of this thread's tokens
#pragma unroll
    for (int k = 0; k < kScan; ++k) {
      const Index row = base + k * thread_count() + thread_index();
      if (row < a.rows && a.tokens[row] == token) found |= 1U << k;
    }
    if (!block_any(found != 0)) continue;
    for (int k = 0; k < kScan; ++k) {
      const bool matches_here = (found >> k & 1U) != 0;
      if (!block_any(matches_here)) continue;
      const int count = list_matches(matches_here, matches);
      if (col < a.dim) add_rows(a, base + k * thread_count(), col, matches, count, sums);
      sync_block();  // the list may be written again
    }
  }
  if (col >= a.dim) return;
  if (a.aligned) {
    store_eight(out, sums);
  } else {
    store_some(out, a.dim - col, sums);
  }
}

}  // namespace
}  // namespace octet::kernels

OCTET_SIMPLE_KERNEL(512, embedding_forward, EmbeddingForward, embedding_forward)
// Registers for three blocks on a multiprocessor: each waits for one load after the other.
OCTET_DENSE_SIMPLE_KERNEL(512, 3, embedding_backward_f32, EmbeddingBackward, embedding_backward<float>)
OCTET_DENSE_SIMPLE_KERNEL(512, 3, embedding_backward_bf16, EmbeddingBackward, embedding_backward<octet::bf16>)
