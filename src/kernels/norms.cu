// RMSNorm, forward and backward. A block takes row after row; a row stays in registers, so that each operand moves
// once: 2 (x) + 2 (delta) + 2 (x_out) + 2 (y, where it is stored) + 1 (codes) bytes an element forward, 2 (dy) + 2 (x)
// + 2 (residual) + 2 (dx) + 1 (codes) backward. Transposed codes of a y that is not stored are made of x again: 2 (x) +
// 1 (codes) bytes.
#include "kernels/cast_tiles.h"
#include "kernels/measured.h"

namespace octet::kernels {
namespace {

/// y = x' * rstd * weight with x' = x + delta rounded to bf16.
template <fp8::Format F, int V>
OCTET_DEVICE void forward(const RmsNormForward& a) {
  OCTET_SHARED float sum_parts[BlockFold<float>::kParts];
  BlockFold<float, BlockRows::several> sums(sum_parts);
  OCTET_SHARED std::uint32_t max_parts[BlockFold<std::uint32_t>::kParts];
  BlockFold<std::uint32_t, BlockRows::several> maxima(max_parts);
  const RowPlace<V> place{a.dim, a.aligned};
  ColumnFold<V> columns(a.measured.column_partials != nullptr);
  const RowAhead<V> next_x(a.ahead, place, 1);
  const RowAhead<V> next_delta(a.ahead && a.delta != nullptr, place, 2);
  const auto ask = [&](Index r) {
    next_x.ask(a.x + r * a.x_stride, place, r < a.rows);
    next_delta.ask(a.delta + r * a.dim, place, r < a.rows);
  };
  ask(first_row());
  for (Index r = first_row(); r < a.rows; r += row_step()) {
    RowVectors<V> x;
    RowVectors<V> delta;
    finish_copies();
    next_x.take(a.x + r * a.x_stride, place, x);
    if (a.delta != nullptr) next_delta.take(a.delta + r * a.dim, place, delta);
    ask(r + row_step());
    if (a.delta != nullptr) {
#pragma unroll
      for (int i = 0; i < 8 * V; i += 2) x.set_pair(i, x.at(i) + delta.at(i), x.at(i + 1) + delta.at(i + 1));
      x.store(a.x_out + r * a.dim, place);
    }
    float squares = 0;
#pragma unroll
    for (int i = 0; i < 8 * V; ++i) squares += x.at(i) * x.at(i);
    const float rstd = 1.0F / sqrtf(sums.sum(squares) / static_cast<float>(a.dim) + a.eps);
    if (thread_index() == 0) a.rstd[r] = rstd;
    x.forget_floats();
    RowVectors<V> y;
    y.load_again(a.weight, place);
#pragma unroll
    for (int i = 0; i < 8 * V; i += 2) {
      one_by_one();
      y.set_pair(i, x.at(i) * rstd * y.at(i), x.at(i + 1) * rstd * y.at(i + 1));
    }
    if (a.y != nullptr) y.store(a.y + r * a.dim, place);
    leave_row<F, V>(a.measured, y, place, r, columns, maxima);
  }
  columns.store(a.measured.column_partials, a.dim, 0, place);
}

/// dx = residual + rstd * (dy * weight - xhat * mean(dy * weight * xhat)), xhat = x * rstd; the block's part of
/// dweight = sum over rows of dy * xhat.
template <fp8::Format F, int V>
OCTET_DEVICE void backward(const RmsNormBackward& a) {
  OCTET_SHARED float sum_parts[BlockFold<float>::kParts];
  BlockFold<float> sums(sum_parts);
  OCTET_SHARED std::uint32_t max_parts[BlockFold<std::uint32_t>::kParts];
  BlockFold<std::uint32_t> maxima(max_parts);
  const RowPlace<V> place{a.dim, a.aligned};
  const ColumnSum<V> dweight(0);
  ColumnFold<V> columns(a.measured.column_partials != nullptr, 2);
  const RowAhead<V> next_x(a.ahead, place, 3);
  const RowAhead<V> next_dy(a.ahead, place, 4);
  const RowAhead<V> next_residual(a.ahead && a.residual != nullptr, place, 5);
  const auto ask = [&](Index r) {
    next_x.ask(a.x + r * a.x_stride, place, r < a.rows);
    next_dy.ask(a.dy + r * a.dim, place, r < a.rows);
    next_residual.ask(a.residual + r * a.dim, place, r < a.rows);
  };
  ask(block_index());
  for (Index r = block_index(); r < a.rows; r += block_count()) {
    RowVectors<V> x;
    RowVectors<V> dy;
    RowVectors<V> dx;
    finish_copies();
    next_x.take(a.x + r * a.x_stride, place, x);
    next_dy.take(a.dy + r * a.dim, place, dy);
    if (a.residual != nullptr) {  // now, so that the sum does not have to end before it is asked for
      next_residual.take(a.residual + r * a.dim, place, dx);
    } else {
#pragma unroll
      for (int v = 0; v < V; ++v) dx.vectors[v] = Vector{};
    }
    ask(r + block_count());
    RowVectors<V> weight;
    weight.load_again(a.weight, place);
    const float rstd = a.rstd[r];
    float products = 0;
    dweight.add([&](int i) {
      const float dy_xhat = dy.at(i) * (x.at(i) * rstd);
      products += dy_xhat * weight.at(i);
      return dy_xhat;
    });
    const float mean = sums.sum(products) / static_cast<float>(a.dim);
    x.forget_floats();
    dy.forget_floats();
    weight.forget_floats();
    const auto through = [&](int i) { return (dy.at(i) * weight.at(i) - x.at(i) * rstd * mean) * rstd; };
#pragma unroll
    for (int i = 0; i < 8 * V; i += 2) dx.set_pair(i, dx.at(i) + through(i), dx.at(i + 1) + through(i + 1));
    dx.store(a.dx + r * a.x_stride, place);
    leave_row<F, V>(a.measured, dx, place, r, columns, maxima);
  }
  columns.store(a.measured.column_partials, a.dim, 0, place);
  dweight.store(a.weight_partials + Index{block_index()} * a.dim, place);
}

/// The next tile of x, under way to shared memory while a block casts the one before. A thread's part is asked for row
/// by row, as soon as the row that lay in its place was read.
struct XAhead {
  Vector slots[4][kTileThreads];

