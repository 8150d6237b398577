// Matrix products in double precision. FP8 operands are given dequantized: codes * scale_inverse (see casts.h).
#pragma once

#include "ops/reference/vectors.h"

namespace octet::ops::reference {

/// d [m, n] = a [m, k] b [n, k]^T.
[[nodiscard]] Vector gemm(View a, View b, Index m, Index n, Index k);

struct LinearGradients {
  Vector dx;       // [rows, in]
  Vector dweight;  // [out, in]
};

/// Gradients of y = x weight^T from dy [rows, out]; x [rows, in], weight [out, in]: dx = dy weight, dweight = dy^T x.
[[nodiscard]] LinearGradients linear_backward(View dy, View x, View weight, Index rows, Index in, Index out);

}  // namespace octet::ops::reference
