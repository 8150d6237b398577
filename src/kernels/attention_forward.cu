// Attention forward on the matrix units: scores, softmax and weighted values of 64 queries while keys and values go by.
// 2 (q) + 2 (k) + 2 (v) + 2 (out) bytes an element; keys and values are read again for each 64 queries, from L2.
#include "kernels/attention.h"

namespace octet::kernels {
namespace {

/// What every score is above that counts: minus infinity would turn into NaN where a query's first tiles lie before its
/// document.
constexpr float kLeastFinite = -3.402823466e38F;

/// What a thread knows of the softmax of its rows, in powers of two.
struct RunningSoftmax {
  float largest[Tile::kRows];
  float total[Tile::kRows];  // this thread's part

  OCTET_DEVICE RunningSoftmax() {
#pragma unroll
    for (int of = 0; of < Tile::kRows; ++of) {
      largest[of] = kLeastFinite;
      total[of] = 0;
    }
  }

  /// Turns scores into exponentials below the largest score so far. Earlier sums must be multiplied by `shrink`.
  template <int N>
  OCTET_DEVICE void add(Tile (&scores)[N], float (&shrink)[Tile::kRows]) {
    float next[Tile::kRows];
#pragma unroll
    for (int of = 0; of < Tile::kRows; ++of) next[of] = largest[of];
#pragma unroll
    for (int n = 0; n < N; ++n) {
#pragma unroll
      for (int i = 0; i < Tile::kElements; ++i) {
        const int of = Tile::row_of(i);
        next[of] = fmaxf(next[of], scores[n].x[i]);
      }
    }
#pragma unroll
    for (int of = 0; of < Tile::kRows; ++of) {
      for (int mask = Tile::kFirstRowMask; mask < Tile::kEndRowMask; mask *= 2)
        next[of] = fmaxf(next[of], shuffle_xor(next[of], mask));
      shrink[of] = exp2_fast(largest[of] - next[of]);
      largest[of] = next[of];
      total[of] *= shrink[of];
    }
#pragma unroll
    for (int n = 0; n < N; ++n) {
#pragma unroll
      for (int i = 0; i < Tile::kElements; ++i) {
        const int of = Tile::row_of(i);
        scores[n].x[i] = exp2_fast(scores[n].x[i] - largest[of]);
        total[of] += scores[n].x[i];
      }
    }
  }

