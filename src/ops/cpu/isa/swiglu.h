// SwiGLU and its gradient, for whoever makes them: the same operations, hence the same bits.
#pragma once

#include "ops/cpu/isa/exp.h"

namespace octet::ops::cpu::OCTET_ISA {

[[gnu::always_inline]] static inline F32 silu_times(F32 gate, F32 up) {
  return gate * sigmoid(gate).value * up;
}

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
