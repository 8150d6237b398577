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

template <>
struct OpCheck<EmbeddingBackward> {
  static constexpr std::array<EmbeddingCase, 5> kCases = OpCheck<EmbeddingForward>::kCases;
  static constexpr std::array<EmbeddingCase, 1> kThoroughCases = OpCheck<EmbeddingForward>::kThoroughCases;
  static void run(Trial& trial, const EmbeddingCase& c);
};

}  // namespace octet::ops::selftest
