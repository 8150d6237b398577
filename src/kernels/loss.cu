// Cross entropy: 2 bytes an element for the loss; with the gradient 2 more, written in place. A row is read once for
// the sum of its exponentials, and waits for the gradient in shared memory and registers; what they have no room for is
// read once more out of L2. While a row's gradient is written, the next row comes in and its exponentials are summed:
// memory always has work.
#include <cfloat>
#include <cmath>

#include "kernels/arguments.h"
#include "kernels/block_fold.h"
#include "kernels/eight.h"

namespace octet::kernels {
namespace {

constexpr int kAtOnce = 4;  // vectors in flight a thread, of those that are read where they lie
constexpr int kKept = 2;    // vectors that a thread keeps in registers
constexpr int kAhead = 4;   // vectors of the next row that come in before the first of them is needed

/// The sum of e^(x - largest) over what has been seen. A NaN passes the maximum by and makes the sum NaN, as does +inf.
struct Exponentials {
  float largest = -FLT_MAX;  // not -inf: rows of -inf alone must not become inf - inf before they are compared
  float sum = 0;

  OCTET_DEVICE void add(const Eight& x) {
    float raised = largest;
#pragma unroll
    for (int i = 0; i < 8; ++i) raised = fmaxf(raised, x[i]);
    sum *= exponential(largest - raised);
    largest = raised;
#pragma unroll
    for (int i = 0; i < 8; ++i) sum += exponential(x[i] - raised);
  }
  OCTET_DEVICE void add(const Vector& vector) {
    Eight x;
    unpack(vector, x);
    add(x);
  }

 private:
  /// As fast_exp, without its care for subnormal results: beside the 1 that the largest adds they leave no trace.
  static OCTET_DEVICE float exponential(float x) {
    constexpr float kLog2E = 1.4426950408889634F;
    return exp2_fast(x * kLog2E);
  }
};

/// How many vectors of eight a row has; where rows are not aligned it goes element by element.
OCTET_DEVICE int vectors_of(const CrossEntropy& a) {
  return a.aligned ? a.vocab / 8 : 0;
}

/// Where the k-th of this thread's vectors lies in a row. First come those that are held, then those that are kept.
OCTET_DEVICE int vector_index(int k) {
  return anew(thread_index() + k * thread_count());
}

/// The k-th of this thread's vectors, held in shared memory: it will read them itself, so that nobody waits for
/// anybody.
OCTET_DEVICE Vector& held(int k) {
  return static_cast<Vector*>(dynamic_shared())[k * thread_count() + thread_index()];
}

OCTET_DEVICE void ask(const CrossEntropy& a, const bf16* row, int k) {
  const int v = vector_index(k);
  if (v < vectors_of(a)) begin_copy<16>(&held(k), row + Index{v} * 8, true);
}

OCTET_DEVICE void add_held(const CrossEntropy& a, int k, Exponentials& to) {
  if (vector_index(k) < vectors_of(a)) to.add(held(k));
}

/// The vectors after those that are held.
struct Kept {
  Vector vectors[kKept];

  OCTET_DEVICE void load(const CrossEntropy& a, const bf16* row) {
    for_each(a, [&](int v, Vector& vector) { vector = load_16_bytes<Vector>(row + Index{v} * 8); });
  }
  /// Calls use(vector index, vector).
  template <typename Use>
  OCTET_DEVICE void for_each(const CrossEntropy& a, Use use) {
#pragma unroll
    for (int k = 0; k < kKept; ++k) {
      const int v = vector_index(a.held + k);
      if (v < vectors_of(a)) use(v, vectors[k]);
    }
  }
};

/// Calls use(vector index, vector) for each of this thread's vectors that are neither held nor kept.
template <typename Use>
OCTET_DEVICE void for_others(const CrossEntropy& a, const bf16* row, Use use) {
  const int vectors = vectors_of(a);
  for (int v = vector_index(a.held + kKept); v < vectors; v += kAtOnce * thread_count()) {
    Vector loaded[kAtOnce];
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      const int at = v + k * thread_count();
      if (at < vectors) loaded[k] = load_16_bytes_again<Vector>(row + Index{at} * 8);
    }
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      const int at = v + k * thread_count();
      if (at < vectors) use(at, loaded[k]);
    }
  }
}

