// Rows of SwiGLU and of its gradient for the casts that transpose, made anew of the same operands.
#pragma once

#include "ops/cpu/isa/swiglu.h"
#include "ops/cpu/isa/transposed_block.h"

namespace octet::ops::cpu::OCTET_ISA {

/// Every row counts as it is.
struct Unweighted {
  [[gnu::always_inline]] F32 times(F32 x, Index) const { return x; }
};

/// A routed row counts by the weight of its choice.
struct RowWeights {
  const float* weights;               // [tokens, top_k]
  const std::int32_t* choice_of_row;  // [rows]

  [[gnu::always_inline]] F32 times(F32 x, Index row) const { return x * weights[choice_of_row[row]]; }
};

/// The gradient of SwiGLU: as many columns of dgate as fill a tile, then the same of dup.
template <typename Weights>
struct GradientRows {
  const bf16* gate_up;  // [rows, 2 dim], from the first column of the block
  const bf16* dy;       // [rows, dim]
  Index dim, width;
  Weights weights;

  [[gnu::always_inline]] const bf16* row(Index row, PaddedRow& padded) const {
    const bf16* gates = gate_up + row * 2 * dim;
    const bf16* ups = gates + dim;
    const bf16* dys = dy + row * dim;
    for (Index i = 0; i < width; i += kPairLanes) {
      __builtin_prefetch(gates + i + kRowsAhead * 2 * dim);
      __builtin_prefetch(ups + i + kRowsAhead * 2 * dim);
      __builtin_prefetch(dys + i + kRowsAhead * dim);
    }
    for (Index i = 0; i < width; i += kLanes) {  // loads give zeros beyond the width, whose gradients are zero
      const Index count = width - i;
      const GateGradient gradient =
          gate_gradient(load(gates + i, count), load(ups + i, count), weights.times(load(dys + i, count), row));
      store(padded + i, gradient.dgate);
      store(padded + kTileSize + i, gradient.dup);
    }
    return padded;
  }
};

/// What SwiGLU made of the same gates.
template <typename Weights>
struct ActivatedRows {
  const bf16* gate_up;  // [rows, 2 dim], from the first column of the block
  Index dim, width;
  Weights weights;

  [[gnu::always_inline]] const bf16* row(Index row, PaddedRow& padded) const {
    const bf16* gates = gate_up + row * 2 * dim;
    for (Index i = 0; i < width; i += kLanes) {  // loads give zeros beyond the width, of which SwiGLU makes zeros
      const F32 y = silu_times(load(gates + i, width - i), load(gates + dim + i, width - i));
      store(padded + i, weights.times(y, row));
    }
    return padded;
  }
};

}  // namespace octet::ops::cpu::OCTET_ISA
