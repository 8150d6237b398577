// Decoding: the newest position's keys and values go to the cache, and its query is answered from there. One read of
// the cache, 2 (k) + 2 (v) bytes an element for each query head.
#include <cmath>

#include "kernels/arguments.h"
#include "kernels/block_fold.h"
#include "kernels/prelude.h"

namespace octet::kernels {
namespace {

/// A block a sequence.
OCTET_DEVICE void append_to_cache(const AppendToCache& a) {
  const Index sequence = block_index();
  const bf16* keys = a.qkv + sequence * (a.q_cols + 2 * a.kv_cols) + a.q_cols;
  const Index place = (sequence * a.capacity + a.position) * a.kv_cols;
  for (int i = thread_index(); i < a.kv_cols; i += thread_count()) {
    a.cache_k[place + i] = keys[i];
    a.cache_v[place + i] = keys[a.kv_cols + i];
  }
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
  const Index stride = Index{a.kv_heads} * a.head_dim;
  const Index cached = sequence * a.capacity * stride + Index{head * a.kv_heads / a.heads} * a.head_dim;
  const bf16* query = a.qkv + (sequence * (a.heads + 2 * a.kv_heads) + head) * a.head_dim;
  const bf16* values = a.cache_v + cached;
  float* probabilities = a.probabilities + Index{block_index()} * a.capacity;
  softmax(a, query, a.cache_k + cached, stride, probabilities, fold);
  for (int first = 0; first < a.head_dim; first += kWarpSize) {
    const int d = first + lane;
    float sum = 0;
    if (d < a.head_dim) {
#pragma unroll 8
      for (Index i = warp; i < a.length; i += kDecodeWarps) {
        sum += probabilities[i] * to_float(values[i * stride + d]);
      }
    }
    parts[warp][lane] = sum;
    sync_block();
    if (warp == 0 && d < a.head_dim) {
      float out = 0;
      for (int w = 0; w < kDecodeWarps; ++w) out += parts[w][lane];
      a.out[Index{block_index()} * a.head_dim + d] = to_bf16(out);
    }
    sync_block();
  }
}

}  // namespace
}  // namespace octet::kernels

OCTET_SIMPLE_KERNEL(256, append_to_cache, AppendToCache, append_to_cache)
OCTET_SIMPLE_KERNEL(256, attention_decode, AttentionDecode, attention_decode)
