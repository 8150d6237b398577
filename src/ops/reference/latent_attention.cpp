// Each element where its definition puts it.
#include "ops/reference/latent_attention.h"

#include <algorithm>

namespace octet::ops::reference {
namespace {

/// Where parts of a head lie in the rows of q, kv and qkv.
struct Places {
  const MlaShape& shape;

  [[nodiscard]] Index of_q(Index head) const { return head * shape.qk_dim(); }
  [[nodiscard]] Index of_kv(Index head) const { return head * (shape.nope_dim + shape.value_dim); }
  [[nodiscard]] Index of_query(Index head) const { return head * shape.qk_dim(); }
  [[nodiscard]] Index of_key(Index head) const { return shape.q_cols() + head * shape.qk_dim(); }
  [[nodiscard]] Index of_value(Index head) const { return 2 * shape.q_cols() + head * shape.value_dim; }
};

void put(View from, std::span<double> to, Index at) {
  std::ranges::copy(from, to.begin() + at);
}

}  // namespace

Vector rotate_pairs(View x, View cos_sin, Index rows, Index dim, Index seq_len, bool inverse) {
  Vector turned(x.size());
  for (Index r = 0; r < rows; ++r) {
    const View angle = row(cos_sin, r % seq_len, dim);
    for (Index i = 0; i < dim / 2; ++i) {
      const double cosine = angle[i];
      const double sine = inverse ? -angle[dim / 2 + i] : angle[dim / 2 + i];
      const double a = x[r * dim + 2 * i];
      const double b = x[r * dim + 2 * i + 1];
      turned[r * dim + 2 * i] = a * cosine - b * sine;
      turned[r * dim + 2 * i + 1] = b * cosine + a * sine;
    }
  }
  return turned;
}

Vector mla_assemble(View q, View kv, View k_rope, View cos_sin, const MlaShape& shape) {
  const Places places{shape};
  Vector qkv(shape.rows * shape.qkv_cols());
  for (Index r = 0; r < shape.rows; ++r) {
    const View angle = row(cos_sin, r % shape.seq_len, shape.rope_dim);
    const auto rotated = [&](View x) { return rotate_pairs(x, angle, 1, shape.rope_dim, 1, false); };
    const std::span<double> out = row(qkv, r, shape.qkv_cols());
    const Vector shared = rotated(row(k_rope, r, shape.rope_dim));
    for (Index h = 0; h < shape.heads; ++h) {
      const View query = row(q, r, shape.q_cols()).subspan(places.of_q(h), shape.qk_dim());
      const View of_head = row(kv, r, shape.kv_cols()).subspan(places.of_kv(h), shape.nope_dim + shape.value_dim);
      put(query.first(shape.nope_dim), out, places.of_query(h));
      put(rotated(query.subspan(shape.nope_dim)), out, places.of_query(h) + shape.nope_dim);
      put(of_head.first(shape.nope_dim), out, places.of_key(h));
      put(shared, out, places.of_key(h) + shape.nope_dim);
      put(of_head.subspan(shape.nope_dim), out, places.of_value(h));
    }
  }
  return qkv;
}

MlaGradients mla_assemble_backward(View dqkv, View cos_sin, const MlaShape& shape) {
  const Places places{shape};
  MlaGradients gradients{Vector(shape.rows * shape.q_cols()), Vector(shape.rows * shape.kv_cols()),
                         Vector(shape.rows * shape.rope_dim)};
  for (Index r = 0; r < shape.rows; ++r) {
    const View angle = row(cos_sin, r % shape.seq_len, shape.rope_dim);
    const auto turned_back = [&](View x) { return rotate_pairs(x, angle, 1, shape.rope_dim, 1, true); };
    const View in = row(dqkv, r, shape.qkv_cols());
    const std::span<double> dq = row(gradients.dq, r, shape.q_cols());
    const std::span<double> dkv = row(gradients.dkv, r, shape.kv_cols());
    const std::span<double> shared = row(gradients.dk_rope, r, shape.rope_dim);
    for (Index h = 0; h < shape.heads; ++h) {
      const View query = in.subspan(places.of_query(h), shape.qk_dim());
      const View key = in.subspan(places.of_key(h), shape.qk_dim());
      put(query.first(shape.nope_dim), dq, places.of_q(h));
      put(turned_back(query.subspan(shape.nope_dim)), dq, places.of_q(h) + shape.nope_dim);
      put(key.first(shape.nope_dim), dkv, places.of_kv(h));
      put(in.subspan(places.of_value(h), shape.value_dim), dkv, places.of_kv(h) + shape.nope_dim);
      add_scaled(shared, 1, turned_back(key.subspan(shape.nope_dim)));
    }
  }
  return gradients;
}

}  // namespace octet::ops::reference
