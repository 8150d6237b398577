// Rows on their way to the experts, within them and back.
#include "ops/cpu/isa/kernels.h"
#include "ops/cpu/isa/swiglu.h"

namespace octet::ops::cpu::OCTET_ISA {

void gather_rows(const GatherRows& op, Index begin, Index end, std::uint16_t* column_maxima) {
  for (Index row = begin; row < end; ++row) {
    const bf16* x = op.x + (op.choice_of_row == nullptr ? row : op.choice_of_row[row] / op.top_k) * op.dim;
    if (op.stored) __builtin_memcpy(op.y + row * op.dim, x, static_cast<std::size_t>(op.dim) * sizeof(bf16));
    if (op.codes.codes != nullptr) cast_row(x, op.dim, op.codes, row);
    if (column_maxima != nullptr) fold_columns(x, op.dim, column_maxima);
  }
}

void combine_rows(const CombineRows& op, Index begin, Index end) {
  for (Index token = begin; token < end; ++token) {
    const std::int32_t* rows = op.row_of_choice + token * op.top_k;
    for (Index i = 0; i < op.dim; i += kLanes) {
      const Index count = op.dim - i;
      F32 total{};
      if (op.has_base) total = load(op.base + token * op.dim + i, count);
      for (Index k = 0; k < op.top_k; ++k) total = total + load(op.routed + rows[k] * op.dim + i, count);
      store(op.out + token * op.dim + i, total, count);
    }
  }
}

void grouped_swiglu_forward(const GroupedSwigluForward& op, Index begin, Index end, std::uint16_t* column_maxima,
                            bf16* unstored) {
  const Index dim = op.dim;
  for (Index row = begin; row < end; ++row) {
    const bf16* gates = op.gate_up + row * 2 * dim;
    const bf16* ups = gates + dim;
    const float weight = op.weights[op.choice_of_row[row]];
    bf16* y = op.stored ? op.y + row * dim : unstored;
    for (Index i = 0; i < dim; i += kLanes) {
      store(y + i, silu_times(load(gates + i, dim - i), load(ups + i, dim - i)) * weight, dim - i);
    }
    if (op.codes.codes != nullptr) cast_row(y, dim, op.codes, row);
    if (column_maxima != nullptr) fold_columns(y, dim, column_maxima);
  }
}

void grouped_swiglu_backward(const GroupedSwigluBackward& op, Index begin, Index end, std::uint16_t* column_maxima,
                             bf16* unstored) {
  const Index dim = op.dim;
  for (Index row = begin; row < end; ++row) {
    const bf16* gates = op.gate_up + row * 2 * dim;
    const bf16* ups = gates + dim;
    const Index choice = op.choice_of_row[row];
    const float weight = op.weights[choice];
    bf16* dgates = op.stored ? op.dgate_up + row * 2 * dim : unstored;
    bf16* dups = dgates + dim;
    F32 dweight{};
    for (Index i = 0; i < dim; i += kLanes) {
      const F32 gate = load(gates + i, dim - i);
      const F32 up = load(ups + i, dim - i);
      const F32 dy = load(op.dy + row * dim + i, dim - i);
      const GateGradient gradient = gate_gradient(gate, up, dy * weight);
      dweight = dweight + dy * silu_times(gate, up);
      store(dgates + i, gradient.dgate, dim - i);
      store(dups + i, gradient.dup, dim - i);
    }
    op.dweights[choice] = sum(dweight);
    if (op.codes.codes != nullptr) cast_row(dgates, 2 * dim, op.codes, row);
    if (column_maxima != nullptr) fold_columns(dgates, 2 * dim, column_maxima);
  }
}

}  // namespace octet::ops::cpu::OCTET_ISA
