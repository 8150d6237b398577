// SwiGLU, forward and backward. A row stays in a block's registers: 4 (gate, up) + 2 (y) + 1 (codes) bytes an element
// of y forward; 4 + 2 (dy) + 4 (dgate, dup) + 2 (codes) backward.
#include "kernels/measured.h"

namespace octet::kernels {
namespace {

OCTET_DEVICE float sigmoid(float x) {
  return 1.0F / (1.0F + __expf(-x));
}

/// y = silu(gate) * up.
template <fp8::Format F, int V>
OCTET_DEVICE void forward(const SwigluForward& a) {
  OCTET_SHARED std::uint32_t maxima[32];
  const RowPlace<V> place{a.dim, a.aligned};
  ColumnFold<V> columns;
  for (Index r = block_index(); r < a.rows; r += block_count()) {
    RowVectors<V> gate;
    RowVectors<V> up;
    gate.load(a.gate_up + r * 2 * a.dim, place);
    up.load(a.gate_up + r * 2 * a.dim + a.dim, place);
    RowVectors<V> y;
    const auto silu_up = [&](int i) { return gate.at(i) * sigmoid(gate.at(i)) * up.at(i); };
#pragma unroll
    for (int i = 0; i < 8 * V; i += 2) y.set_pair(i, silu_up(i), silu_up(i + 1));
    y.store(a.y + r * a.dim, place);
    leave_row<F, V>(a.measured, y, place, r, columns, maxima);
  }
  if (a.measured.column_partials != nullptr) {
    columns.store(a.measured.column_partials + Index{block_index()} * a.dim, place);
  }
}

/// The gradient's row, dgate then dup, is cast under one scale. Each half is held as a row of its own.
template <fp8::Format F, int V>
OCTET_DEVICE void backward(const SwigluBackward& a) {
  OCTET_SHARED std::uint32_t maxima[32];
  const RowPlace<V> place{a.dim, a.aligned};
  ColumnFold<V> gate_columns;
  ColumnFold<V> up_columns;
  for (Index r = block_index(); r < a.rows; r += block_count()) {
    RowVectors<V> dgate;
    RowVectors<V> dup;
    {
      RowVectors<V> dy;
      dgate.load(a.gate_up + r * 2 * a.dim, place);
      dup.load(a.gate_up + r * 2 * a.dim + a.dim, place);
      dy.load(a.dy + r * a.dim, place);
#pragma unroll
      for (int i = 0; i < 8 * V; i += 2) {
        float gates[2];
        float ups[2];
#pragma unroll
        for (int j = 0; j < 2; ++j) {
          const float gate = dgate.at(i + j);
          const float s = sigmoid(gate);
          const float complement = sigmoid(-gate);
          gates[j] = dy.at(i + j) * dup.at(i + j) * (s * (gate * complement + 1.0F));
          ups[j] = dy.at(i + j) * (gate * s);
        }
        dgate.set_pair(i, gates[0], gates[1]);
        dup.set_pair(i, ups[0], ups[1]);
      }
    }
    bf16* out = a.dgate_up + r * 2 * a.dim;
    dgate.store(out, place);
    dup.store(out + a.dim, place);
    if (a.measured.column_partials != nullptr) {
      gate_columns.fold(dgate);
      up_columns.fold(dup);
    }
    if (a.measured.codes == nullptr) continue;
    const bf16 amax{block_max(max_u16x2(dgate.largest(), dup.largest()), maxima)};
    const float scale = leave_scale(a.measured, amax, r);
    std::uint8_t* codes = a.measured.codes + r * 2 * a.dim;
    dgate.template encode<F>(codes, scale, place);
    dup.template encode<F>(codes + a.dim, scale, place);
  }
  if (a.measured.column_partials == nullptr) return;
  bf16* partials = a.measured.column_partials + Index{block_index()} * 2 * a.dim;
  gate_columns.store(partials, place);
  up_columns.store(partials + a.dim, place);
}

}  // namespace
}  // namespace octet::kernels

OCTET_ROW_KERNELS(swiglu_forward, SwigluForward, forward)
OCTET_ROW_KERNELS(swiglu_backward, SwigluBackward, backward)