  /// The sums of whole rows, for all of a row's threads.
  OCTET_DEVICE void finish() {
#pragma unroll
    for (int of = 0; of < Tile::kRows; ++of) {
      for (int mask = Tile::kFirstRowMask; mask < Tile::kEndRowMask; mask *= 2)
        total[of] += shuffle_xor(total[of], mask);
    }
  }
};

/// Scores in powers of two.
template <int N>
OCTET_DEVICE void scale_scores(Tile (&scores)[N], float factor) {
#pragma unroll
  for (int n = 0; n < N; ++n) {
#pragma unroll
    for (int i = 0; i < Tile::kElements; ++i) scores[n].x[i] *= factor;
  }
}

/// Keys behind the query, or before its document, do not count. The tiles' first key is `key`.
template <int N>
OCTET_DEVICE void mask_scores(Tile (&scores)[N], const SeenOfRows& seen, int key) {
#pragma unroll
  for (int n = 0; n < N; ++n) {
#pragma unroll
    for (int i = 0; i < Tile::kElements; ++i) {
      if (!seen.counts(i, key + 16 * n + Tile::col(i))) scores[n].x[i] = -INFINITY;
    }
  }
}

/// Block b takes a head's last 64 queries first, as they see the most keys.
template <int HeadDim, int ValueDim>
OCTET_DEVICE void attention_forward(const AttentionForward& a) {
  constexpr int kKeys = streamed_rows(attention_tiles(HeadDim, ValueDim), kSharedBytes).forward;
  const AttentionSizes& sizes = a.sizes;
  const int blocks = owned_blocks(sizes);
  const int first_query = (blocks - 1 - block_index() % blocks) * kOwnedRows;
  const HeadPlace place(sizes, block_index() / blocks / sizes.heads, block_index() / blocks % sizes.heads);
  const int seq_len = sizes.seq_len;
  const int end_query = first_query + kOwnedRows < seq_len ? first_query + kOwnedRows : seq_len;
  const SeenKeys seen(a.document_start, place, seq_len);
  const int begin_key = seen.first_of(first_query) / kKeys * kKeys;
  const int all_see_from = seen.first_of(end_query - 1);
  // Of the tile in the loop: pointers that advance cost fewer instructions than products of row and stride.
  const bf16* keys_here = a.qkv + place.key(sizes) + begin_key * sizes.qkv_stride;
  const bf16* values_here = a.qkv + place.value(sizes) + begin_key * sizes.qkv_stride;
  const Index next_tile = kKeys * sizes.qkv_stride;
  auto* shared = reinterpret_cast<bf16*>(dynamic_shared());
  OwnedRows<HeadDim> queries{{shared}, {}};
  const SharedRows<HeadDim> keys{shared + OwnedRows<HeadDim>::kElements};
  const SharedRows<ValueDim> values{keys.first + SharedRows<HeadDim>::elements(kKeys)};

  queries.fetch(a.qkv + place.query(sizes), sizes.qkv_stride, first_query, seq_len, sizes.head_dim);
  keys.template fetch<kKeys>(keys_here, sizes.qkv_stride, 0, seq_len - begin_key, sizes.head_dim);
  Tile out[ValueDim / 16];
  clear(out);
  RunningSoftmax softmax;
  for (int key = begin_key; key < end_query; key += kKeys) {
    finish_copies();
    sync_block();  // keys are there, and the values before are used up
    typename SharedRows<ValueDim>::template Fetch<kKeys> new_values;
    values.template begin_fetch<kKeys>(new_values, values_here, sizes.qkv_stride, 0, seq_len - key, sizes.value_dim);
    Tile scores[kKeys / 16];
    multiply_rows(scores, queries, keys);
    scale_scores(scores, sizes.scale * kLog2E);
    if (key + kKeys > first_query || key < all_see_from) mask_scores(scores, SeenOfRows(seen, first_query), key);
    float shrink[Tile::kRows];
    softmax.add(scores, shrink);
#pragma unroll
    for (int m = 0; m < ValueDim / 16; ++m) {
#pragma unroll
      for (int i = 0; i < Tile::kElements; ++i) out[m].x[i] *= shrink[Tile::row_of(i)];
    }
    values.template end_fetch<kKeys>(new_values);
    finish_copies();
    sync_block();  // values are there, and the keys are used up
    const bool more = key + kKeys < end_query;
    keys_here += next_tile;
    values_here += next_tile;
    typename SharedRows<HeadDim>::template Fetch<kKeys> next_keys;
    if (more) {
      keys.template begin_fetch<kKeys>(next_keys, keys_here, sizes.qkv_stride, 0, seq_len - key - kKeys,
                                       sizes.head_dim);
    }
    LeftFactor probabilities[kKeys / 16];
#pragma unroll
    for (int n = 0; n < kKeys / 16; ++n) probabilities[n] = as_left(scores[n]);
    add_weighted_rows(out, probabilities, values, 0);
    if (more) keys.template end_fetch<kKeys>(next_keys);
  }

  softmax.finish();
  float inverse[Tile::kRows];
#pragma unroll
  for (int of = 0; of < Tile::kRows; ++of) {
    inverse[of] = 1.0F / softmax.total[of];
    const int query = first_query + 16 * warp_index() + Tile::row(of);
    if ((thread_index() & (Tile::kEndRowMask - Tile::kFirstRowMask)) == 0 && query < seq_len) {
      a.lse[place.rows(sizes) + query] = (softmax.largest[of] + log2f(softmax.total[of])) * kLn2;
    }
  }
  static_assert(ValueDim <= HeadDim, "results have room where queries had");
  write_sums<ValueDim>(shared, out, inverse, a.out + place.out(sizes), sizes.out_stride, first_query, seq_len,
                       sizes.value_dim);
}

}  // namespace
}  // namespace octet::kernels

OCTET_ATTENTION_KERNELS(attention_forward, AttentionForward, attention_forward, 3, 3, 2)
