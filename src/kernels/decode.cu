// Decoding: the newest positions' keys and values go to the cache, and a query is answered from there. One read of
// the cache, 2 (k) + 2 (v) bytes an element for each query head.
#include <cmath>

#include "kernels/arguments.h"
#include "kernels/block_fold.h"
#include "kernels/prelude.h"

namespace octet::kernels {
namespace {

/// A block a new position.
OCTET_DEVICE void append_to_cache(const AppendToCache& a) {
  const Index row = block_index();
  const bf16* keys = a.qkv + row * (a.q_cols + a.k_cols + a.v_cols) + a.q_cols;
  const bf16* values = keys + a.k_cols;
  const Index place = row / a.seq_len * a.capacity + a.position + row % a.seq_len;
  for (int i = thread_index(); i < a.k_cols; i += thread_count()) a.cache_k[place * a.k_cols + i] = keys[i];
  for (int i = thread_index(); i < a.v_cols; i += thread_count()) a.cache_v[place * a.v_cols + i] = values[i];
}

constexpr int kDecodeThreads = 256;
constexpr int kDecodeWarps = kDecodeThreads / kWarpSize;

OCTET_DEVICE float warp_sum(float x) {
  for (int mask = kWarpSize / 2; mask > 0; mask /= 2) x += shuffle_xor(x, mask);
  return x;
}

/// probabilities[i] = exp(scale * q k_i) / the sum over all cached positions, visible to the whole block.
OCTET_DEVICE void softmax(const AttentionDecode& a, const bf16* query, const bf16* keys, Index stride,
                          float* probabilities, BlockFold<float>& fold) {
  const int lane = thread_index() % kWarpSize;
  float largest = -INFINITY;
  for (Index i = thread_index() / kWarpSize; i < a.length; i += kDecodeWarps) {
    float dot = 0;
    for (int d = lane; d < a.head_dim; d += kWarpSize) dot += to_float(query[d]) * to_float(keys[i * stride + d]);
    const float score = warp_sum(dot) * a.scale;
    if (lane == 0) probabilities[i] = score;
    largest = fmaxf(largest, score);
  }
  largest = fold.largest(largest);  // its barrier also makes every score visible to the block
  float sum = 0;
  for (Index i = thread_index(); i < a.length; i += kDecodeThreads) {
    const float e = fast_exp(probabilities[i] - largest);
    probabilities[i] = e;
    sum += e;
  }
  const float total = fold.sum(sum);
  for (Index i = thread_index(); i < a.length; i += kDecodeThreads) probabilities[i] /= total;
  sync_block();
}

/// A block a query head. Each warp takes every eighth position, a lane one element of the head at a time; the warps'
/// sums are added in order.
OCTET_DEVICE void attention_decode(const AttentionDecode& a) {
  OCTET_SHARED float fold_parts[BlockFold<float>::kParts];
  BlockFold<float> fold(fold_parts);
  OCTET_SHARED float parts[kDecodeWarps][kWarpSize];
  const Index sequence = block_index() / a.heads;
  const int head = block_index() % a.heads;
  const int warp = thread_index() / kWarpSize;
  const int lane = thread_index() % kWarpSize;
  const int kv_head = head * a.kv_heads / a.heads;
  const Index key_stride = Index{a.kv_heads} * a.head_dim;
  const Index value_stride = Index{a.kv_heads} * a.value_dim;
  const Index qkv_stride = a.heads * Index{a.head_dim} + key_stride + value_stride;
  const bf16* query = a.qkv + sequence * qkv_stride + Index{head} * a.head_dim;
  const bf16* keys = a.cache_k + sequence * a.capacity * key_stride + Index{kv_head} * a.head_dim;
  const bf16* values = a.cache_v + sequence * a.capacity * value_stride + Index{kv_head} * a.value_dim;
  float* probabilities = a.probabilities + Index{block_index()} * a.capacity;
  softmax(a, query, keys, key_stride, probabilities, fold);
  for (int first = 0; first < a.value_dim; first += kWarpSize) {
    const int d = first + lane;
    float sum = 0;
    if (d < a.value_dim) {
#pragma unroll 8
      for (Index i = warp; i < a.length; i += kDecodeWarps) {
        sum += probabilities[i] * to_float(values[i * value_stride + d]);
      }
    }
    parts[warp][lane] = sum;
    sync_block();
    if (warp == 0 && d < a.value_dim) {
      float out = 0;
      for (int w = 0; w < kDecodeWarps; ++w) out += parts[w][lane];
      a.out[Index{block_index()} * a.value_dim + d] = to_bf16(out);
    }
    sync_block();
  }
}

}  // namespace
}  // namespace octet::kernels

OCTET_SIMPLE_KERNEL(256, append_to_cache, AppendToCache, append_to_cache)
OCTET_SIMPLE_KERNEL(256, attention_decode, AttentionDecode, attention_decode)
