// SwiGLU, forward and backward. A row stays in a block's registers: 4 (gate, up) + 2 (y) + 1 (codes) bytes an element
// of y forward; 4 + 2 (dy) + 4 (dgate, dup) + 2 (codes) backward.
#include "kernels/measured.h"

namespace octet::kernels {
namespace {

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

/// y = silu(gate) * up, in the registers of gate.
template <fp8::Format F, int V>
OCTET_DEVICE void forward(const SwigluForward& a) {
  OCTET_SHARED std::uint32_t parts[BlockFold<std::uint32_t>::kParts];
  BlockFold<std::uint32_t> maxima(parts);
  const RowPlace<V> place{a.dim, a.aligned};
  ColumnFold<V> columns(a.measured.column_partials != nullptr);
  const RowAhead<V> next_gate(a.ahead, place, 1);
  const RowAhead<V> next_up(a.ahead, place, 2);
  const auto ask = [&](Index r) {
    next_gate.ask(a.gate_up + r * 2 * a.dim, place, r < a.rows);
    next_up.ask(a.gate_up + r * 2 * a.dim + a.dim, place, r < a.rows);
  };
  ask(block_index());
  for (Index r = block_index(); r < a.rows; r += block_count()) {
    RowVectors<V> y;
    RowVectors<V> up;
    finish_copies();
    next_gate.take(a.gate_up + r * 2 * a.dim, place, y);
    next_up.take(a.gate_up + r * 2 * a.dim + a.dim, place, up);
    ask(r + block_count());
    const auto silu_up = [&](int i) { return y.at(i) * Sigmoid(y.at(i)).value * up.at(i); };
#pragma unroll
    for (int i = 0; i < 8 * V; i += 2) y.set_pair(i, silu_up(i), silu_up(i + 1));
    y.store(a.y + r * a.dim, place);
    leave_row<F, V>(a.measured, y, place, r, columns, maxima);
  }
  columns.store(a.measured.column_partials, a.dim, 0, place);
}

/// Gradients of a gate and of what it is multiplied by.
struct GateGradient {
  float dgate, dup;

  OCTET_DEVICE GateGradient(float gate, float up, float dy) {
    const Sigmoid s(gate);
    dgate = dy * up * (s.value * (gate * s.complement + 1.0F));
    dup = dy * (gate * s.value);
  }
};

/// The gradient's row, dgate then dup, is cast under one scale. Each half is held as a row of its own, in the registers
/// of what it is computed from.
template <fp8::Format F, int V>
OCTET_DEVICE void backward(const SwigluBackward& a) {
  OCTET_SHARED std::uint32_t parts[BlockFold<std::uint32_t>::kParts];
  BlockFold<std::uint32_t> maxima(parts);
  const RowPlace<V> place{a.dim, a.aligned};
  ColumnFold<V> gate_columns(a.measured.column_partials != nullptr, 0);
  ColumnFold<V> up_columns(a.measured.column_partials != nullptr, 1);
  const RowAhead<V> next_gate(a.ahead, place, 2);
  const RowAhead<V> next_up(a.ahead, place, 3);
  const RowAhead<V> next_dy(a.ahead, place, 4);
  const auto ask = [&](Index r) {
    next_gate.ask(a.gate_up + r * 2 * a.dim, place, r < a.rows);
    next_up.ask(a.gate_up + r * 2 * a.dim + a.dim, place, r < a.rows);
    next_dy.ask(a.dy + r * a.dim, place, r < a.rows);
  };
  ask(block_index());
  for (Index r = block_index(); r < a.rows; r += block_count()) {
    RowVectors<V> dgate;
    RowVectors<V> dup;
    RowVectors<V> dy;
    finish_copies();
    next_gate.take(a.gate_up + r * 2 * a.dim, place, dgate);
    next_up.take(a.gate_up + r * 2 * a.dim + a.dim, place, dup);
    next_dy.take(a.dy + r * a.dim, place, dy);
    ask(r + block_count());
#pragma unroll
    for (int i = 0; i < 8 * V; i += 2) {
      const GateGradient low(dgate.at(i), dup.at(i), dy.at(i));
      const GateGradient high(dgate.at(i + 1), dup.at(i + 1), dy.at(i + 1));
      dgate.set_pair(i, low.dgate, high.dgate);
      dup.set_pair(i, low.dup, high.dup);
    }
    bf16* out = a.dgate_up + r * 2 * a.dim;
    dgate.store(out, place);
    dup.store(out + a.dim, place);
    gate_columns.fold(dgate);
    up_columns.fold(dup);
    if (a.measured.codes == nullptr) continue;
    const bf16 amax{maxima.largest_half(max_u16x2(dgate.largest(), dup.largest()))};
    const float scale = leave_scale(a.measured, amax, r);
    std::uint8_t* codes = a.measured.codes + r * 2 * a.dim;
    dgate.template encode<F>(codes, scale, place);
    dup.template encode<F>(codes + a.dim, scale, place);
  }
  gate_columns.store(a.measured.column_partials, Index{2} * a.dim, 0, place);
  up_columns.store(a.measured.column_partials, Index{2} * a.dim, a.dim, place);
}

}  // namespace
}  // namespace octet::kernels

OCTET_ROW_KERNELS(swiglu_forward, SwigluForward, forward)
OCTET_ROW_KERNELS(swiglu_backward, SwigluBackward, backward)
