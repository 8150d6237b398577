// Cross entropy: 2 bytes an element for the loss; with the gradient 2 more, written in place. A row is read once for
// the sum of its exponentials and, for the gradient, once more out of shared memory or, what that has no room for, L2.
#include <cfloat>
#include <cmath>

#include "kernels/arguments.h"
#include "kernels/block_fold.h"
#include "kernels/eight.h"

namespace octet::kernels {
namespace {

constexpr int kAtOnce = 4;  // vectors in flight a thread

/// The sum of e^(x - largest) over what has been seen. A NaN passes the maximum by and makes the sum NaN, as does +inf.
struct Exponentials {
  float largest = -FLT_MAX;  // not -inf: rows of -inf alone must not become inf - inf before they are compared
  float sum = 0;

  OCTET_DEVICE void add(const Eight& x) {
    float raised = largest;
#pragma unroll
    for (int i = 0; i < 8; ++i) raised = fmaxf(raised, x[i]);
    sum *= fast_exp(largest - raised);
    largest = raised;
#pragma unroll
    for (int i = 0; i < 8; ++i) sum += fast_exp(x[i] - raised);
  }
};

/// How many vectors of eight a row has; where rows are not aligned it goes element by element.
OCTET_DEVICE int vectors_of(const CrossEntropy& a) {
  return a.aligned ? a.vocab / 8 : 0;
}

/// The k-th of this thread's vectors that are held in shared memory: those that it will read itself, so that nobody
/// waits for anybody.
OCTET_DEVICE Vector& held(int k) {
  return static_cast<Vector*>(dynamic_shared())[k * thread_count() + thread_index()];
}

/// Asks for the vectors of a row that are held.
OCTET_DEVICE void ask(const CrossEntropy& a, const bf16* row) {
  const int vectors = vectors_of(a);
  for (int k = 0; k < a.held; ++k) {
    const int v = thread_index() + k * thread_count();
    if (v < vectors) begin_copy<16>(&held(k), row + Index{v} * 8, true);
  }
}

/// Calls use(vector index, vector) for each of this thread's vectors of `row`, which was asked for: those that are
/// held, then the others, loads of several ahead of their use. Where `next` is a row, each held vector is asked for of
/// it once its place is free.
template <typename Use>
OCTET_DEVICE void for_vectors(const CrossEntropy& a, const bf16* row, const bf16* next, Use use) {
  const int vectors = vectors_of(a);
  for (int k = 0; k < a.held; ++k) {
    const int v = thread_index() + k * thread_count();
    if (v >= vectors) break;
    const Vector x = held(k);
    if (next != nullptr) begin_copy<16>(&held(k), next + Index{v} * 8, true);
    use(v, x);
  }
  for (int v = thread_index() + a.held * thread_count(); v < vectors; v += kAtOnce * thread_count()) {
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

/// log of the sum of e^x over a row; NaN where it holds NaN or +inf.
OCTET_DEVICE float log_sum_exp(const CrossEntropy& a, const bf16* row, const bf16* next, BlockFold<float>& fold) {
  Exponentials seen;
  for_vectors(a, row, next, [&](int, const Vector& vector) {
    Eight x;
    unpack(vector, x);
    seen.add(x);
  });
  for (int i = vectors_of(a) * 8 + 8 * thread_index(); i < a.vocab; i += 8 * thread_count()) {
    Eight x;
    load_some(row + i, a.vocab - i, -INFINITY, x);
    seen.add(x);
  }
  const float largest = fold.largest(seen.largest);
  const float sum = fold.sum(seen.sum * fast_exp(seen.largest - largest));
  return largest + logf(sum);
}

/// row = (e^(x - lse) - onehot) * gradient_scale. Each thread replaces what it has read itself.
OCTET_DEVICE void replace_by_gradient(const CrossEntropy& a, bf16* row, const bf16* next, int target, float lse) {
  const auto gradient = [&](float x, int i) {
    return (fast_exp(x - lse) - (i == target ? 1.0F : 0.0F)) * a.gradient_scale;
  };
  const auto gradient_of_eight = [&](Eight& x, int first) {
#pragma unroll
    for (int i = 0; i < 8; ++i) x[i] = gradient(x[i], first + i);
  };
  for_vectors(a, row, next, [&](int v, const Vector& vector) {
    Eight x;
    unpack(vector, x);
    gradient_of_eight(x, v * 8);
    store_16_bytes(row + Index{v} * 8, pack(x));
  });
  for (int i = vectors_of(a) * 8 + 8 * thread_index(); i < a.vocab; i += 8 * thread_count()) {
    Eight x;
    load_some(row + i, a.vocab - i, 0, x);
    gradient_of_eight(x, i);
    store_some(row + i, a.vocab - i, pack(x));
  }
}

OCTET_DEVICE void clear(const CrossEntropy& a, bf16* row) {
  const int vectors = vectors_of(a);
  for (int v = thread_index(); v < vectors; v += thread_count()) store_16_bytes(row + Index{v} * 8, Vector{});
  for (int i = vectors * 8 + thread_index(); i < a.vocab; i += thread_count()) row[i] = bf16{0};
}

/// A block takes row after row. What is held of the next row, and its target, are under way while it works on one.
OCTET_DEVICE void cross_entropy(const CrossEntropy& a) {
  OCTET_SHARED float parts[BlockFold<float>::kParts];
  BlockFold<float> fold(parts);
  ask(a, a.logits + block_index() * Index{a.vocab});
  int next_target = a.targets[block_index()];
  for (Index r = block_index(); r < a.rows; r += block_count()) {
    bf16* row = a.logits + r * a.vocab;
    const int target = next_target;
    const bf16* next = nullptr;
    if (r + block_count() < a.rows) {
      next = row + block_count() * Index{a.vocab};
      next_target = a.targets[r + block_count()];
    }
    finish_copies();
    if (target < 0) {
      if (next != nullptr) ask(a, next);
      if (thread_index() == 0) a.loss[r] = 0;
      if (a.gradient) clear(a, row);
      continue;
    }
    const bf16 target_logit = row[target];  // before the barriers: behind them it is overwritten
    const float lse = log_sum_exp(a, row, a.gradient ? nullptr : next, fold);
    if (thread_index() == 0) a.loss[r] = lse - to_float(target_logit);
    if (a.gradient) replace_by_gradient(a, row, next, target, lse);
  }
}

}  // namespace
}  // namespace octet::kernels

OCTET_SIMPLE_KERNEL(1024, cross_entropy, CrossEntropy, cross_entropy)
