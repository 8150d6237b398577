// Attention backward on the matrix units, in three launches, each with its own order of sums: delta, then keys and
// values, then queries. Probabilities are computed again from lse in the second and in the third: seven products where
// five would do, and no atomic addition.
#include "kernels/attention.h"

namespace octet::kernels {
namespace {

/// delta = the sum of out * dout over a head. 2 (out) + 2 (dout) bytes an element. A group of threads takes a head of a
/// row, eight elements each, as many as make a power of two.
OCTET_DEVICE void attention_delta(const AttentionBackward& a) {
  const AttentionSizes& sizes = a.sizes;
  int group = 1;
  while (group * 8 < sizes.value_dim) group *= 2;
  const Index pair = (Index{block_index()} * kAttentionThreads + thread_index()) / group;  // (token, head)
  const Index pairs = Index{sizes.batch} * sizes.seq_len * sizes.heads;
  const int col = thread_index() % group * 8;
  float sum = 0;
  if (pair < pairs && col < sizes.value_dim) {
    const bf16* out = a.out + pair * sizes.value_dim + col;
    const bf16* dout = a.dout + pair * sizes.value_dim + col;
    if (a.aligned) {
      const auto x = load_16_bytes<Vector>(out);
      const auto y = load_16_bytes<Vector>(dout);
#pragma unroll
      for (int w = 0; w < 4; ++w) {
        sum += low_half(x.words[w]) * low_half(y.words[w]);
        sum += high_half(x.words[w]) * high_half(y.words[w]);
      }
    } else {
      for (int i = 0; i < 8 && col + i < sizes.value_dim; ++i) sum += to_float(out[i]) * to_float(dout[i]);
    }
  }
  for (int mask = group / 2; mask > 0; mask /= 2) sum += shuffle_xor(sum, mask);
  if (pair >= pairs || col != 0) return;
  const Index token = pair / sizes.heads;
  const Index sequence = token / sizes.seq_len;
  a.delta[(sequence * sizes.heads + pair % sizes.heads) * sizes.seq_len + token % sizes.seq_len] = sum;
}

/// Two sides' rows [0, rows) in shared memory: keys and values, or queries and dout.
template <int HeadDim, int ValueDim>
struct RowPair {
  SharedRows<HeadDim> first;
  SharedRows<ValueDim> second;

  static constexpr int elements(int rows) {
    return SharedRows<HeadDim>::elements(rows) + SharedRows<ValueDim>::elements(rows);
  }

  OCTET_DEVICE RowPair(bf16* shared, int rows) : first{shared}, second{shared + SharedRows<HeadDim>::elements(rows)} {}

  template <int Rows>
  struct Fetch {
    typename SharedRows<HeadDim>::template Fetch<Rows> first;
    typename SharedRows<ValueDim>::template Fetch<Rows> second;
  };
  template <int Rows>
  OCTET_DEVICE void end_fetch(const Fetch<Rows>& fetch) const {
    first.template end_fetch<Rows>(fetch.first);
    second.template end_fetch<Rows>(fetch.second);
  }
};

/// The pair that a block owns.
template <int HeadDim, int ValueDim>
struct OwnedPair {
  static constexpr int kElements = OwnedRows<HeadDim>::kElements + OwnedRows<ValueDim>::kElements;
  OwnedRows<HeadDim> first;
  OwnedRows<ValueDim> second;

