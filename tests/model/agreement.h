// How well a step of the model agrees with the oracle's.
#pragma once

#include <string>

#include "model/model_run.h"

namespace octet::test {

/// Signal to quantization noise in dB: 10 log10(sum of expected^2 / sum of (actual - expected)^2).
[[nodiscard]] double sqnr(ops::reference::View actual, ops::reference::View expected);

struct Agreement {
  double loss_error = 0;       ///< relative
  double logits_sqnr = 0;      ///< dB
  double gradient_sqnr = 0;    ///< dB, of the parameter where it is lowest
  std::string worst_gradient;  ///< that parameter
};

/// Compares the gradients of all parameters that the oracle has.
[[nodiscard]] Agreement agreement(const ModelStep& actual, const ops::reference::LlamaStep& expected);

/// The least agreement that a test accepts.
struct Bounds {
  double loss_error, logits_sqnr, gradient_sqnr;

  [[nodiscard]] bool hold(const Agreement& found) const {
    return found.loss_error <= loss_error && found.logits_sqnr >= logits_sqnr && found.gradient_sqnr >= gradient_sqnr;
  }
};

/// bf16 products with fp32 sums, of a model as deep as small_llama().
inline constexpr Bounds kBf16Bounds{1e-3, 38, 35};

}  // namespace octet::test
