// RMSNorm of each query and key head in double precision (Qwen Team, "Qwen3 technical report", 2025, section 2).
#pragma once

#include "ops/head_norm_ops.h"
#include "ops/reference/vectors.h"

namespace octet::ops::reference {

/// x [rows, C] with its first H heads normed under weights[0] and the next KV under weights[1]; weights [2, hd]. Value
/// heads are copied. Nothing is rotated.
[[nodiscard]] Vector head_norm_forward(View x, View weights, const HeadNormShape& shape, double eps);

struct HeadNormGradients {
  Vector dx;        // [rows, C]
  Vector dweights;  // [2, hd]
};

/// From dy [rows, C].
[[nodiscard]] HeadNormGradients head_norm_backward(View dy, View x, View weights, const HeadNormShape& shape,
                                                   double eps);

}  // namespace octet::ops::reference
