// A row of bf16 in a block's registers: thread t holds vectors t, t + threads, t + 2 threads, ... of eight elements. A
// block may work on several rows side by side, each with its own thread_index_y() and at its own pace. Rows whose
// length is no multiple of eight, or whose memory is not aligned for it, are moved element by element.
#pragma once

#include "kernels/eight.h"
#include "kernels/prelude.h"

namespace octet::kernels {

/// The first of this thread's rows, and how far apart they are: what is left for the last round is spread over all
/// blocks.
OCTET_DEVICE Index first_row() {
  return Index{thread_index_y()} * block_count() + block_index();
}
OCTET_DEVICE Index row_step() {
  return Index{block_count()} * thread_count_y();
}

/// Part `part` of dynamic shared memory: parts hold V vectors of each of the block's threads.
template <int V>
OCTET_DEVICE Vector* shared_part(int part, int thread_row) {
  return static_cast<Vector*>(dynamic_shared()) + (part * thread_count_y() + thread_row) * V * thread_count();
}

/// Where a thread's vectors lie in rows of `cols` elements.
template <int V>
struct RowPlace {
  int cols;
  bool aligned;

  OCTET_DEVICE int column(int v) const { return anew(thread_index() + v * thread_count()) * 8; }
};

template <int V>
struct RowVectors {
  Vector vectors[V];

  /// Columns beyond the row are zero.
  OCTET_DEVICE void load(const bf16* row, const RowPlace<V>& place) {
    load_with(row, place, [](const bf16* from) { return load_16_bytes<Vector>(from); });
  }
  /// Of a row that every row of the block needs: it stays in the cache beside the multiprocessor, not in registers.
  OCTET_DEVICE void load_again(const bf16* row, const RowPlace<V>& place) {
    load_with(row, place, [](const bf16* from) { return load_16_bytes_again<Vector>(from); });
  }

  template <typename Load>
  OCTET_DEVICE void load_with(const bf16* row, const RowPlace<V>& place, Load load_vector) {
#pragma unroll
    for (int v = 0; v < V; ++v) {
      const int column = place.column(v);
      Vector& vector = vectors[v];
      vector = Vector{};
      if (place.aligned) {
        if (column < place.cols) vector = load_vector(row + column);
        continue;
      }
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        const std::uint32_t bits = column + i < place.cols ? row[column + i].bits : 0U;
        vector.words[i / 2] |= bits << (i % 2 * 16);
      }
    }
  }

  OCTET_DEVICE void store(bf16* row, const RowPlace<V>& place) const {
#pragma unroll
    for (int v = 0; v < V; ++v) {
      const int column = place.column(v);
      if (place.aligned) {
        if (column < place.cols) store_16_bytes(row + column, vectors[v]);
        continue;
      }
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        const auto bits = static_cast<std::uint16_t>(vectors[v].words[i / 2] >> (i % 2 * 16));
        if (column + i < place.cols) row[column + i].bits = bits;
      }
    }
  }

  /// Element i of this thread's 8 V.
  OCTET_DEVICE float at(int i) const {
    const std::uint32_t word = vectors[i / 8].words[i % 8 / 2];
    return i % 2 == 0 ? low_half(word) : high_half(word);
  }
  /// Elements i and i + 1, i even; rounded.
  OCTET_DEVICE void set_pair(int i, float low, float high) {
    vectors[i / 8].words[i % 8 / 2] = to_bf16x2(low, high);
  }

  /// For a row that is used on both sides of a barrier: see anew().
  OCTET_DEVICE void forget_floats() {
#pragma unroll
    for (int v = 0; v < V; ++v) {
#pragma unroll
      for (int w = 0; w < 4; ++w) vectors[v].words[w] = anew(vectors[v].words[w]);
    }
  }

  /// Elements i and i + 1, i even, are unpacked once y is known: see anew_after().
  OCTET_DEVICE void hold_back_pair(int i, float y) {
    std::uint32_t& word = vectors[i / 8].words[i % 8 / 2];
    word = anew_after(word, y);
  }

  /// The larger magnitudes of this thread's even and odd elements.
  OCTET_DEVICE std::uint32_t largest() const {
    std::uint32_t halves = 0;
#pragma unroll
    for (int v = 0; v < V; ++v) {
#pragma unroll
      for (int w = 0; w < 4; ++w) halves = max_u16x2(halves, vectors[v].words[w] & 0x7FFF'7FFFU);
    }
    return halves;
  }

  /// The codes of a row under one scale.
  template <fp8::Format F>
  OCTET_DEVICE void encode(std::uint8_t* codes, float scale, const RowPlace<V>& place) const {
#pragma unroll
    for (int v = 0; v < V; ++v) {
      const int column = place.column(v);
      std::uint32_t words[2];
#pragma unroll
      for (int w = 0; w < 2; ++w) {
        const std::uint32_t low = anew(vectors[v].words[2 * w]);
        const std::uint32_t high = anew(vectors[v].words[2 * w + 1]);
        words[w] = encode_four<F>(low_half(low) * scale, high_half(low) * scale, low_half(high) * scale,
                                  high_half(high) * scale);
      }
      if (place.aligned) {
        if (column < place.cols) {
          *reinterpret_cast<std::uint64_t*>(codes + column) = words[0] | (std::uint64_t{words[1]} << 32);
        }
        continue;
      }
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        if (column + i < place.cols) codes[column + i] = static_cast<std::uint8_t>(words[i / 4] >> (i % 4 * 8));
      }
    }
  }
};

