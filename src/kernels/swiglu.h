// SwiGLU of one element, forward and backward: whoever makes a value once more gets the same bits.
#pragma once

#include <cmath>

#include "kernels/prelude.h"

namespace octet::kernels {

/// 1 / (1 + e^-x) and its complement 1 / (1 + e^x), from one exponential in (0, 1]: in range for every x, and the
/// reciprocal is that of a number in [1, 2].
struct Sigmoid {
  float value, complement;

  OCTET_DEVICE explicit Sigmoid(float x) {
    const float small = fast_exp(-fabsf(x));
    const float larger = fast_reciprocal(1.0F + small);
    const float smaller = small * larger;
    value = x > 0 ? larger : smaller;
    complement = x > 0 ? smaller : larger;
  }
};

OCTET_DEVICE float silu_times(float gate, const Sigmoid& of_gate, float up) {
  return gate * of_gate.value * up;
}

/// Gradients of a gate and of what it is multiplied by.
struct GateGradient {
  float dgate, dup;

  OCTET_DEVICE GateGradient(float gate, const Sigmoid& s, float up, float dy) {
    // Written as fused where it may be, so that whoever makes a gradient once more gets the same bits.
    dgate = dy * up * (s.value * fmaf(gate, s.complement, 1.0F));
    dup = dy * (gate * s.value);
  }
};

}  // namespace octet::kernels
