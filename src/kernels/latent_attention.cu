// Rows of multi-head latent attention, between its products and attention: a block a row, eight neighbours a thread. 2
// bytes an element of what is read and of what is written; the shared key is read once a head, from the caches.
#include "kernels/arguments.h"
#include "kernels/eight.h"

namespace octet::kernels {
namespace {

OCTET_DEVICE Vector load_vector(const bf16* from, bool aligned) {
  return aligned ? load_16_bytes<Vector>(from) : load_some(from, 8);
}
OCTET_DEVICE void store_vector(bf16* to, const Vector& x, bool aligned) {
  if (aligned) {
    store_16_bytes(to, x);
  } else {
    store_some(to, 8, x);
  }
}

/// Turns four pairs of neighbours, from element `first` of the rotated part on. Backward is turning by minus the sines.
OCTET_DEVICE Vector turn_pairs(const Eight& x, const float* cos_sin, int rope, int first, float direction) {
  Eight turned;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const float cosine = cos_sin[first / 2 + i];
    const float sine = direction * cos_sin[rope / 2 + first / 2 + i];
    turned[2 * i] = fmaf(x[2 * i], cosine, -x[2 * i + 1] * sine);
    turned[2 * i + 1] = fmaf(x[2 * i + 1], cosine, x[2 * i] * sine);
  }
  return pack(turned);
}
OCTET_DEVICE Vector turn_pairs(const Vector& x, const float* cos_sin, int rope, int first, float direction) {
  Eight values;
  unpack(x, values);
  return turn_pairs(values, cos_sin, rope, first, direction);
}

/// Calls work(head, element of the part) for each vector of parts of `dim` elements, shared out among threads.
template <typename Work>
OCTET_DEVICE void for_each_vector(int heads, int dim, Work work) {
  const int each = dim / 8;
  for (int i = thread_index(); i < heads * each; i += thread_count()) work(i / each, i % each * 8);
}

OCTET_DEVICE void assemble(const AssembleLatent& a) {
  const auto [seq_len, heads, nope, rope, value] = a.shape;
  const Index row = block_index();
  const int qk = nope + rope;
  const bf16* q = a.q + row * a.q_stride;
  const bf16* kv = a.kv + row * heads * (nope + value);
  const bf16* shared = a.k_rope + row * a.k_rope_stride;
  const float* cos_sin = a.cos_sin + row % seq_len * rope;
  bf16* queries = a.qkv + row * heads * (2 * qk + value);
  bf16* keys = queries + heads * qk;
  bf16* values = keys + heads * qk;
  for_each_vector(heads, qk, [&](int head, int at) {
    const Vector x = load_vector(q + head * qk + at, a.aligned);
    store_vector(queries + head * qk + at, at < nope ? x : turn_pairs(x, cos_sin, rope, at - nope, 1), a.aligned);
    const Vector key = load_vector(at < nope ? kv + head * (nope + value) + at : shared + at - nope, a.aligned);
    store_vector(keys + head * qk + at, at < nope ? key : turn_pairs(key, cos_sin, rope, at - nope, 1), a.aligned);
  });
  for_each_vector(heads, value, [&](int head, int at) {
    store_vector(values + head * value + at, load_vector(kv + head * (nope + value) + nope + at, a.aligned), a.aligned);
  });
}

/// The gradient of the shared key from element `at` on: the heads' sum in their order, turned back.
OCTET_DEVICE Vector sum_of_heads(const AssembleLatentBackward& a, const bf16* keys, const float* cos_sin, int at) {
  const auto [seq_len, heads, nope, rope, value] = a.shape;
  Eight sum{};
#pragma unroll 8
  for (int head = 0; head < heads; ++head) {
    Eight x;
    unpack(load_vector(keys + head * (nope + rope) + nope + at, a.aligned), x);
#pragma unroll
    for (int i = 0; i < 8; ++i) sum[i] += x[i];
  }
  return turn_pairs(sum, cos_sin, rope, at, -1);
}

OCTET_DEVICE void take_apart(const AssembleLatentBackward& a) {
  const auto [seq_len, heads, nope, rope, value] = a.shape;
  const Index row = block_index();
  const int qk = nope + rope;
  const bf16* queries = a.dqkv + row * heads * (2 * qk + value);
  const bf16* keys = queries + heads * qk;
  const bf16* values = keys + heads * qk;
  const float* cos_sin = a.cos_sin + row % seq_len * rope;
  bf16* dq = a.dq + row * a.q_stride;
  bf16* dkv = a.dkv + row * heads * (nope + value);
  for (int at = thread_index() * 8; at < rope; at += thread_count() * 8) {
    store_vector(a.dk_rope + row * a.k_rope_stride + at, sum_of_heads(a, keys, cos_sin, at), a.aligned);
  }
  for_each_vector(heads, qk, [&](int head, int at) {
    const Vector x = load_vector(queries + head * qk + at, a.aligned);
    store_vector(dq + head * qk + at, at < nope ? x : turn_pairs(x, cos_sin, rope, at - nope, -1), a.aligned);
  });
  for_each_vector(heads, nope, [&](int head, int at) {
    store_vector(dkv + head * (nope + value) + at, load_vector(keys + head * qk + at, a.aligned), a.aligned);
  });
  for_each_vector(heads, value, [&](int head, int at) {
    store_vector(dkv + head * (nope + value) + nope + at, load_vector(values + head * value + at, a.aligned),
                 a.aligned);
  });
}

}  // namespace
}  // namespace octet::kernels

OCTET_SIMPLE_KERNEL(256, assemble_latent, AssembleLatent, assemble)
OCTET_SIMPLE_KERNEL(256, assemble_latent_backward, AssembleLatentBackward, take_apart)
