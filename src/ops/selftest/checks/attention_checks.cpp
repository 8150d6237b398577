// Rotary positions and attention against the oracle. Kernels round probabilities to bf16 before the product with the
// values, and score gradients before theirs: tolerances are a share of the terms that such products add up.
#include "ops/selftest/checks/attention_checks.h"

#include <algorithm>

#include "ops/reference/attention.h"
#include "ops/rope_table.h"

namespace octet::ops::selftest {
namespace {

/// Twice the relative error of rounding a factor to bf16, and room for the exponential's own.
constexpr double kRoundedFactor = 0x1p-7;

double softmax_scale(Index head_dim) {
  return 1 / std::sqrt(static_cast<double>(head_dim));
}

/// Documents of a case, in memory of the trial. Empty starts: none.
Documents documents_of(Trial& trial, const std::vector<std::int32_t>& starts) {
  if (starts.empty()) return {};
  return {trial.input("document_start", starts), true};
}

std::vector<std::int32_t> starts_of(const AttentionCase& c) {
  if (!c.packing) return {};
  return document_starts(*c.packing, c.shape.batch, c.shape.seq_len);
}

/// Whether the same results, bit by bit, are to come without documents.
bool needs_no_documents(const Trial& trial, const std::vector<std::int32_t>& starts) {
  return trial.attends_alike() && !starts.empty() &&
         std::ranges::all_of(starts, [](std::int32_t start) { return start == 0; });
}

std::vector<bf16> make_qkv(const AttentionCase& c) {
  auto qkv = random_bf16("qkv", c.shape.rows() * c.shape.qkv_cols(), c.spread);
  if (c.non_finite) qkv[qkv.size() / 2].bits = 0x7FC0;
  return qkv;
}

/// The magnitudes that the sums for dqkv add up, where errors of bf16 factors and of bf16 `out` enter.
Vector backward_terms(View qkv, View out, View dout, const reference::Softmax& softmax, const AttentionShape& shape,
                      double scale) {
  Vector terms(qkv.size());
  const Index hd = shape.head_dim;
  const Index vd = shape.value_dim;
  const auto add = [&](Index token, Index first_col, double factor, View x) {
    const std::span<double> sum = reference::row(terms, token, shape.qkv_cols()).subspan(first_col, std::ssize(x));
    reference::add_scaled(sum, factor, magnitudes(x));
  };
  const auto dot_magnitudes = [](View a, View b) { return reference::dot(magnitudes(a), magnitudes(b)); };
  for (Index query = 0; query < shape.rows() * shape.heads; ++query) {  // (batch, head, position)
    const Index i = query % shape.seq_len;
    const Index h = query / shape.seq_len % shape.heads;
    const Index b = query / shape.seq_len / shape.heads;
    const Index kv_head = h * shape.kv_heads / shape.heads;
    const Index token = b * shape.seq_len + i;
    const View upstream = reference::row(dout, token, shape.out_cols()).subspan(h * vd, vd);
    const double delta = dot_magnitudes(upstream, reference::row(out, token, shape.out_cols()).subspan(h * vd, vd));
    for (Index j = softmax.first_key[token]; j <= i; ++j) {
      const double p = softmax.probabilities[query * shape.seq_len + j];
      const double ds = p * scale * (dot_magnitudes(upstream, reference::value(qkv, shape, b, j, h)) + delta);
      const Index key_token = b * shape.seq_len + j;
      add(token, h * hd, ds, reference::key(qkv, shape, b, j, h));
      add(key_token, (shape.heads + kv_head) * hd, ds, reference::query(qkv, shape, b, i, h));
      add(key_token, (shape.heads + shape.kv_heads) * hd + kv_head * vd, p, upstream);
    }
  }
  return terms;
}

}  // namespace

void OpCheck<Rope>::run(Trial& trial, const RopeCase& c) {
  const Index stride = (c.heads + c.kept_heads) * c.head_dim;
  auto before = random_bf16("qkv", c.rows * stride);
  if (c.non_finite) add_non_finite(before);
  const auto cos_sin = rope_table(c.seq_len + c.offset, c.head_dim, 10000, std::nullopt);
  const auto qkv = trial.updated("qkv", before);
  const RowCodes codes = trial.row_codes(c.codes, c.measured.rows, c.rows, stride);
  const ColumnMaxima columns = trial.column_maxima(c.measured.columns, stride);
  trial.run(Rope{qkv.data(), trial.input("cos_sin", cos_sin), c.rows, stride, c.heads, c.head_dim, c.seq_len, c.offset,
                 c.inverse, codes, columns});

  const Vector wide = reference::widen(before);
  const reference::RopeShape shape{c.rows, stride, c.heads, c.head_dim, c.seq_len, c.offset};
  const Vector want = reference::rope(wide, reference::widen(cos_sin), shape, c.inverse);
  // Two products and a sum that may cancel.
  trial.expect_bf16("qkv", qkv, want, 4 * kRoundoffF32 * largest_magnitude(wide));
  for (Index r = 0; r < c.rows; ++r) {
    const Index first = r * stride + c.heads * c.head_dim;
    const std::vector<bf16> kept(before.begin() + first, before.begin() + (r + 1) * stride);
    trial.expect_same<bf16>("the heads that are not rotated", qkv.subspan(first, kept.size()), kept);
  }
  trial.expect_row_codes(codes, qkv, c.rows, stride);
  trial.expect_column_maxima(columns, qkv, c.rows, stride);
}

void OpCheck<AttentionForward>::run(Trial& trial, const AttentionCase& c) {
  const auto qkv = make_qkv(c);
  const double scale = softmax_scale(c.shape.head_dim);
  const auto out = trial.output<bf16>("out", c.shape.rows() * c.shape.out_cols());
  const auto lse = trial.output<float>("lse", c.shape.rows() * c.shape.heads);
  const auto starts = starts_of(c);
  AttentionForward op{trial.input("qkv", qkv),    out.data(), lse.data(), c.shape, static_cast<float>(scale),
                      documents_of(trial, starts)};
  trial.run(op);
  if (needs_no_documents(trial, starts)) {
    const std::vector<bf16> packed_out(out.begin(), out.end());
    const std::vector<float> packed_lse(lse.begin(), lse.end());
    op.documents = {};
    trial.run(op);
    trial.expect_same<bf16>("out without documents", out, packed_out);
    trial.expect_same<float>("lse without documents", lse, packed_lse);
  }

  const Vector wide = reference::widen(qkv);
  const auto softmax = reference::attention_softmax(wide, c.shape, scale, starts);
  const Vector want = reference::attention_forward(wide, softmax, c.shape);
  if (c.non_finite) return trial.expect_visible("out", out, want);
  const Vector terms = reference::attention_forward(magnitudes(wide), softmax, c.shape);
  trial.expect_bf16("out", out, want, fraction(kRoundedFactor, terms));
  // lse over magnitudes bounds every score's terms; hd products a score, S exponentials a row.
  const Vector score_terms = reference::attention_softmax(magnitudes(wide), c.shape, scale, starts).lse;
  Vector allowed = score_terms;
  for (double& each : allowed) {
    each = kRoundoffF32 * (static_cast<double>(c.shape.head_dim + 8) * each + static_cast<double>(c.shape.seq_len) + 8);
  }
  trial.expect_near("lse", lse, softmax.lse, allowed);
}

void OpCheck<AttentionBackward>::run(Trial& trial, const AttentionCase& c) {
  const auto qkv = make_qkv(c);
  const double scale = softmax_scale(c.shape.head_dim);
  const Vector wide = reference::widen(qkv);
  const auto starts = starts_of(c);
  const auto softmax = reference::attention_softmax(wide, c.shape, scale, starts);
  const auto out = round_to_bf16(reference::attention_forward(wide, softmax, c.shape));
  const auto dout = random_bf16("dout", std::ssize(out));
  const auto lse = round_to_f32(softmax.lse);
  const auto dqkv = trial.output<bf16>("dqkv", std::ssize(qkv));
  AttentionBackward op{trial.input("qkv", qkv),
                       trial.input("out", out),
                       trial.input("dout", dout),
                       trial.input("lse", lse),
                       dqkv.data(),
                       c.shape,
                       static_cast<float>(scale),
                       documents_of(trial, starts)};
  trial.run(op);
  if (needs_no_documents(trial, starts)) {
    const std::vector<bf16> packed(dqkv.begin(), dqkv.end());
    op.documents = {};
    trial.run(op);
    trial.expect_same<bf16>("dqkv without documents", dqkv, packed);
  }

  const Vector upstream = reference::widen(dout);
  const Vector want = reference::attention_backward(wide, softmax, upstream, c.shape, scale);
  if (c.non_finite) return trial.expect_visible("dqkv", dqkv, want);
  const Vector terms = backward_terms(wide, reference::widen(out), upstream, softmax, c.shape, scale);
  trial.expect_bf16("dqkv", dqkv, want, fraction(kRoundedFactor, terms));
}

void OpCheck<AppendToCache>::run(Trial& trial, const AppendCase& c) {
  const Index k_cols = c.kv_heads * c.head_dim;
  const Index v_cols = c.kv_heads * c.value_dim;
  const Index qkv_cols = c.heads * c.head_dim + k_cols + v_cols;
  auto qkv = random_bf16("qkv", c.batch * c.seq_len * qkv_cols);
  add_non_finite(qkv);
  auto want_k = random_bf16("cache_k", c.batch * c.capacity * k_cols);
  auto want_v = random_bf16("cache_v", c.batch * c.capacity * v_cols);
  const auto cache_k = trial.updated("cache_k", want_k);
  const auto cache_v = trial.updated("cache_v", want_v);
  trial.run(AppendToCache{trial.input("qkv", qkv), cache_k.data(), cache_v.data(), c.batch, c.position, c.capacity,
                          c.heads, c.kv_heads, c.head_dim, c.value_dim, c.seq_len});

  for (Index row = 0; row < c.batch * c.seq_len; ++row) {
    const auto newest = qkv.begin() + row * qkv_cols + c.heads * c.head_dim;
    const Index place = row / c.seq_len * c.capacity + c.position + row % c.seq_len;
    std::copy_n(newest, k_cols, want_k.begin() + place * k_cols);
    std::copy_n(newest + k_cols, v_cols, want_v.begin() + place * v_cols);
  }
  trial.expect_same<bf16>("cache_k", cache_k, want_k);
  trial.expect_same<bf16>("cache_v", cache_v, want_v);
}

void OpCheck<AttentionDecode>::run(Trial& trial, const DecodeCase& c) {
  const reference::DecodeShape shape{c.batch, c.length, c.capacity, c.heads, c.kv_heads, c.head_dim, c.value_dim};
  const Index k_cols = c.kv_heads * c.head_dim;
  const Index v_cols = c.kv_heads * c.value_dim;
  const double scale = softmax_scale(c.head_dim);
  auto qkv = random_bf16("qkv", c.batch * shape.qkv_cols());
  if (c.non_finite) qkv[0].bits = 0x7FC0;  // the first query
  auto cache_k = random_bf16("cache_k", c.batch * c.capacity * k_cols);
  auto cache_v = random_bf16("cache_v", c.batch * c.capacity * v_cols);
  const auto spoil_unused = [&](auto& cache, Index cols) {  // what lies behind the cached positions must not be read
    for (Index i = 0; i < std::ssize(cache); ++i) {
      if (i / cols % c.capacity >= c.length) cache[i] = bf16{0x7FC0};
    }
  };
  spoil_unused(cache_k, k_cols);
  spoil_unused(cache_v, v_cols);
  const auto out = trial.output<bf16>("out", c.batch * c.heads * c.value_dim);
  trial.run(AttentionDecode{trial.input("qkv", qkv), trial.input("cache_k", cache_k), trial.input("cache_v", cache_v),
                            out.data(), c.batch, c.length, c.capacity, c.heads, c.kv_heads, c.head_dim,
                            static_cast<float>(scale), c.value_dim});

  const Vector wide = reference::widen(qkv);
  const Vector keys = reference::widen(cache_k);
  const Vector values = reference::widen(cache_v);
  const Vector terms = reference::attention_decode(wide, keys, magnitudes(values), shape, scale);
  trial.expect_bf16("out", out, reference::attention_decode(wide, keys, values, shape, scale),
                    fraction(kRoundedFactor, terms));
}

}  // namespace octet::ops::selftest
