// One linear layer in a recipe, emulated: codes and inverse scales by the rule, bit for bit, products of the decoded
// codes in double precision.
#pragma once

#include <optional>

#include "fp8/format_family.h"
#include "fp8/recipe.h"
#include "ops/reference/casts.h"

namespace octet::ops::reference {

/// An operand as a product reads it, [outer, contraction].
struct LinearOperand {
  std::optional<fp8::Format> format;  // nothing: bf16, and no codes
  Codes codes;
  Vector values;  // decoded codes, before their inverse scales; the bf16 values where there are no codes
};

/// D = A B^T with the inverse scales in the epilogue.
struct LinearProduct {
  LinearOperand left, right;
  Vector exact;  // [outer of left, outer of right], before it is rounded to what the layer stores
};

/// Shapes as in fp8::Recipe, with M = rows, N = out, K = in.
struct LinearEmulation {
  LinearProduct forward;  // Y [rows, out], stored in bf16
  LinearProduct dgrad;    // dX [rows, in], stored in bf16
  LinearProduct wgrad;    // dW [out, in], stored in fp32
};

/// Y = X W^T and its two gradients as `recipe` computes them in the formats of `family`, from X [rows, in],
/// W [out, in] and dY [rows, out].
[[nodiscard]] LinearEmulation emulate_linear(const fp8::Recipe& recipe, fp8::FormatFamily family,
                                             std::span<const bf16> x, std::span<const bf16> weight,
                                             std::span<const bf16> dy, Index rows, Index in, Index out);

/// For each element of a product, what the sum of its contraction in fp32, in any order, and the epilogue may differ
/// from `exact`. With u = 2^-24, a sum of k products loses at most gamma_k = k u / (1 - k u) times the sum of their
/// magnitudes (Higham, Accuracy and Stability of Numerical Algorithms, 2002, section 3.1); products of two codes, or of
/// two bf16 values, are exact in fp32; two inverse scales are two more roundings. Whatever is below 2^-126, an operand,
/// a term, a partial sum or the result, may be lost altogether, as bf16 instructions take subnormals for zero. Not
/// finite where the product is not.
[[nodiscard]] Vector fp32_error_bound(const LinearProduct& product, Index contraction);

}  // namespace octet::ops::reference
