// One step of one linear layer on the CPU: its results, and what its three products really read.
#pragma once

#include <span>
#include <vector>

#include "model/linear.h"
#include "ops/reference/vectors.h"

namespace octet::test {

/// Y [m, n] = X [m, k] W [n, k]^T.
struct LinearShape {
  std::int64_t m, n, k;
};

struct LinearOperands {
  std::vector<bf16> x;       // [m, k]
  std::vector<bf16> weight;  // [n, k]
  std::vector<bf16> dy;      // [m, n]
};

/// A copy of one side of a product, [outer, contraction]; without codes where it was bf16.
struct UsedOperand {
  DType dtype = DType::bf16;
  std::vector<std::uint8_t> codes;
  std::vector<float> scale_inverse;
};

struct UsedProduct {
  UsedOperand left, right;
  fp8::Accumulation accumulation{};
};

struct LinearStep {
  ops::reference::Vector y;        // [m, n]
  ops::reference::Vector dx;       // [m, k]
  ops::reference::Vector dweight;  // [n, k]
  UsedProduct forward, dgrad, wgrad;
};

/// Casts the weight, then forward and backward; the layer makes all codes itself.
[[nodiscard]] LinearStep run_linear(const LinearShape& shape, const LinearPrecision& precision,
                                    WeightCodes weight_codes, const LinearOperands& operands);

}  // namespace octet::test
