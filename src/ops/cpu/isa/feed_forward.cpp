// SwiGLU, forward and backward.
#include "ops/cpu/isa/exp.h"
#include "ops/cpu/isa/kernels.h"

namespace octet::ops::cpu::OCTET_ISA {

void swiglu_forward(const SwigluForward& op, Index begin, Index end, std::uint16_t* column_maxima) {
  const Index dim = op.dim;
  for (Index row = begin; row < end; ++row) {
    const bf16* gates = op.gate_up + row * 2 * dim;
    const bf16* ups = gates + dim;
    bf16* y = op.y + row * dim;
    for (Index i = 0; i < dim; i += kLanes) {
      const F32 gate = load(gates + i, dim - i);
      store(y + i, gate * sigmoid(gate).value * load(ups + i, dim - i), dim - i);
    }
    if (op.codes.codes != nullptr) cast_row(y, dim, op.codes, row);
    if (column_maxima != nullptr) fold_columns(y, dim, column_maxima);
  }
}

void swiglu_backward(const SwigluBackward& op, Index begin, Index end, std::uint16_t* column_maxima) {
  const Index dim = op.dim;
  for (Index row = begin; row < end; ++row) {
    const bf16* gates = op.gate_up + row * 2 * dim;
    const bf16* ups = gates + dim;
    bf16* dgates = op.dgate_up + row * 2 * dim;
    bf16* dups = dgates + dim;
    for (Index i = 0; i < dim; i += kLanes) {
      const F32 gate = load(gates + i, dim - i);
      const F32 up = load(ups + i, dim - i);
      const F32 dy = load(op.dy + row * dim + i, dim - i);
      const Sigmoid s = sigmoid(gate);
      // d silu / d gate = s + gate * s * (1 - s)
      store(dgates + i, dy * up * (s.value * (gate * s.complement + 1.0F)), dim - i);
      store(dups + i, dy * (gate * s.value), dim - i);
    }
    if (op.codes.codes != nullptr) cast_row(dgates, 2 * dim, op.codes, row);
    if (column_maxima != nullptr) fold_columns(dgates, 2 * dim, column_maxima);
  }
}

}  // namespace octet::ops::cpu::OCTET_ISA
