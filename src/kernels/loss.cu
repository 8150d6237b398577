// Cross entropy: 2 bytes an element for the loss; with the gradient 2 more, written in place. A row is read once for
// the sum of its exponentials and, for the gradient, once more out of L2.
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

/// Calls use(vector index, vector) for each of this thread's vectors of eight, loads of several ahead of their use.
template <typename Use>
OCTET_DEVICE void for_vectors(const bf16* row, int vectors, Use use) {
  for (int v = thread_index(); v < vectors; v += kAtOnce * thread_count()) {
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
OCTET_DEVICE float log_sum_exp(const CrossEntropy& a, const bf16* row, BlockFold<float>& fold) {
  Exponentials seen;
  const int vectors = a.aligned ? a.vocab / 8 : 0;
  for_vectors(row, vectors, [&](int, const Vector& vector) {
    Eight x;
    unpack(vector, x);
    seen.add(x);
  });
  for (int i = vectors * 8 + 8 * thread_index(); i < a.vocab; i += 8 * thread_count()) {
    Eight x;
    load_some(row + i, a.vocab - i, -INFINITY, x);
    seen.add(x);
  }
  const float largest = fold.largest(seen.largest);
  const float sum = fold.sum(seen.sum * fast_exp(seen.largest - largest));
  return largest + logf(sum);
}

/// row = (e^(x - lse) - onehot) * gradient_scale. Each thread replaces what it has read itself.
OCTET_DEVICE void replace_by_gradient(const CrossEntropy& a, bf16* row, int target, float lse) {
  const auto gradient = [&](float x, int i) {
    return (fast_exp(x - lse) - (i == target ? 1.0F : 0.0F)) * a.gradient_scale;
  };
  const auto gradient_of_eight = [&](Eight& x, int first) {
#pragma unroll
    for (int i = 0; i < 8; ++i) x[i] = gradient(x[i], first + i);
  };
  const int vectors = a.aligned ? a.vocab / 8 : 0;
  for_vectors(row, vectors, [&](int v, const Vector& vector) {
    Eight x;
    unpack(vector, x);
    gradient_of_eight(x, v * 8);
    store_16_bytes(row + Index{v} * 8, pack(x));
  });
  for (int i = vectors * 8 + 8 * thread_index(); i < a.vocab; i += 8 * thread_count()) {
    Eight x;
    load_some(row + i, a.vocab - i, 0, x);
    gradient_of_eight(x, i);
    store_some(row + i, a.vocab - i, pack(x));
  }
}

OCTET_DEVICE void clear(bf16* row, int count, bool aligned) {
  const int vectors = aligned ? count / 8 : 0;
  for (int v = thread_index(); v < vectors; v += thread_count()) store_16_bytes(row + Index{v} * 8, Vector{});
  for (int i = vectors * 8 + thread_index(); i < count; i += thread_count()) row[i] = bf16{0};
}

/// A block a row.
OCTET_DEVICE void cross_entropy(const CrossEntropy& a) {
  OCTET_SHARED float parts[BlockFold<float>::kParts];
  BlockFold<float> fold(parts);
  const Index r = block_index();
  bf16* row = a.logits + r * a.vocab;
  const int target = a.targets[r];
  if (target < 0) {
    if (thread_index() == 0) a.loss[r] = 0;
    if (a.gradient) clear(row, a.vocab, a.aligned);
    return;
  }
  const float target_logit = to_float(row[target]);  // before the barriers: behind them it is overwritten
  const float lse = log_sum_exp(a, row, fold);
  if (thread_index() == 0) a.loss[r] = lse - target_logit;
  if (a.gradient) replace_by_gradient(a, row, target, lse);
}

}  // namespace
}  // namespace octet::kernels

OCTET_SIMPLE_KERNEL(1024, cross_entropy, CrossEntropy, cross_entropy)
