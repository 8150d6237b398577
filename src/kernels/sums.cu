// Sums of two tensors, and tokens moved on by one: a pass over what is read and what is written.
#include "kernels/arguments.h"
#include "kernels/eight.h"

namespace octet::kernels {
namespace {

/// Eight elements from `first` on, those that there are.
template <typename T>
OCTET_DEVICE void load(const T* x, Index first, const Add& a, Eight& values) {
  if (a.aligned && first + 8 <= a.count) {
    load_eight(x + first, values);
  } else {
    load_some(x + first, a.count - first, 0, values);
  }
}

template <typename T>
OCTET_DEVICE void add(const Add& a) {
  const Index step = Index{block_count()} * thread_count() * 8;
  for (Index first = (Index{block_index()} * thread_count() + thread_index()) * 8; first < a.count; first += step) {
    Eight sum;
    load(static_cast<const T*>(a.a), first, a, sum);
    if (a.b != nullptr) {
      Eight b;
      load(a.b, first, a, b);
#pragma unroll
      for (int i = 0; i < 8; ++i) sum[i] += b[i];
    }
    if (a.aligned && first + 8 <= a.count) {
      store_eight(a.y + first, sum);
    } else {
      store_some(a.y + first, a.count - first, sum);
    }
  }
}

OCTET_DEVICE void shift_tokens(const ShiftTokens& a) {
  const Index row = Index{block_index()} * thread_count() + thread_index();
  if (row >= a.rows) return;
  const Index next = (row + 1) % a.seq_len;
  const bool ends = next == 0 || (a.document_start != nullptr && a.document_start[row + 1] == next);
  a.shifted[row] = ends ? a.last : a.tokens[row + 1];
}

}  // namespace
}  // namespace octet::kernels

OCTET_SIMPLE_KERNEL(256, add_f32, Add, add<float>)
OCTET_SIMPLE_KERNEL(256, add_bf16, Add, add<octet::bf16>)
OCTET_SIMPLE_KERNEL(256, shift_tokens, ShiftTokens, shift_tokens)
