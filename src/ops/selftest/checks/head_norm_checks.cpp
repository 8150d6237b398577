// Norms of query and key heads against the oracle.
#include "ops/selftest/checks/head_norm_checks.h"

#include "ops/reference/attention.h"
#include "ops/reference/head_norm.h"
#include "ops/rope_table.h"

namespace octet::ops::selftest {
namespace {

constexpr float kEps = 1e-6F;

std::vector<float> table_of(const HeadNormShape& shape) {
  return rope_table(shape.seq_len + shape.offset, shape.head_dim, 10000, std::nullopt);
}

Vector turned(View x, View cos_sin, const HeadNormShape& shape, bool inverse) {
  const reference::RopeShape heads{shape.rows,     shape.cols(),  shape.normed_heads(),
                                   shape.head_dim, shape.seq_len, shape.offset};
  return reference::rope(x, cos_sin, heads, inverse);
}

/// What each element of a rotated x may be off by where errors are `factor` times the magnitudes of its pair.
Vector rotation_terms(View x, const HeadNormShape& shape, double factor) {
  const Index half = shape.head_dim / 2;
  Vector terms(x.size());
  for (Index first = 0; first < std::ssize(x); first += 2 * half) {
    for (Index i = first; i < first + half; ++i) {
      terms[i] = terms[i + half] = factor * (std::abs(x[i]) + std::abs(x[i + half]));
    }
  }
  return terms;
}

/// The magnitudes that each element of dx is the sum of.
Vector dx_terms(View dnormed, View x, View weights, const HeadNormShape& shape) {
  const Index dim = shape.head_dim;
  Vector terms(dnormed.size());
  for (Index head = 0; head < shape.rows * (shape.normed_heads() + shape.kv_heads); ++head) {
    const Index in_row = head % (shape.normed_heads() + shape.kv_heads);
    if (in_row >= shape.normed_heads()) continue;
    const View weight = reference::row(weights, in_row < shape.heads ? 0 : 1, dim);
    const View values = reference::row(x, head, dim);
    const double rstd = 1 / std::sqrt(reference::dot(values, values) / static_cast<double>(dim) + double{kEps});
    double mean = 0;
    for (Index i = 0; i < dim; ++i) {
      mean += std::abs(dnormed[head * dim + i] * weight[i] * values[i]) * rstd / static_cast<double>(dim);
    }
    for (Index i = 0; i < dim; ++i) {
      terms[head * dim + i] =
          rstd * (std::abs(dnormed[head * dim + i] * weight[i]) + std::abs(values[i]) * rstd * mean);
    }
  }
  return terms;
}

}  // namespace

void OpCheck<HeadNormRope>::run(Trial& trial, const HeadNormCase& c) {
  const HeadNormShape& shape = c.shape;
  auto x = random_bf16("x", shape.rows * shape.cols());
  if (c.non_finite) add_non_finite(x);
  const auto weights = random_bf16("weights", 2 * shape.head_dim);
  const auto cos_sin = table_of(shape);
  const auto y = trial.output<bf16>("y", shape.rows * shape.cols());
  trial.run(HeadNormRope{trial.input("x", x), trial.input("weights", weights), trial.input("cos_sin", cos_sin),
                         y.data(), shape, kEps});

  const Vector normed =
      reference::head_norm_forward(reference::widen(x), reference::widen(weights), shape, static_cast<double>(kEps));
  // hd additions of squares, of which the root takes half; then two products and a sum that may cancel.
  const double rounding = (static_cast<double>(shape.head_dim) / 2 + 8) * kRoundoffF32;
  trial.expect_bf16("y", y, turned(normed, reference::widen(cos_sin), shape, false),
                    rotation_terms(normed, shape, rounding));
  const Index kept = shape.kv_heads * shape.head_dim;
  for (Index r = 0; r < shape.rows; ++r) {
    const Index first = (r + 1) * shape.cols() - kept;
    trial.expect_same<bf16>("value heads", y.subspan(first, kept), {x.begin() + first, x.begin() + first + kept});
  }
}

void OpCheck<HeadNormRopeBackward>::run(Trial& trial, const HeadNormCase& c) {
  const HeadNormShape& shape = c.shape;
  const Index count = shape.rows * shape.cols();
  const auto x = random_bf16("x", count);
  const auto weights = random_bf16("weights", 2 * shape.head_dim);
  auto dy = random_bf16("dy", count);
  if (c.non_finite) add_non_finite(dy);
  const auto before = random_f32("dweights", 2 * shape.head_dim);
  const auto cos_sin = table_of(shape);
  const auto dqkv = trial.updated("dqkv", dy);
  const auto dweights = trial.updated("dweights", before);
  const RowCodes codes = trial.row_codes(c.codes, c.measured.rows, shape.rows, shape.cols());
  const ColumnMaxima columns = trial.column_maxima(c.measured.columns, shape.cols());
  trial.run(HeadNormRopeBackward{trial.input("x", x), trial.input("weights", weights), trial.input("cos_sin", cos_sin),
                                 dqkv.data(), dweights.data(), codes, columns, shape, kEps});

  const Vector wide_x = reference::widen(x);
  const Vector wide_weights = reference::widen(weights);
  const Vector dnormed = turned(reference::widen(dy), reference::widen(cos_sin), shape, true);
  auto want = reference::head_norm_backward(dnormed, wide_x, wide_weights, shape, static_cast<double>(kEps));
  // Turned back, an element may have cancelled: its error is a share of its pair's magnitudes.
  const Vector pairs = rotation_terms(dnormed, shape, 1);
  trial.expect_bf16("dqkv", dqkv, want.dx,
                    fraction(static_cast<double>(2 * shape.head_dim + 16) * kRoundoffF32,
                             dx_terms(pairs, wide_x, wide_weights, shape)));
  reference::add_scaled(want.dweights, 1, reference::widen(before));
  Vector weight_terms =
      reference::head_norm_backward(pairs, magnitudes(wide_x), wide_weights, shape, static_cast<double>(kEps)).dweights;
  reference::add_scaled(weight_terms, 1, magnitudes(reference::widen(before)));
  const auto terms = static_cast<double>(shape.rows * shape.heads + shape.head_dim + kColumnPartials + 8);
  trial.expect_near("dweights", dweights, want.dweights, fraction(terms * kRoundoffF32, weight_terms));
  trial.expect_row_codes(codes, dqkv, shape.rows, shape.cols());
  trial.expect_column_maxima(columns, dqkv, shape.rows, shape.cols());
}

}  // namespace octet::ops::selftest
