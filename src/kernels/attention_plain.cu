// Attention for any head of up to 256 elements, in plain fp32: heads that the matrix units' kernels cannot fetch, 16
// bytes at a time. A warp takes one query, or one key, and goes through the rows of the other side in order.
#include "kernels/attention.h"

namespace octet::kernels {
namespace {

/// A row of a head, spread over a warp: thread t holds elements t, t + kWarpSize, ... Those beyond the head are zero.
struct WarpRow {
  static constexpr int kElements = kLongestHead / kWarpSize;
  float x[kElements];

  OCTET_DEVICE WarpRow() {
#pragma unroll
    for (int i = 0; i < kElements; ++i) x[i] = 0;
  }

  static OCTET_DEVICE int lane() {
    return thread_index() % kWarpSize;
  }

  static OCTET_DEVICE WarpRow load(const bf16* row, int dim) {
    WarpRow loaded;
#pragma unroll
    for (int i = 0; i < kElements; ++i) {
      const int col = lane() + i * kWarpSize;
      if (col < dim) loaded.x[i] = to_float(row[col]);
    }
    return loaded;
  }

  OCTET_DEVICE void store(bf16* row, int dim, float factor) const {
#pragma unroll
    for (int i = 0; i < kElements; ++i) {
      const int col = lane() + i * kWarpSize;
      if (col < dim) row[col] = to_bf16(x[i] * factor);
    }
  }

  OCTET_DEVICE void add(float factor, const WarpRow& other) {
#pragma unroll
    for (int i = 0; i < kElements; ++i) x[i] += factor * other.x[i];
  }

  OCTET_DEVICE void multiply(float factor) {
#pragma unroll
    for (int i = 0; i < kElements; ++i) x[i] *= factor;
  }
};

/// For all of the warp's threads.
OCTET_DEVICE float dot(const WarpRow& a, const WarpRow& b) {
  float sum = 0;
#pragma unroll
  for (int i = 0; i < WarpRow::kElements; ++i) sum += a.x[i] * b.x[i];
  for (int mask = kWarpSize / 2; mask > 0; mask /= 2) sum += shuffle_xor(sum, mask);
  return sum;
}

/// The row that a warp works on, of `heads` in each sequence: those of the queries or those of the keys.
struct WarpItem {
  Index index;  // of all rows, in the order (sequence, head, row)
  int sequence, head, row;

