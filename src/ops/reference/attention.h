// Rotary positions (Su et al., "RoFormer", 2021) and causal grouped-query attention (Vaswani et al., 2017; Ainslie et
// al., "GQA", 2023) in double precision, with every probability written down.
#pragma once

#include "ops/ops.h"
#include "ops/reference/vectors.h"

namespace octet::ops::reference {

/// Where the rotated heads lie and which position a row has: the sizes of ops::Rope.
struct RopeShape {
  Index rows, row_stride, heads, head_dim, seq_len, offset;
};

/// Pair (i, i + hd/2) of each of the first `heads` heads of a row is rotated by the angle whose cosine and sine the
/// row's position finds in cos_sin [S, hd]; `inverse` rotates back. x [rows, row_stride]; other columns are copied.
[[nodiscard]] Vector rope(View x, View cos_sin, const RopeShape& shape, bool inverse);

/// One head of one token in a row of qkv: query heads first, then key heads, then value heads.
[[nodiscard]] View query(View qkv, const AttentionShape& shape, Index batch, Index position, Index head);
/// The key, and the value, that query head `head` reads: those of key/value head head * KV / H.
[[nodiscard]] View key(View qkv, const AttentionShape& shape, Index batch, Index position, Index head);
[[nodiscard]] View value(View qkv, const AttentionShape& shape, Index batch, Index position, Index head);

struct Softmax {
  Vector probabilities;          // [B, H, S, S]; zero above the diagonal, and before the query's document
  Vector lse;                    // [B, H, S]: log of the sum of exp(scale * q k^T)
  std::vector<Index> first_key;  // [B, S]: the first that each query sees
};

/// The position in its sequence of the first token of each token's document, [T]; empty where each sequence is one.
using DocumentStarts = std::span<const std::int32_t>;

/// softmax(scale * q k^T) over the keys of each query's document, up to the query. qkv [B S, (H + KV) hd + KV vd].
[[nodiscard]] Softmax attention_softmax(View qkv, const AttentionShape& shape, double scale,
                                        DocumentStarts document_start = {});

/// out [B S, H vd] = probabilities * values.
[[nodiscard]] Vector attention_forward(View qkv, const Softmax& softmax, const AttentionShape& shape);

/// dqkv [B S, (H + KV) hd + KV vd] from dout [B S, H vd].
[[nodiscard]] Vector attention_backward(View qkv, const Softmax& softmax, View dout, const AttentionShape& shape,
                                        double scale);

/// Keys and values at positions [0, length) of one sequence each.
struct DecodeShape {
  Index batch, length, capacity, heads, kv_heads, head_dim;
  Index value_dim = head_dim;

  [[nodiscard]] Index qkv_cols() const { return (heads + kv_heads) * head_dim + kv_heads * value_dim; }
};

/// out [B, H vd]: the query in each row of qkv [B, (H + KV) hd + KV vd] attends to cache_k [B, capacity, KV hd] and
/// cache_v [B, capacity, KV vd].
[[nodiscard]] Vector attention_decode(View qkv, View cache_k, View cache_v, const DecodeShape& shape, double scale);

}  // namespace octet::ops::reference