  OCTET_DEVICE void ask(const RmsNormForwardCast& a, const TilePart& part, int r) {
    if (!a.aligned) return;
    begin_copy<16>(&slots[r][thread_index()], a.x + (part.row + r) * a.dim + part.col, part.has(r, a.rows, a.dim));
  }

  /// Row r, which was asked for; where rows are not aligned it is read now.
  [[nodiscard]] OCTET_DEVICE Vector take(const RmsNormForwardCast& a, const TilePart& part, int r) const {
    if (a.aligned) return slots[r][thread_index()];
    return load_some(a.x + (part.row + r) * a.dim + part.col, part.has(r, a.rows, a.dim) ? a.dim - part.col : 0);
  }
};

/// What a thread's part of a tile is multiplied by, read a tile ahead: nothing waits for it.
struct NormFactors {
  float rstd[4];  // of its rows
  Vector weight;  // of its columns

  OCTET_DEVICE NormFactors(const RmsNormForwardCast& a, const TilePart& part) : weight{} {
#pragma unroll
    for (int r = 0; r < 4; ++r) rstd[r] = part.row + r < a.rows ? a.rstd[part.row + r] : 0.0F;
    if (part.col >= a.dim) return;
    weight =
        a.aligned ? load_16_bytes_again<Vector>(a.weight + part.col) : load_some(a.weight + part.col, a.dim - part.col);
  }
};

/// Tiles of y = x * rstd * weight, rounded as `forward` rounds it, and transposed.
template <fp8::Format F>
OCTET_DEVICE void forward_cast(const RmsNormForwardCast& a) {
  OCTET_SHARED TransposedTile transposed;
  OCTET_SHARED ColumnScales<1> scales;
  OCTET_SHARED XAhead ahead;
  const auto maker_of = [&](const TilePlace& place) {
    const int i = thread_index();
    return i < kTileCols ? ScaleMaker(a.transposed, place.first_col + i, a.dim, place.first_row == 0) : ScaleMaker();
  };
  int tile = block_index();
  TilePlace place(a.tiles_across, tile);
  ScaleMaker maker = maker_of(place);
#pragma unroll
  for (int r = 0; r < 4; ++r) ahead.ask(a, TilePart(place), r);
  NormFactors factors(a, TilePart(place));
  while (tile < a.tiles) {
    const float scale = maker.make(a.rule);
    scales.set(thread_index(), scale);
    tile += block_count();
    const TilePlace next(a.tiles_across, tile);
    TileValues y;
    finish_copies();
#pragma unroll
    for (int r = 0; r < 4; ++r) {
      const Vector x = ahead.take(a, TilePart(place), r);
      ahead.ask(a, TilePart(next), r);
      const float rstd = factors.rstd[r];
#pragma unroll
      for (int w = 0; w < 4; ++w) {
        y.rows[r].words[w] = to_bf16x2(low_half(x.words[w]) * rstd * low_half(factors.weight.words[w]),
                                       high_half(x.words[w]) * rstd * high_half(factors.weight.words[w]));
      }
    }
    factors = NormFactors(a, TilePart(next));
    maker = maker_of(next);
    sync_block();  // the scales are there, and the codes of the tile before have left
    transposed.fill<F>(y, scales.of);
    sync_block();
    transposed.store(a.transposed.codes, place, a.rows, a.dim, a.rows_aligned);
    place = next;
  }
}

}  // namespace
}  // namespace octet::kernels

OCTET_ROW_KERNELS(rmsnorm_forward, RmsNormForward, forward)

// Two vectors a thread take 80 registers, where rows are short enough for blocks of 256 threads; longer ones have a
// vector each, or four and not all of them in registers.
#define OCTET_BACKWARD_KERNELS(F)                                                                 \
  OCTET_ROW_KERNEL(OCTET_KERNEL(1024), rmsnorm_backward, RmsNormBackward, backward, F, 1)         \
  OCTET_ROW_KERNEL(OCTET_DENSE_KERNEL(256, 3), rmsnorm_backward, RmsNormBackward, backward, F, 2) \
  OCTET_ROW_KERNEL(OCTET_KERNEL(1024), rmsnorm_backward, RmsNormBackward, backward, F, 4)
OCTET_BACKWARD_KERNELS(OCTET_E4M3)
OCTET_BACKWARD_KERNELS(OCTET_E5M2)

// 64 registers, with which a multiprocessor runs four blocks.
OCTET_FORMAT_KERNELS(OCTET_DENSE_KERNEL(256, 4), rmsnorm_forward_cast, RmsNormForwardCast, forward_cast)