  OCTET_DEVICE WarpItem(const AttentionSizes& sizes, int heads)
      : index(Index{block_index()} * kAttentionWarps + warp_index()),
        sequence(static_cast<int>(index / sizes.seq_len / heads)),
        head(static_cast<int>(index / sizes.seq_len % heads)),
        row(static_cast<int>(index % sizes.seq_len)) {}
};

OCTET_DEVICE void attention_forward_plain(const AttentionForward& a) {
  const AttentionSizes& sizes = a.sizes;
  const WarpItem item(sizes, sizes.heads);
  if (item.sequence >= sizes.batch) return;
  const int query = item.row;
  const HeadPlace place(sizes, item.sequence, item.head);
  const SeenKeys seen(a.document_start, place, sizes.seq_len);
  const int dim = sizes.head_dim;
  const WarpRow q = WarpRow::load(a.qkv + place.query(sizes) + query * sizes.qkv_stride, dim);
  WarpRow sum;
  float largest = -INFINITY;
  float total = 0;
  for (int key = seen.first_of(query); key <= query; ++key) {
    const Index at = key * sizes.qkv_stride;
    const float score = sizes.scale * dot(q, WarpRow::load(a.qkv + place.key(sizes) + at, dim));
    const float next = fmaxf(largest, score);
    const float shrink = expf(largest - next);
    const float p = expf(score - next);
    largest = next;
    total = total * shrink + p;
    sum.multiply(shrink);
    sum.add(p, WarpRow::load(a.qkv + place.value(sizes) + at, sizes.value_dim));
  }
  sum.store(a.out + place.out(sizes) + query * sizes.out_stride, sizes.value_dim, 1.0F / total);
  if (WarpRow::lane() == 0) a.lse[item.index] = largest + logf(total);
}

OCTET_DEVICE void attention_backward_queries_plain(const AttentionBackward& a) {
  const AttentionSizes& sizes = a.sizes;
  const WarpItem item(sizes, sizes.heads);
  if (item.sequence >= sizes.batch) return;
  const int query = item.row;
  const HeadPlace place(sizes, item.sequence, item.head);
  const SeenKeys seen(a.document_start, place, sizes.seq_len);
  const int dim = sizes.head_dim;
  const WarpRow q = WarpRow::load(a.qkv + place.query(sizes) + query * sizes.qkv_stride, dim);
  const WarpRow dout = WarpRow::load(a.dout + place.out(sizes) + query * sizes.out_stride, sizes.value_dim);
  const float lse = a.lse[item.index];
  const float delta = a.delta[item.index];
  WarpRow dq;
  for (int key = seen.first_of(query); key <= query; ++key) {
    const Index at = key * sizes.qkv_stride;
    const WarpRow k = WarpRow::load(a.qkv + place.key(sizes) + at, dim);
    const float p = expf(sizes.scale * dot(q, k) - lse);
    const float dp = dot(dout, WarpRow::load(a.qkv + place.value(sizes) + at, sizes.value_dim));
    dq.add(p * (dp - delta), k);
  }
  dq.store(a.dqkv + place.query(sizes) + query * sizes.qkv_stride, dim, sizes.scale);
}

OCTET_DEVICE void attention_backward_keys_plain(const AttentionBackward& a) {
  const AttentionSizes& sizes = a.sizes;
  const WarpItem item(sizes, sizes.kv_heads);
  if (item.sequence >= sizes.batch) return;
  const int key = item.row;
  const int group = sizes.heads / sizes.kv_heads;
  const int first_head = item.head * group;
  const int dim = sizes.head_dim;
  const HeadPlace place(sizes, item.sequence, first_head);
  const int end_query = SeenKeys(a.document_start, place, sizes.seq_len).end_of_queries(key);
  const Index at = key * sizes.qkv_stride;
  const WarpRow k = WarpRow::load(a.qkv + place.key(sizes) + at, dim);
  const WarpRow v = WarpRow::load(a.qkv + place.value(sizes) + at, sizes.value_dim);
  WarpRow dk;
  WarpRow dv;
  for (int i = 0; i < group; ++i) {
    const HeadPlace head(sizes, item.sequence, first_head + i);
    for (int query = key; query < end_query; ++query) {
      const WarpRow q = WarpRow::load(a.qkv + head.query(sizes) + query * sizes.qkv_stride, dim);
      const WarpRow dout = WarpRow::load(a.dout + head.out(sizes) + query * sizes.out_stride, sizes.value_dim);
      const float p = expf(sizes.scale * dot(q, k) - a.lse[head.rows(sizes) + query]);
      dv.add(p, dout);
      dk.add(p * (dot(dout, v) - a.delta[head.rows(sizes) + query]), q);
    }
  }
  dk.store(a.dqkv + place.key(sizes) + at, dim, sizes.scale);
  dv.store(a.dqkv + place.value(sizes) + at, sizes.value_dim, 1.0F);
}

}  // namespace
}  // namespace octet::kernels

OCTET_SIMPLE_KERNEL(octet::kernels::kAttentionThreads, attention_forward_plain, AttentionForward,
                    attention_forward_plain)
OCTET_SIMPLE_KERNEL(octet::kernels::kAttentionThreads, attention_backward_keys_plain, AttentionBackward,
                    attention_backward_keys_plain)
OCTET_SIMPLE_KERNEL(octet::kernels::kAttentionThreads, attention_backward_queries_plain, AttentionBackward,
                    attention_backward_queries_plain)
