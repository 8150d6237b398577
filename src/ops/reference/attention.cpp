// Attention over the full matrix of probabilities, one query at a time.
#include "ops/reference/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace octet::ops::reference {
namespace {

/// Turns scores into probabilities, in place. Returns the log of the sum of their exponentials.
double softmax(std::span<double> scores) {
  double largest = -std::numeric_limits<double>::infinity();
  for (const double score : scores) largest = std::max(largest, score);
  double sum = 0;
  for (const double score : scores) sum += std::exp(score - largest);
  for (double& score : scores) score = std::exp(score - largest) / sum;
  return largest + std::log(sum);
}

/// The first column of a head in a row of qkv.
struct Columns {
  const AttentionShape& shape;

  [[nodiscard]] Index kv_head(Index head) const { return head * shape.kv_heads / shape.heads; }
  [[nodiscard]] Index query(Index head) const { return head * shape.head_dim; }
  [[nodiscard]] Index key(Index head) const { return (shape.heads + kv_head(head)) * shape.head_dim; }
  [[nodiscard]] Index value(Index head) const {
    return (shape.heads + shape.kv_heads) * shape.head_dim + kv_head(head) * shape.value_dim;
  }
};

Index qkv_offset(const AttentionShape& shape, Index batch, Index position) {
  return (batch * shape.seq_len + position) * shape.qkv_cols();
}

/// Calls visit(batch, head, position, first index of the query's row of probabilities) for every query.
template <typename Visit>
void for_each_query(const AttentionShape& shape, Visit visit) {
  for (Index b = 0; b < shape.batch; ++b) {
    for (Index h = 0; h < shape.heads; ++h) {
      for (Index i = 0; i < shape.seq_len; ++i)
        visit(b, h, i, ((b * shape.heads + h) * shape.seq_len + i) * shape.seq_len);
    }
  }
}

}  // namespace

Vector rope(View x, View cos_sin, const RopeShape& shape, bool inverse) {
  Vector out(x.begin(), x.end());
  const Index half = shape.head_dim / 2;
  for (Index t = 0; t < shape.rows; ++t) {
    const View angles = row(cos_sin, t % shape.seq_len + shape.offset, shape.head_dim);
    for (Index h = 0; h < shape.heads; ++h) {
      const Index first = t * shape.row_stride + h * shape.head_dim;
      for (Index i = 0; i < half; ++i) {
        const double cosine = angles[i];
        const double sine = inverse ? -angles[half + i] : angles[half + i];
        out[first + i] = x[first + i] * cosine - x[first + half + i] * sine;
        out[first + half + i] = x[first + half + i] * cosine + x[first + i] * sine;
      }
    }
  }
  return out;
}

View query(View qkv, const AttentionShape& shape, Index batch, Index position, Index head) {
  return qkv.subspan(qkv_offset(shape, batch, position) + Columns{shape}.query(head), shape.head_dim);
}

View key(View qkv, const AttentionShape& shape, Index batch, Index position, Index head) {
  return qkv.subspan(qkv_offset(shape, batch, position) + Columns{shape}.key(head), shape.head_dim);
}

View value(View qkv, const AttentionShape& shape, Index batch, Index position, Index head) {
  return qkv.subspan(qkv_offset(shape, batch, position) + Columns{shape}.value(head), shape.value_dim);
}

Softmax attention_softmax(View qkv, const AttentionShape& shape, double scale, DocumentStarts document_start) {
  Softmax result{Vector(shape.rows() * shape.heads * shape.seq_len), Vector(shape.rows() * shape.heads),
                 std::vector<Index>(shape.rows())};
  if (!document_start.empty()) result.first_key.assign(document_start.begin(), document_start.end());
  for_each_query(shape, [&](Index b, Index h, Index i, Index first) {
    const Index begin = result.first_key[b * shape.seq_len + i];
    const auto scores = std::span(result.probabilities).subspan(first + begin, i + 1 - begin);
    for (Index j = begin; j <= i; ++j) {
      scores[j - begin] = scale * dot(query(qkv, shape, b, i, h), key(qkv, shape, b, j, h));
    }
    result.lse[first / shape.seq_len] = softmax(scores);
  });
  return result;
}

Vector attention_forward(View qkv, const Softmax& softmax, const AttentionShape& shape) {
  Vector out(shape.rows() * shape.out_cols());
  for_each_query(shape, [&](Index b, Index h, Index i, Index first) {
    const Index token = b * shape.seq_len + i;
    const auto sum = row(out, token, shape.out_cols()).subspan(h * shape.value_dim, shape.value_dim);
    for (Index j = softmax.first_key[token]; j <= i; ++j) {
      add_scaled(sum, softmax.probabilities[first + j], value(qkv, shape, b, j, h));
    }
  });
  return out;
}

Vector attention_backward(View qkv, const Softmax& softmax, View dout, const AttentionShape& shape, double scale) {
  Vector dqkv(qkv.size());
  const Columns columns{shape};
  const auto gradient = [&](Index batch, Index position, Index column, Index dim) {
    return std::span(dqkv).subspan(qkv_offset(shape, batch, position) + column, dim);
  };
  for_each_query(shape, [&](Index b, Index h, Index i, Index first) {
    const View probabilities = View(softmax.probabilities).subspan(first, i + 1);
    const Index token = b * shape.seq_len + i;
    const Index begin = softmax.first_key[token];
    const View upstream = row(dout, token, shape.out_cols()).subspan(h * shape.value_dim, shape.value_dim);
    Vector dp(i + 1);
    for (Index j = begin; j <= i; ++j) dp[j] = dot(upstream, value(qkv, shape, b, j, h));
    const double delta = dot(probabilities, dp);
    for (Index j = begin; j <= i; ++j) {
      const double dscore = probabilities[j] * (dp[j] - delta) * scale;
      add_scaled(gradient(b, i, columns.query(h), shape.head_dim), dscore, key(qkv, shape, b, j, h));
      add_scaled(gradient(b, j, columns.key(h), shape.head_dim), dscore, query(qkv, shape, b, i, h));
      add_scaled(gradient(b, j, columns.value(h), shape.value_dim), probabilities[j], upstream);
    }
  });
  return dqkv;
}

Vector attention_decode(View qkv, View cache_k, View cache_v, const DecodeShape& shape, double scale) {
  const Index hd = shape.head_dim;
  const Index vd = shape.value_dim;
  Vector out(shape.batch * shape.heads * vd);
  for (Index b = 0; b < shape.batch; ++b) {
    for (Index h = 0; h < shape.heads; ++h) {
      const Index kv_head = h * shape.kv_heads / shape.heads;
      const auto cached = [&](View cache, Index position, Index dim) {
        return cache.subspan(((b * shape.capacity + position) * shape.kv_heads + kv_head) * dim, dim);
      };
      const View q = row(qkv, b, shape.qkv_cols()).subspan(h * hd, hd);
      Vector scores(shape.length);
      for (Index j = 0; j < shape.length; ++j) scores[j] = scale * dot(q, cached(cache_k, j, hd));
      softmax(scores);
      for (Index j = 0; j < shape.length; ++j) {
        add_scaled(std::span(out).subspan((b * shape.heads + h) * vd, vd), scores[j], cached(cache_v, j, vd));
      }
    }
  }
  return out;
}

}  // namespace octet::ops::reference
