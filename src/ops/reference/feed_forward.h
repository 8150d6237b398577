// SwiGLU in double precision (Shazeer, "GLU variants improve transformer", 2020).
#pragma once

#include "ops/reference/vectors.h"

namespace octet::ops::reference {

/// y [rows, dim] = silu(gate) * up with silu(g) = g / (1 + exp(-g)); gate_up [rows, 2 dim]: gate, then up.
[[nodiscard]] Vector swiglu_forward(View gate_up, Index rows, Index dim);

/// dgate_up [rows, 2 dim] from dy [rows, dim].
[[nodiscard]] Vector swiglu_backward(View gate_up, View dy, Index rows, Index dim);

}  // namespace octet::ops::reference
