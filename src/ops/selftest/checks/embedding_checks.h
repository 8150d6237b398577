// Cases of the embedding.
#pragma once

#include "ops/selftest/op_check.h"

namespace octet::ops::selftest {

struct EmbeddingCase {
  Index rows, dim, vocab;

  [[nodiscard]] std::string describe() const { return fmt::format("{} tokens of {}, dim {}", rows, vocab, dim); }
};

template <>
struct OpCheck<EmbeddingForward> {
  static constexpr std::array<EmbeddingCase, 5> kCases{
      {{0, 8, 3}, {1, 1, 1}, {7, 13, 5}, {129, 64, 31}, {301, 257, 1009}}};
  static constexpr std::array<EmbeddingCase, 1> kThoroughCases{{{4099, 520, 4001}}};
  static void run(Trial& trial, const EmbeddingCase& c);
};

struct EmbeddingBackwardCase {
  EmbeddingCase embedding;
  DType dtype;  ///< of the table's gradient

  [[nodiscard]] std::string describe() const { return fmt::format("{} {}", name(dtype), embedding.describe()); }
};

/// Every case in either dtype.
template <std::size_t N>
[[nodiscard]] constexpr auto embedding_backward_cases(const std::array<EmbeddingCase, N>& cases) {
  std::array<EmbeddingBackwardCase, N * 2> all{};
  for (std::size_t i = 0; i < N; ++i) {
    all[2 * i] = {cases[i], DType::f32};
    all[2 * i + 1] = {cases[i], DType::bf16};
  }
  return all;
}

template <>
struct OpCheck<EmbeddingBackward> {
  static constexpr auto kCases = embedding_backward_cases(OpCheck<EmbeddingForward>::kCases);
  static constexpr auto kThoroughCases = embedding_backward_cases(OpCheck<EmbeddingForward>::kThoroughCases);
  static void run(Trial& trial, const EmbeddingBackwardCase& c);
};

}  // namespace octet::ops::selftest
