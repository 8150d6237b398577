// Whether a product of a linear layer is the one that the emulation says: operands bit for bit, sums to fp32 rounding.
#pragma once

#include <gtest/gtest.h>

#include "model/linear_run.h"
#include "ops/reference/linear.h"

namespace octet::test {

/// Format, codes and inverse scales are the same bits; a NaN scale is any NaN.
[[nodiscard]] testing::AssertionResult same_operand(const UsedOperand& used,
                                                    const ops::reference::LinearOperand& expected);

/// A result in `dtype` (bf16 or f32) is the rounding of some value within `bound` of `exact`. Rounding keeps order, so
/// that it lies between the two roundings of exact - bound and exact + bound. What is not finite must be the same.
[[nodiscard]] testing::AssertionResult rounds_from(DType dtype, ops::reference::View result, ops::reference::View exact,
                                                   ops::reference::View bound);

}  // namespace octet::test
