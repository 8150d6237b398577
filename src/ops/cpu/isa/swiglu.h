// The gradient of SwiGLU, for whoever makes it: the same operations, hence the same bits.
#pragma once

#include "ops/cpu/isa/exp.h"

namespace octet::ops::cpu::OCTET_ISA {

/// Of sixteen gates and of what they are multiplied by.
struct GateGradient {
  F32 dgate;
  F32 dup;
};

[[gnu::always_inline]] static inline GateGradient gate_gradient(F32 gate, F32 up, F32 dy) {
  const Sigmoid s = sigmoid(gate);
  // d silu / d gate = s + gate * s * (1 - s)
  return {dy * up * (s.value * (gate * s.complement + 1.0F)), dy * (gate * s.value)};
}

}  // namespace octet::ops::cpu::OCTET_ISA
