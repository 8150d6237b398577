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

void OpCheck<EmbeddingBackward>::run(Trial& trial, const EmbeddingCase& c) {
  const auto tokens = random_tokens("tokens", c.rows, c.vocab);
  auto dy = random_bf16("dy", c.rows * c.dim);
  add_non_finite(dy);
  const auto before = random_f32("dtable", c.vocab * c.dim);
  const auto dtable = trial.updated("dtable", before);
  trial.run(
      EmbeddingBackward{trial.input("tokens", tokens), trial.input("dy", dy), dtable.data(), c.rows, c.dim, c.vocab});

  Vector want = reference::embedding_backward(tokens, reference::widen(dy), c.vocab, c.dim);
  Vector terms = reference::embedding_backward(tokens, magnitudes(reference::widen(dy)), c.vocab, c.dim);
  reference::add_scaled(want, 1, reference::widen(before));
  reference::add_scaled(terms, 1, magnitudes(reference::widen(before)));
  // At most `rows` additions, each rounding what has been summed so far.
  trial.expect_near("dtable", dtable, want, fraction(static_cast<double>(c.rows + 1) * kRoundoffF32, terms));
}

}  // namespace octet::ops::selftest
