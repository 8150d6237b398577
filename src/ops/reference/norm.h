// RMSNorm in double precision (Zhang & Sennrich, "Root mean square layer normalization", 2019).
#pragma once

#include "ops/reference/vectors.h"

namespace octet::ops::reference {

struct RmsNorm {
  Vector y;     // [rows, dim]
  Vector rstd;  // [rows]
};

/// y = x * rstd * weight with rstd = 1 / sqrt(mean(x^2) + eps); x [rows, dim], weight [dim].
[[nodiscard]] RmsNorm rmsnorm_forward(View x, View weight, Index rows, Index dim, double eps);

struct RmsNormGradients {
  Vector dx;       // [rows, dim]
  Vector dweight;  // [dim]
};

/// dx = rstd * (dy*weight - xhat * mean(dy*weight*xhat)), dweight = sum over rows of dy*xhat, where xhat = x * rstd.
[[nodiscard]] RmsNormGradients rmsnorm_backward(View dy, View x, View weight, View rstd, Index rows, Index dim);

}  // namespace octet::ops::reference
