// The embedding against the oracle.
#include "ops/selftest/checks/embedding_checks.h"

#include "ops/reference/embedding.h"

namespace octet::ops::selftest {

void OpCheck<EmbeddingForward>::run(Trial& trial, const EmbeddingCase& c) {
  const auto tokens = random_tokens("tokens", c.rows, c.vocab);
  auto table = random_bf16("table", c.vocab * c.dim);
  add_non_finite(table);
  const auto out = trial.output<bf16>("out", c.rows * c.dim);
  trial.run(
      EmbeddingForward{trial.input("tokens", tokens), trial.input("table", table), out.data(), c.rows, c.dim, c.vocab});

  std::vector<bf16> want;
  for (const std::int32_t token : tokens) {
    want.insert(want.end(), table.begin() + token * c.dim, table.begin() + (token + 1) * c.dim);
  }
  trial.expect_same<bf16>("out", out, want);
}

void OpCheck<EmbeddingBackward>::run(Trial& trial, const EmbeddingBackwardCase& c) {
  const auto [rows, dim, vocab] = c.embedding;
  const auto tokens = random_tokens("tokens", rows, vocab);
  auto dy = random_bf16("dy", rows * dim);
  add_non_finite(dy);
  const bool to_f32 = c.dtype == DType::f32;
  const auto f32_before = random_f32("dtable", to_f32 ? vocab * dim : 0);
  const auto bf16_before = random_bf16("dtable", to_f32 ? 0 : vocab * dim);
  const Vector before = to_f32 ? reference::widen(f32_before) : reference::widen(bf16_before);
  const auto dtable_f32 = trial.updated("dtable", f32_before);
  const auto dtable_bf16 = trial.updated("dtable", bf16_before);
  void* dtable = dtable_bf16.data();
  if (to_f32) dtable = dtable_f32.data();
  trial.run(EmbeddingBackward{trial.input("tokens", tokens), trial.input("dy", dy), dtable, rows, dim, vocab, c.dtype});

  Vector want = reference::embedding_backward(tokens, reference::widen(dy), vocab, dim);
  Vector terms = reference::embedding_backward(tokens, magnitudes(reference::widen(dy)), vocab, dim);
  reference::add_scaled(want, 1, before);
  reference::add_scaled(terms, 1, magnitudes(before));
  // At most `rows` additions, each rounding what has been summed so far.
  const Allowance allowed = fraction(static_cast<double>(rows + 1) * kRoundoffF32, terms);
  if (to_f32) {
    trial.expect_near("dtable", dtable_f32, want, allowed);
  } else {
    trial.expect_bf16("dtable", dtable_bf16, want, allowed);
  }
}

}  // namespace octet::ops::selftest