  explicit OCTET_DEVICE OwnedPair(bf16* shared)
      : first{{shared}, {}}, second{{shared + OwnedRows<HeadDim>::kElements}, {}} {}
};

struct Statistics {
  float lse, delta;
};

/// Scores and gradients of probabilities become factors of the sums to come: p, and p (dp - delta), which is ds without
/// its scale. `statistic` is that of the query of element i of tile n.
template <int N, typename Statistic>
OCTET_DEVICE void make_factors(Tile (&scores)[N], Tile (&dp)[N], float log2_scale, Statistic statistic) {
#pragma unroll
  for (int n = 0; n < N; ++n) {
#pragma unroll
    for (int i = 0; i < Tile::kElements; ++i) {
      const auto [lse, delta] = statistic(n, i);
      scores[n].x[i] = exp2_fast(scores[n].x[i] * log2_scale - lse * kLog2E);
      dp[n].x[i] = scores[n].x[i] * (dp[n].x[i] - delta);
    }
  }
}

/// Factors that do not count, which may be anything, become zero.
template <int N, typename Count>
OCTET_DEVICE void drop_factors(Tile (&p)[N], Tile (&ds)[N], Count counts) {
#pragma unroll
  for (int n = 0; n < N; ++n) {
#pragma unroll
    for (int i = 0; i < Tile::kElements; ++i) {
      if (counts(n, i)) continue;
      p[n].x[i] = 0;
      ds[n].x[i] = 0;
    }
  }
}

template <int N>
OCTET_DEVICE void as_left(LeftFactor (&factors)[N], const Tile (&tiles)[N]) {
#pragma unroll
  for (int n = 0; n < N; ++n) factors[n] = as_left(tiles[n]);
}

OCTET_DEVICE void fill(float (&factors)[Tile::kRows], float factor) {
#pragma unroll
  for (int of = 0; of < Tile::kRows; ++of) factors[of] = factor;
}

/// dk and dv of 64 keys of one key/value head: the query heads that read it one after the other, and the queries of
/// each in order. Early keys come first, as the most queries see them.
template <int HeadDim, int ValueDim>
OCTET_DEVICE void attention_backward_keys(const AttentionBackward& a) {
  constexpr AttentionTiles kInstance = attention_tiles(HeadDim, ValueDim);
  constexpr int kRows = streamed_rows(kInstance, kSharedBytes).backward;
  constexpr int kTiles = kRows / 16;
  constexpr int kKeyCols = HeadDim / kInstance.key_parts;
  constexpr int kValueCols = ValueDim / kInstance.key_parts;
  using Rows = RowPair<HeadDim, ValueDim>;
  const AttentionSizes& sizes = a.sizes;
  const int blocks = owned_blocks(sizes);
  const int seq_len = sizes.seq_len;
  const int first_key = block_index() % blocks * kOwnedRows;
  const int group = sizes.heads / sizes.kv_heads;
  const int sequence = block_index() / blocks / sizes.kv_heads;
  const int first_head = block_index() / blocks % sizes.kv_heads * group;
  const int part = block_index_y();
  const HeadPlace place(sizes, sequence, first_head);
  const SeenKeys seen(a.document_start, place, seq_len);
  const int last_key = (first_key + kOwnedRows < seq_len ? first_key + kOwnedRows : seq_len) - 1;
  const int end_query = seen.end_of_queries(last_key);
  const int end_of_all = seen.end_of_queries(first_key);  // the queries before it see as far back as that
  const int stream =
      (end_query - first_key + kRows - 1) / kRows;  // fetches a head, from the first query that sees a key

  auto* shared = reinterpret_cast<bf16*>(dynamic_shared());
  OwnedPair<HeadDim, ValueDim> owned(shared);
  bf16* stream_place = shared + owned.kElements;
  const auto streamed = [&](int step) { return Rows(stream_place + step % 2 * Rows::elements(kRows), kRows); };
  auto* statistics = reinterpret_cast<float*>(stream_place + 2 * Rows::elements(kRows));  // [2][lse, delta][kRows]

  const bool has_statistic = thread_index() < 2 * kRows;
  static_assert(2 * kRows <= kAttentionThreads);
  const auto own_statistic = [&](int step) { return statistics + step % 2 * 2 * kRows + thread_index(); };
  typename Rows::template Fetch<kRows> next;
  Copies<4, 1> next_statistic;
  const auto begin_fetch = [&](int step) {
    const HeadPlace head(sizes, sequence, first_head + step / stream);
    const int query = first_key + step % stream * kRows;
    const Rows to = streamed(step);
    to.first.template begin_fetch<kRows>(next.first, a.qkv + head.query(sizes), sizes.qkv_stride, query, seq_len,
                                         sizes.head_dim);
    to.second.template begin_fetch<kRows>(next.second, a.dout + head.out(sizes), sizes.out_stride, query, seq_len,
                                          sizes.value_dim);
    if (!has_statistic) return;
    const int row = query + thread_index() % kRows;
    const float* from = (thread_index() < kRows ? a.lse : a.delta) + head.rows(sizes) + row;
    next_statistic.begin(0, own_statistic(step), from, row < seq_len);
  };
  const auto end_fetch = [&](int step) {
    streamed(step).template end_fetch<kRows>(next);
    if (has_statistic) next_statistic.end(0, own_statistic(step));
  };
  owned.first.fetch(a.qkv + place.key(sizes), sizes.qkv_stride, first_key, seq_len, sizes.head_dim);
  owned.second.fetch(a.qkv + place.value(sizes), sizes.qkv_stride, first_key, seq_len, sizes.value_dim);
  begin_fetch(0);
  end_fetch(0);

  Tile dk[kKeyCols / 16];
  Tile dv[kValueCols / 16];
  clear(dk);
  clear(dv);
  const int steps = group * stream;
  for (int step = 0; step < steps; ++step) {
    finish_copies();
    sync_block();  // this step's rows are there, and those of the step before are used up
    if (step + 1 < steps) begin_fetch(step + 1);
    const Rows now = streamed(step);
    const float* of_queries = statistics + step % 2 * 2 * kRows;
    const int first_query = first_key + step % stream * kRows;
    Tile scores[kTiles];  // [keys, queries]
    Tile dp[kTiles];
    multiply_rows(scores, owned.first, now.first);
    multiply_rows(dp, owned.second, now.second);
    make_factors(scores, dp, sizes.scale * kLog2E, [&](int n, int i) {
      const int query = 16 * n + Tile::col(i);
      return Statistics{of_queries[query], of_queries[kRows + query]};
    });
    if (first_query < first_key + kOwnedRows || first_query + kRows > seq_len) {
      drop_factors(scores, dp, [&](int n, int i) {
        const int query = first_query + 16 * n + Tile::col(i);
        const int key = first_key + 16 * warp_index() + Tile::row(Tile::row_of(i));
        return key <= query && query < seq_len;
      });
    }
    if (first_query + kRows > end_of_all) {
      drop_factors(scores, dp, [&](int n, int i) {
        const int key = first_key + 16 * warp_index() + Tile::row(Tile::row_of(i));
        return seen.first_of(first_query + 16 * n + Tile::col(i)) <= key;
      });
    }
    LeftFactor factors[kTiles];
    as_left(factors, scores);
    add_weighted_rows(dv, factors, now.second, part * (kValueCols / 16));
    as_left(factors, dp);
    add_weighted_rows(dk, factors, now.first, part * (kKeyCols / 16));
    if (step + 1 < steps) end_fetch(step + 1);
  }

  const auto cols = [&](int dim, int of_part) {
    const int rest = dim - part * of_part;
    return rest < of_part ? rest : of_part;
  };
  float factors[Tile::kRows];
  fill(factors, sizes.scale);  // which ds lacks
  write_sums<HeadDim>(shared, dk, factors, a.dqkv + place.key(sizes) + part * kKeyCols, sizes.qkv_stride, first_key,
                      seq_len, cols(sizes.head_dim, kKeyCols));
  fill(factors, 1.0F);
  write_sums<ValueDim>(shared, dv, factors, a.dqkv + place.value(sizes) + part * kValueCols, sizes.qkv_stride,
                       first_key, seq_len, cols(sizes.value_dim, kValueCols));
}

/// dq of 64 queries of one head, over the keys in order. The last queries come first, as they see the most keys.
template <int HeadDim, int ValueDim>
OCTET_DEVICE void attention_backward_queries(const AttentionBackward& a) {
  constexpr int kRows = streamed_rows(attention_tiles(HeadDim, ValueDim), kSharedBytes).backward;
  constexpr int kTiles = kRows / 16;
  using Rows = RowPair<HeadDim, ValueDim>;
  const AttentionSizes& sizes = a.sizes;
  const int blocks = owned_blocks(sizes);
  const int seq_len = sizes.seq_len;
  const int first_query = (blocks - 1 - block_index() % blocks) * kOwnedRows;
  const int end_query = first_query + kOwnedRows < seq_len ? first_query + kOwnedRows : seq_len;
  const HeadPlace place(sizes, block_index() / blocks / sizes.heads, block_index() / blocks % sizes.heads);
  const SeenKeys seen(a.document_start, place, seq_len);
  const int first_step = seen.first_of(first_query) / kRows;
  const int all_see_from = seen.first_of(end_query - 1);

  auto* shared = reinterpret_cast<bf16*>(dynamic_shared());
  OwnedPair<HeadDim, ValueDim> owned(shared);
  bf16* stream_place = shared + owned.kElements;
  const auto streamed = [&](int step) { return Rows(stream_place + step % 2 * Rows::elements(kRows), kRows); };

  typename Rows::template Fetch<kRows> next;
  const auto begin_fetch = [&](int step) {
    const Rows to = streamed(step);
    to.first.template begin_fetch<kRows>(next.first, a.qkv + place.key(sizes), sizes.qkv_stride, step * kRows, seq_len,
                                         sizes.head_dim);
    to.second.template begin_fetch<kRows>(next.second, a.qkv + place.value(sizes), sizes.qkv_stride, step * kRows,
                                          seq_len, sizes.value_dim);
  };
  const auto end_fetch = [&](int step) { streamed(step).template end_fetch<kRows>(next); };
  owned.first.fetch(a.qkv + place.query(sizes), sizes.qkv_stride, first_query, seq_len, sizes.head_dim);
  owned.second.fetch(a.dout + place.out(sizes), sizes.out_stride, first_query, seq_len, sizes.value_dim);
  begin_fetch(first_step);
  end_fetch(first_step);
  Statistics of_rows[Tile::kRows];
#pragma unroll
  for (int of = 0; of < Tile::kRows; ++of) {
    const int query = first_query + 16 * warp_index() + Tile::row(of);
    const Index at = place.rows(sizes) + query;
    of_rows[of] = query < seq_len ? Statistics{a.lse[at], a.delta[at]} : Statistics{0, 0};
  }

  Tile dq[HeadDim / 16];
  clear(dq);
  const int steps = (end_query + kRows - 1) / kRows;
  for (int step = first_step; step < steps; ++step) {
    finish_copies();
    sync_block();  // this step's rows are there, and those of the step before are used up
    if (step + 1 < steps) begin_fetch(step + 1);
    const Rows now = streamed(step);
    Tile scores[kTiles];  // [queries, keys]
    Tile dp[kTiles];
    multiply_rows(scores, owned.first, now.first);
    multiply_rows(dp, owned.second, now.second);
    make_factors(scores, dp, sizes.scale * kLog2E, [&](int, int i) { return of_rows[Tile::row_of(i)]; });
    if ((step + 1) * kRows > first_query || step * kRows < all_see_from) {
      const SeenOfRows seen_of_rows(seen, first_query);
      drop_factors(scores, dp,
                   [&](int n, int i) { return seen_of_rows.counts(i, step * kRows + 16 * n + Tile::col(i)); });
    }
    LeftFactor factors[kTiles];
    as_left(factors, dp);
    add_weighted_rows(dq, factors, now.first, 0);
    if (step + 1 < steps) end_fetch(step + 1);
  }

  float factors[Tile::kRows];
  fill(factors, sizes.scale);  // which ds lacks
  write_sums<HeadDim>(shared, dq, factors, a.dqkv + place.query(sizes), sizes.qkv_stride, first_query, seq_len,
                      sizes.head_dim);
}

}  // namespace
}  // namespace octet::kernels

OCTET_SIMPLE_KERNEL(octet::kernels::kAttentionThreads, attention_delta, AttentionBackward, attention_delta)
OCTET_ATTENTION_KERNELS(attention_backward_keys, AttentionBackward, attention_backward_keys, 2, 1, 1)
OCTET_ATTENTION_KERNELS(attention_backward_queries, AttentionBackward, attention_backward_queries, 3, 2, 1)