/// log of the sum of e^x over a row whose held vectors were seen; NaN where it holds NaN or +inf.
OCTET_DEVICE float log_sum_exp(const CrossEntropy& a, const bf16* row, Exponentials seen, Kept& kept,
                               BlockFold<float>& fold) {
  kept.for_each(a, [&](int, const Vector& vector) { seen.add(vector); });
  for_others(a, row, [&](int, const Vector& vector) { seen.add(vector); });
  for (int i = vectors_of(a) * 8 + 8 * thread_index(); i < a.vocab; i += 8 * thread_count()) {
    Eight x;
    load_some(row + i, a.vocab - i, -INFINITY, x);
    seen.add(x);
  }
  const float largest = fold.largest(seen.largest);
  const float sum = fold.sum(seen.sum * fast_exp(seen.largest - largest));
  return largest + logf(sum);
}

/// (e^(x - lse) - onehot) * scale of a row; zero where it has no target. Each thread replaces what it has read itself.
struct Gradient {
  bf16* row;
  int target;  // negative: none
  float lse, scale;

  OCTET_DEVICE void make(Eight& x, int first) const {
#pragma unroll
    for (int i = 0; i < 8; ++i) x[i] = fast_exp(x[i] - lse);
    if (target >= first && target < first + 8) {
#pragma unroll
      for (int i = 0; i < 8; ++i) x[i] -= first + i == target ? 1.0F : 0.0F;
    }
#pragma unroll
    for (int i = 0; i < 8; ++i) x[i] *= scale;
  }
  OCTET_DEVICE void replace(int v, const Vector& vector) const {
    Vector gradient{};
    if (target >= 0) {
      Eight x;
      unpack(vector, x);
      make(x, v * 8);
      gradient = pack(x);
    }
    store_16_bytes(row + Index{v} * 8, gradient);
  }
  /// What is neither held nor kept.
  OCTET_DEVICE void replace_others(const CrossEntropy& a) const {
    for_others(a, row, [&](int v, const Vector& vector) { replace(v, vector); });
    for (int i = vectors_of(a) * 8 + 8 * thread_index(); i < a.vocab; i += 8 * thread_count()) {
      Eight x{};
      if (target >= 0) {
        load_some(row + i, a.vocab - i, 0, x);
        make(x, i);
      }
      store_some(row + i, a.vocab - i, pack(x));
    }
  }
};

/// Writes the gradient of what is held, where it is wanted. Each vector's place is then the next row's, where there is
/// one: the sum over what is held of that comes back.
OCTET_DEVICE Exponentials exchange_held(const CrossEntropy& a, const Gradient& gradient, const bf16* next) {
  Exponentials seen;
  for (int k = 0; k < a.held + kAhead; ++k) {
    if (k < a.held) {
      const int v = vector_index(k);
      if (a.gradient && v < vectors_of(a)) {
        const Vector x = held(k);
        if (next != nullptr) ask(a, next, k);
        gradient.replace(v, x);
      } else if (next != nullptr) {
        ask(a, next, k);
      }
    }
    end_copy_group();
    if (uniform_anew(k) < kAhead || next == nullptr) continue;
    finish_older_copies<kAhead>();
    add_held(a, k - kAhead, seen);
  }
  return seen;
}

/// A block takes row after row.
OCTET_DEVICE void cross_entropy(const CrossEntropy& a) {
  OCTET_SHARED float parts[BlockFold<float>::kParts];
  BlockFold<float> fold(parts);
  const bf16* first = a.logits + block_index() * Index{a.vocab};
  Kept kept;
  kept.load(a, first);
  for (int k = 0; k < a.held; ++k) ask(a, first, k);
  int next_target = a.targets[block_index()];
  finish_copies();
  Exponentials seen;  // of what is held
  for (int k = 0; k < a.held; ++k) add_held(a, k, seen);
  for (Index r = block_index(); r < a.rows; r += block_count()) {
    bf16* row = a.logits + r * a.vocab;
    Gradient gradient{row, next_target, 0, a.gradient_scale};
    const bf16* next = nullptr;
    if (r + block_count() < a.rows) {
      next = row + block_count() * Index{a.vocab};
      next_target = a.targets[r + block_count()];
    }
    float loss = 0;
    if (gradient.target >= 0) {
      const bf16 target_logit = row[gradient.target];  // before the barriers: behind them it is overwritten
      gradient.lse = log_sum_exp(a, row, seen, kept, fold);
      loss = gradient.lse - to_float(target_logit);
    }
    if (thread_index() == 0) a.loss[r] = loss;
    if (a.gradient) {
      kept.for_each(a, [&](int v, const Vector& x) { gradient.replace(v, x); });
      gradient.replace_others(a);
    }
    if (next != nullptr) kept.load(a, next);
    seen = exchange_held(a, gradient, next);
  }
}

}  // namespace
}  // namespace octet::kernels

OCTET_SIMPLE_KERNEL(1024, cross_entropy, CrossEntropy, cross_entropy)
