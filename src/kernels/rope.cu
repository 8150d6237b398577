// Rotary positions in place: 2 + 2 bytes an element of the rotated heads. Where rows are cast or measured on the way, 2
// bytes an element of the other heads as well, and 1 (codes) of all. The table of cosines and sines is read by every
// head of a row and stays in the caches.
#include "kernels/measured.h"
#include "kernels/rotation.h"

namespace octet::kernels {
namespace {

// ---- rows in registers ----------------------------------------------------------------------------------------------

/// Turns a thread's vectors of one of its rows after the other. A warp holds whole heads, a power of two of
/// vectors each: what a thread's elements are paired with lies with one other thread of its warp, and all of its
/// vectors have the same place in their heads.
class Turning {
 public:
  /// Of the first row.
  OCTET_DEVICE explicit Turning(const Rope& a)
      : a_(a),
        apart_(a.half / 8),
        position_(static_cast<int>(first_row() % a.seq_len)),
        step_(static_cast<int>(row_step() % a.seq_len)) {
    const bool first_half = (thread_index() & apart_) == 0;
    flip_ = first_half == (a.direction > 0) ? 0x8000'8000U : 0U;
  }

  /// From a row to the next.
  OCTET_DEVICE void advance() {
    position_ += step_;
    if (position_ >= a_.seq_len) position_ -= a_.seq_len;
  }
  /// Asks for the row's angles.
  OCTET_DEVICE void load() {
    const int place = (thread_index() & (apart_ - 1)) * 8;
    angles_.load(a_.cos_sin + (position_ + a_.offset) * 2 * a_.half + place, a_.half);
  }

  /// Turns the row's vectors that lie in `rotated` columns.
  template <int V>
  OCTET_DEVICE void turn_row(RowVectors<V>& x, const RowPlace<V>& rotated) const {
#pragma unroll
    for (int v = 0; v < V; ++v) {
      Vector& vector = x.vectors[v];
      Vector other;
#pragma unroll
      for (int w = 0; w < 4; ++w) other.words[w] = shuffle_xor(vector.words[w], apart_) ^ flip_;
      if (rotated.column(v) >= rotated.cols) continue;
#pragma unroll
      for (int w = 0; w < 4; ++w) vector.words[w] = turn_pair(w, vector.words[w], other.words[w]);
    }
  }

 private:
  OCTET_DEVICE std::uint32_t turn_pair(int w, std::uint32_t mine, std::uint32_t other) const {
    return to_bf16x2(turn(low_half(mine), low_half(other), angles_.cosines[2 * w], angles_.sines[2 * w]),
                     turn(high_half(mine), high_half(other), angles_.cosines[2 * w + 1], angles_.sines[2 * w + 1]));
  }

  const Rope& a_;
  int apart_;           // vectors between the elements of a pair, and threads between those that hold them
  int position_;        // of the row, in its sequence
  int step_;            // between rows, modulo the sequence
  std::uint32_t flip_;  // the signs of two elements, where this thread's half of a head is turned by minus the sine
  Angles angles_;
};

/// The next row and its angles are under way while a row is worked on. What is rotated is written again.
template <fp8::Format F, int V>
OCTET_DEVICE void rope_rows(const Rope& a) {
  OCTET_SHARED std::uint32_t parts[BlockFold<std::uint32_t>::kParts];
  BlockFold<std::uint32_t, BlockRows::several> maxima(parts);
  const RowPlace<V> place{a.cols, true};
  const RowPlace<V> rotated{a.heads * 2 * a.half, true};
  ColumnFold<V> columns(a.measured.column_partials != nullptr);
  const RowAhead<V> next(a.ahead, place, 1);
  next.ask(a.qkv + first_row() * a.row_stride, place, first_row() < a.rows);
  Turning turning(a);
  if (first_row() < a.rows) turning.load();
  for (Index r = first_row(); r < a.rows; r += row_step()) {
    bf16* row = a.qkv + r * a.row_stride;
    const bool another = r + row_step() < a.rows;
    RowVectors<V> x;
    finish_copies();
    next.take(row, place, x);
    next.ask(row + row_step() * a.row_stride, place, another);
    turning.turn_row(x, rotated);
    if (another) turning.advance();  // else the table may end here
    turning.load();
    x.store(row, rotated);
    leave_row<F, V>(a.measured, x, place, r, columns, maxima);
  }
  columns.store(a.measured.column_partials, a.cols, 0, place);
}

// ---- rows of any shape ----------------------------------------------------------------------------------------------

/// Eight pairs of one head, the first of each at `first`.
OCTET_DEVICE void rotate_eight(bf16* first, const float* cosines, const Rope& a) {
  Eight x;
  Eight y;
  Angles angles;
  load_eight(first, x);
  load_eight(first + a.half, y);
  angles.load(cosines, a.half);
  Eight turned_x;
  Eight turned_y;
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const float sine = angles.sines[i] * a.direction;
    turned_x[i] = turn(x[i], y[i], angles.cosines[i], -sine);
    turned_y[i] = turn(y[i], x[i], angles.cosines[i], sine);
  }
  store_16_bytes(first, pack(turned_x));
  store_16_bytes(first + a.half, pack(turned_y));
}

OCTET_DEVICE void rotate_one(bf16* first, const float* cosines, const Rope& a) {
  const float x = to_float(first[0]);
  const float y = to_float(first[a.half]);
  const float cosine = cosines[0];
  const float sine = cosines[a.half] * a.direction;
  first[0] = to_bf16(turn(x, y, cosine, -sine));
  first[a.half] = to_bf16(turn(y, x, cosine, sine));
}

OCTET_DEVICE void rope(const Rope& a) {
  const int step = a.aligned ? 8 : 1;
  const int per_head = a.half / step;
  for (Index t = block_index(); t < a.rows; t += block_count()) {
    const float* cosines = a.cos_sin + (t % a.seq_len + a.offset) * 2 * a.half;
    bf16* row = a.qkv + t * a.row_stride;
    for (int item = thread_index(); item < a.heads * per_head; item += thread_count()) {
      const int i = item % per_head * step;
      bf16* first = row + Index{item / per_head} * 2 * a.half + i;
      if (a.aligned) {
        rotate_eight(first, cosines + i, a);
      } else {
        rotate_one(first, cosines + i, a);
      }
    }
  }
}

}  // namespace
}  // namespace octet::kernels

// Two vectors a thread take 56 registers, where rows are short enough for blocks of 384 threads.
#define OCTET_ROPE_KERNELS(F)                                                    \
  OCTET_ROW_KERNEL(OCTET_KERNEL(1024), rope_rows, Rope, rope_rows, F, 1)         \
  OCTET_ROW_KERNEL(OCTET_DENSE_KERNEL(384, 3), rope_rows, Rope, rope_rows, F, 2) \
  OCTET_ROW_KERNEL(OCTET_KERNEL(1024), rope_rows, Rope, rope_rows, F, 4)
OCTET_ROPE_KERNELS(OCTET_E4M3)
OCTET_ROPE_KERNELS(OCTET_E5M2)
OCTET_SIMPLE_KERNEL(512, rope, Rope, rope)
