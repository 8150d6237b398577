// Rows of multi-head latent attention against the oracle, and what moves or adds single elements.
#include "ops/selftest/checks/deepseek_checks.h"

#include "ops/reference/latent_attention.h"
#include "ops/rope_table.h"
#include "ops/selftest/strided.h"

namespace octet::ops::selftest {
namespace {

/// A matrix, and the rows of it that an op reads.
struct Strided {
  std::vector<bf16> matrix, rows;
};

Strided make_strided(std::string_view name, Index rows, Index cols, Index beside, bool non_finite) {
  Strided made{random_bf16(name, rows * (cols + beside)), {}};
  if (non_finite) add_non_finite(made.matrix);
  made.rows = first_columns(made.matrix, rows, cols);
  return made;
}

std::vector<float> table_of(const MlaShape& shape) {
  return rope_table(shape.seq_len, shape.rope_dim, 10000, std::nullopt);
}

}  // namespace

void OpCheck<MlaAssemble>::run(Trial& trial, const LatentCase& c) {
  const MlaShape& shape = c.shape;
  const Strided q = make_strided("q", shape.rows, shape.q_cols(), c.beside, c.non_finite);
  const Strided k_rope = make_strided("k_rope", shape.rows, shape.rope_dim, c.beside, c.non_finite);
  auto kv = random_bf16("kv", shape.rows * shape.kv_cols());
  if (c.non_finite) add_non_finite(kv);
  const auto cos_sin = table_of(shape);
  const auto qkv = trial.output<bf16>("qkv", shape.rows * shape.qkv_cols());
  trial.run(MlaAssemble{trial.input("q", q.matrix), trial.input("kv", kv), trial.input("k_rope", k_rope.matrix),
                        trial.input("cos_sin", cos_sin), qkv.data(), shape, shape.q_cols() + c.beside,
                        shape.rope_dim + c.beside});

  const Vector wide_q = reference::widen(q.rows);
  const Vector wide_k = reference::widen(k_rope.rows);
  const Vector want = reference::mla_assemble(wide_q, reference::widen(kv), wide_k, reference::widen(cos_sin), shape);
  // Two products and a sum that may cancel.
  const double largest = std::max(largest_magnitude(wide_q), largest_magnitude(wide_k));
  trial.expect_bf16("qkv", qkv, want, 4 * kRoundoffF32 * largest);
}

void OpCheck<MlaAssembleBackward>::run(Trial& trial, const LatentCase& c) {
  const MlaShape& shape = c.shape;
  auto dqkv = random_bf16("dqkv", shape.rows * shape.qkv_cols());
  if (c.non_finite) add_non_finite(dqkv);
  const auto cos_sin = table_of(shape);
  const auto q_before = random_bf16("dq", shape.rows * (shape.q_cols() + c.beside));
  const auto k_before = random_bf16("dk_rope", shape.rows * (shape.rope_dim + c.beside));
  const auto dq = trial.updated("dq", q_before);
  const auto dkv = trial.output<bf16>("dkv", shape.rows * shape.kv_cols());
  const auto dk_rope = trial.updated("dk_rope", k_before);
  trial.run(MlaAssembleBackward{trial.input("dqkv", dqkv), trial.input("cos_sin", cos_sin), dq.data(), dkv.data(),
                                dk_rope.data(), shape, shape.q_cols() + c.beside, shape.rope_dim + c.beside});

  const Vector wide = reference::widen(dqkv);
  const auto want = reference::mla_assemble_backward(wide, reference::widen(cos_sin), shape);
  const double rounding = kRoundoffF32 * largest_magnitude(wide);
  const auto q_rows = written_columns(trial, "dq", dq, shape.rows, shape.q_cols(), q_before);
  trial.expect_bf16("dq", q_rows, want.dq, 4 * rounding);
  trial.expect_bf16("dkv", dkv, want.dkv);
  const auto k_rows = written_columns(trial, "dk_rope", dk_rope, shape.rows, shape.rope_dim, k_before);
  trial.expect_bf16("dk_rope", k_rows, want.dk_rope, static_cast<double>(shape.heads * (shape.heads + 4)) * rounding);
}

void OpCheck<Add>::run(Trial& trial, const AddCase& c) {
  auto exact = random_f32("a", c.count);
  if (c.non_finite) add_non_finite(exact);
  const auto b = random_bf16("b", c.has_b ? c.count : 0);
  const bf16* b_in = c.has_b ? trial.input("b", b) : nullptr;
  Vector want;
  std::span<bf16> y;
  if (c.in_place) {
    const auto a = round_to_bf16(reference::widen(exact));
    want = reference::widen(a);
    y = trial.updated("a and y", a);
    trial.run(Add{y.data(), b_in, y.data(), c.count, c.dtype, c.has_b});
  } else {
    const RoundedInput a(trial, "a", c.dtype, exact);
    want = a.values;
    y = trial.output<bf16>("y", c.count);
    trial.run(Add{a.data, b_in, y.data(), c.count, c.dtype, c.has_b});
  }
  if (c.has_b) reference::add_scaled(want, 1, reference::widen(b));
  trial.expect_bf16("y", y, want);
}

void OpCheck<ShiftTokens>::run(Trial& trial, const ShiftCase& c) {
  const auto tokens = random_tokens("tokens", c.sequences * c.seq_len, 1000);
  const auto ends = [&](Index s, Index t) {
    return t + 1 == c.seq_len || (c.packing && c.packing->begins_at(s, t + 1));
  };
  std::vector<std::int32_t> want;
  for (Index s = 0; s < c.sequences; ++s) {
    for (Index t = 0; t < c.seq_len; ++t) want.push_back(ends(s, t) ? -1 : tokens[s * c.seq_len + t + 1]);
  }
  const auto shifted = trial.output<std::int32_t>("shifted", std::ssize(tokens));
  Documents documents;
  if (c.packing) {
    documents = {trial.input("document_start", document_starts(*c.packing, c.sequences, c.seq_len)), true};
  }
  trial.run(ShiftTokens{trial.input("tokens", tokens), shifted.data(), std::ssize(tokens), c.seq_len, -1, documents});
  trial.expect_same<std::int32_t>("shifted", shifted, want);
}

}  // namespace octet::ops::selftest
