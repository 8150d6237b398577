// SwiGLU, forward and backward.
#include "ops/cpu/isa/kernels.h"
#include "ops/cpu/isa/swiglu.h"

namespace octet::ops::cpu::OCTET_ISA {

void swiglu_forward(const SwigluForward& op, Index begin, Index end, std::uint16_t* column_maxima, bf16* unstored) {
  const Index dim = op.dim;
  for (Index row = begin; row < end; ++row) {
    const bf16* gates = op.gate_up + row * 2 * dim;
    const bf16* ups = gates + dim;
    bf16* y = op.stored ? op.y + row * dim : unstored;
    for (Index i = 0; i < dim; i += kLanes) {
      store(y + i, silu_times(load(gates + i, dim - i), load(ups + i, dim - i)), dim - i);
    }
    if (op.codes.codes != nullptr) cast_row(y, dim, op.codes, row);
    if (column_maxima != nullptr) fold_columns(y, dim, column_maxima);
  }
}

void swiglu_backward(const SwigluBackward& op, Index begin, Index end, std::uint16_t* column_maxima, bf16* unstored) {
  const Index dim = op.dim;
  for (Index row = begin; row < end; ++row) {
    const bf16* gates = op.gate_up + row * 2 * dim;
    const bf16* ups = gates + dim;
    bf16* dgates = op.stored ? op.dgate_up + row * 2 * dim : unstored;
    bf16* dups = dgates + dim;
    for (Index i = 0; i < dim; i += kLanes) {
      const GateGradient gradient =
          gate_gradient(load(gates + i, dim - i), load(ups + i, dim - i), load(op.dy + row * dim + i, dim - i));
      store(dgates + i, gradient.dgate, dim - i);
      store(dups + i, gradient.dup, dim - i);
    }
    if (op.codes.codes != nullptr) cast_row(dgates, 2 * dim, op.codes, row);
    if (column_maxima != nullptr) fold_columns(dgates, 2 * dim, column_maxima);
  }
}

}  // namespace octet::ops::cpu::OCTET_ISA
