// RMSNorm, forward and backward. A block takes row after row; a row stays in its registers, so that each operand moves
// once: 2 (x) + 2 (delta) + 2 (x_out) + 2 (y) + 1 (codes) bytes an element forward, 2 (dy) + 2 (x) + 2 (residual) +
// 2 (dx) + 1 (codes) backward.
#include "kernels/measured.h"

namespace octet::kernels {
namespace {

/// y = x' * rstd * weight with x' = x + delta rounded to bf16.
template <fp8::Format F, int V>
OCTET_DEVICE void forward(const RmsNormForward& a) {
  OCTET_SHARED float sums[32];
  OCTET_SHARED std::uint32_t maxima[32];
  const RowPlace<V> place{a.dim, a.aligned};
  ColumnFold<V> columns(a.measured.column_partials != nullptr);
  for (Index r = block_index(); r < a.rows; r += block_count()) {
    RowVectors<V> x;
    x.load(a.x + r * a.dim, place);
    if (a.delta != nullptr) {
      RowVectors<V> delta;
      delta.load(a.delta + r * a.dim, place);
#pragma unroll
      for (int i = 0; i < 8 * V; i += 2) x.set_pair(i, x.at(i) + delta.at(i), x.at(i + 1) + delta.at(i + 1));
      x.store(a.x_out + r * a.dim, place);
    }
    float squares = 0;
#pragma unroll
    for (int i = 0; i < 8 * V; ++i) squares += x.at(i) * x.at(i);
    const float rstd = 1.0F / sqrtf(block_sum(squares, sums) / static_cast<float>(a.dim) + a.eps);
    if (thread_index() == 0) a.rstd[r] = rstd;
    RowVectors<V> y;
    y.load_again(a.weight, place);
#pragma unroll
    for (int i = 0; i < 8 * V; i += 2) {
      y.set_pair(i, x.at(i) * rstd * y.at(i), x.at(i + 1) * rstd * y.at(i + 1));
    }
    y.store(a.y + r * a.dim, place);
    leave_row<F, V>(a.measured, y, place, r, columns, maxima);
  }
  columns.store(a.measured.column_partials, a.dim, 0, place);
}

/// dx = residual + rstd * (dy * weight - xhat * mean(dy * weight * xhat)), xhat = x * rstd; the block's part of
/// dweight = sum over rows of dy * xhat.
template <fp8::Format F, int V>
OCTET_DEVICE void backward(const RmsNormBackward& a) {
  OCTET_SHARED float sums[32];
  OCTET_SHARED std::uint32_t maxima[32];
  const RowPlace<V> place{a.dim, a.aligned};
  float dweight[8 * V] = {};
  ColumnFold<V> columns(a.measured.column_partials != nullptr);
  for (Index r = block_index(); r < a.rows; r += block_count()) {
    RowVectors<V> x;
    RowVectors<V> dy;
    RowVectors<V> dx;
    x.load(a.x + r * a.dim, place);
    dy.load(a.dy + r * a.dim, place);
    if (a.residual != nullptr) {  // now, so that the sum does not have to end before it is asked for
      dx.load(a.residual + r * a.dim, place);
    } else {
#pragma unroll
      for (int v = 0; v < V; ++v) dx.vectors[v] = Vector{};
    }
    RowVectors<V> weight;
    weight.load_again(a.weight, place);
    const float rstd = a.rstd[r];
    float products = 0;
#pragma unroll
    for (int i = 0; i < 8 * V; ++i) {
      const float dy_xhat = dy.at(i) * (x.at(i) * rstd);
      dweight[i] += dy_xhat;
      products += dy_xhat * weight.at(i);
    }
    const float mean = block_sum(products, sums) / static_cast<float>(a.dim);
    const auto through = [&](int i) { return (dy.at(i) * weight.at(i) - x.at(i) * rstd * mean) * rstd; };
#pragma unroll
    for (int i = 0; i < 8 * V; i += 2) dx.set_pair(i, dx.at(i) + through(i), dx.at(i + 1) + through(i + 1));
    dx.store(a.dx + r * a.dim, place);
    leave_row<F, V>(a.measured, dx, place, r, columns, maxima);
  }
  columns.store(a.measured.column_partials, a.dim, 0, place);
  float* partials = a.weight_partials + Index{block_index()} * a.dim;
#pragma unroll
  for (int v = 0; v < V; ++v) {
    for (int i = 0; i < 8; ++i) {
      if (place.column(v) + i < a.dim) partials[place.column(v) + i] = dweight[8 * v + i];
    }
  }
}

}  // namespace
}  // namespace octet::kernels

OCTET_ROW_KERNELS(rmsnorm_forward, RmsNormForward, forward)
OCTET_ROW_KERNELS(rmsnorm_backward, RmsNormBackward, backward)