/// The next row, under way to shared memory while a block works on the one before: each thread copies the vectors that
/// it will read itself, so that nobody waits for anybody. Without room for that, and where rows are not aligned, a row
/// is read when it is needed. `part` counts from 0 what lies in dynamic shared memory, here and in ColumnFold.
template <int V>
struct RowAhead {
  Vector* slots;  // [V, threads]; null without room

  OCTET_DEVICE RowAhead(bool wanted, const RowPlace<V>& place, int part)
      : slots(wanted && place.aligned ? shared_part<V>(part, thread_index_y()) : nullptr) {}

  [[nodiscard]] OCTET_DEVICE Vector& own(int v) const { return slots[anew(v * thread_count() + thread_index())]; }

  OCTET_DEVICE void ask(const bf16* row, const RowPlace<V>& place, bool there) const {
    if (slots == nullptr) return;
#pragma unroll
    for (int v = 0; v < V; ++v) {
      const int column = place.column(v);
      begin_copy<16>(&own(v), row + column, there && column < place.cols);
    }
  }

  /// The row that was asked for, after finish_copies().
  OCTET_DEVICE void take(const bf16* row, const RowPlace<V>& place, RowVectors<V>& x) const {
    if (slots == nullptr) return x.load(row, place);
#pragma unroll
    for (int v = 0; v < V; ++v) x.vectors[v] = own(v);
  }
};

/// Sums over the rows that a block goes through one by one, in their order, of a number an element: in shared memory,
/// twice as much as a row of bf16 takes, from `part` on. In registers they would leave no room for the row.
template <int V>
struct ColumnSum {
  Vector* sums;  // [2 V, threads]: four floats each

  OCTET_DEVICE explicit ColumnSum(int part) : sums(shared_part<V>(part, 0)) {
#pragma unroll
    for (int h = 0; h < 2 * V; ++h) own(h) = Vector{};
  }

  [[nodiscard]] OCTET_DEVICE Vector& own(int half) const {
    return sums[anew(half * thread_count() + thread_index())];
  }

  /// Adds number(i) for each of this thread's 8 V elements, in their order.
  template <typename Number>
  OCTET_DEVICE void add(Number number) const {
#pragma unroll
    for (int h = 0; h < 2 * V; ++h) {
      Vector sum = own(h);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        sum.words[i] = fp8::bits_of(fp8::float_of(sum.words[i]) + number(4 * h + i));
      }
      own(h) = sum;
    }
  }

  /// The block's row of partials.
  OCTET_DEVICE void store(float* partials, const RowPlace<V>& place) const {
#pragma unroll
    for (int h = 0; h < 2 * V; ++h) {
      const int column = place.column(h / 2) + h % 2 * 4;
      const Vector sum = own(h);
      if (place.aligned) {
        if (column < place.cols) store_16_bytes(partials + column, sum);
        continue;
      }
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        if (column + i < place.cols) partials[column + i] = fp8::float_of(sum.words[i]);
      }
    }
  }
};

/// Column maxima of the rows that a block goes through. Each block leaves one row of partials [blocks, cols]; a second
/// launch takes the largest of them. They lie in shared memory, each thread's own where nobody else looks: held
/// in registers they would halve the blocks that a multiprocessor runs. `part` tells rows of one kernel apart.
template <int V>
struct ColumnFold {
  int part;
  Vector* maxima;  // [V, threads] of this row of threads; null where they are not wanted

  OCTET_DEVICE explicit ColumnFold(bool wanted, int of_part = 0)
      : part(of_part), maxima(wanted ? shared_part<V>(of_part, thread_index_y()) : nullptr) {
    if (!wanted) return;
#pragma unroll
    for (int v = 0; v < V; ++v) own(v) = Vector{};
  }

  [[nodiscard]] OCTET_DEVICE Vector& own(int v) const {
    return maxima[anew(v * thread_count() + thread_index())];
  }

  OCTET_DEVICE void fold(const RowVectors<V>& row) {
    if (maxima == nullptr) return;
#pragma unroll
    for (int v = 0; v < V; ++v) {
      Vector largest = own(v);
#pragma unroll
      for (int w = 0; w < 4; ++w) {
        largest.words[w] = max_u16x2(largest.words[w], row.vectors[v].words[w] & 0x7FFF'7FFFU);
      }
      own(v) = largest;
    }
  }

  /// partials [blocks, cols]: this block's row of them, from column `first` on, of all that it worked on side by side.
  /// For all of the block's threads, each row of which folds some of the vectors. `clears` begins anew, past a barrier.
  OCTET_DEVICE void store(bf16* partials, Index cols, int first, const RowPlace<V>& place, bool clears = false) const {
    if (maxima == nullptr) return;
    sync_block();
    bf16* to = partials + block_index() * cols + first;
#pragma unroll 1
    for (int v = thread_index_y(); v < V; v += thread_count_y()) {
      Vector largest{};
#pragma unroll 1
      for (int y = 0; y < thread_count_y(); ++y) {
        Vector& other = shared_part<V>(part, y)[v * thread_count() + thread_index()];
#pragma unroll
        for (int w = 0; w < 4; ++w) largest.words[w] = max_u16x2(largest.words[w], other.words[w]);
        if (clears) other = Vector{};
      }
      const int column = place.column(v);
      if (!place.aligned) {
        store_some(to + column, place.cols - column, largest);
      } else if (column < place.cols) {
        store_16_bytes(to + column, largest);
      }
    }
  }
};

}  // namespace octet::kernels
