// SwiGLU, forward and backward. A row stays in a block's registers: 4 (gate, up) + 2 (y; where it is stored) + 1
// (codes) bytes an element of y forward; 4 + 2 (dy) + 4 (dgate, dup; where they are stored) + 2 (codes) backward. The
// transposed codes of what is not stored are made of the same operands: 4 + 2 + 2 (codes) + 1 (of y) bytes.
#include "kernels/cast_tiles.h"
#include "kernels/measured.h"
#include "kernels/swiglu.h"

namespace octet::kernels {
namespace {

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
    const auto silu_up = [&](int i) { return silu_times(y.at(i), Sigmoid(y.at(i)), up.at(i)); };
#pragma unroll
    for (int i = 0; i < 8 * V; i += 2) {
      one_by_one();
      y.set_pair(i, silu_up(i), silu_up(i + 1));
    }
    if (a.y != nullptr) y.store(a.y + r * a.dim, place);
    leave_row<F, V>(a.measured, y, place, r, columns, maxima);
  }
  columns.store(a.measured.column_partials, a.dim, 0, place);
}

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
      one_by_one();
      const GateGradient low(dgate.at(i), Sigmoid(dgate.at(i)), dup.at(i), dy.at(i));
      const GateGradient high(dgate.at(i + 1), Sigmoid(dgate.at(i + 1)), dup.at(i + 1), dy.at(i + 1));
      dgate.set_pair(i, low.dgate, high.dgate);
      dup.set_pair(i, low.dup, high.dup);
    }
    if (a.dgate_up != nullptr) {
      bf16* out = a.dgate_up + r * 2 * a.dim;
      dgate.store(out, place);
      dup.store(out + a.dim, place);
    }
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

/// The next tile of each operand, under way to shared memory while a block casts the one before. A thread's part is
/// asked for row by row, as soon as the row that lay in its place was read.
struct OperandsAhead {
  Vector gate[4][kTileThreads];
  Vector up[4][kTileThreads];
  Vector dy[4][kTileThreads];

  OCTET_DEVICE void ask(const SwigluBackwardCast& a, const TilePart& part, int r) {
    if (!kCopiesRunBeside || !a.aligned) return;
    const bool there = part.has(r, a.rows, a.dim);
    const bf16* from = a.gate_up + (part.row + r) * 2 * a.dim + part.col;
    begin_copy<16>(&gate[r][thread_index()], from, there);
    begin_copy<16>(&up[r][thread_index()], from + a.dim, there);
    begin_copy<16>(&dy[r][thread_index()], a.dy + (part.row + r) * a.dim + part.col, there);
  }
};

/// Eight neighbours of each operand.
struct EightOperands {
  Vector gate, up, dy;

  /// Of row r of a thread's part, which was asked for; rows that were not are read now.
  OCTET_DEVICE EightOperands(const SwigluBackwardCast& a, const OperandsAhead& ahead, const TilePart& part, int r) {
    if (kCopiesRunBeside && a.aligned) {
      gate = ahead.gate[r][thread_index()];
      up = ahead.up[r][thread_index()];
      dy = ahead.dy[r][thread_index()];
      return;
    }
    const int count = part.has(r, a.rows, a.dim) ? a.dim - part.col : 0;
    const bf16* from = a.gate_up + (part.row + r) * 2 * a.dim + part.col;
    const auto load = [&](const bf16* eight) {
      if (!a.aligned) return load_some(eight, count);
      return count > 0 ? load_16_bytes<Vector>(eight) : Vector{};
    };
    gate = load(from);
    up = load(from + a.dim);
    dy = load(a.dy + (part.row + r) * a.dim + part.col);
  }

  /// Rounded to bf16, as `backward` and `forward` round them.
  OCTET_DEVICE void evaluate(Vector& dgate, Vector& dup, Vector& y) const {
#pragma unroll
    for (int w = 0; w < 4; ++w) {
      const float low_gate = low_half(gate.words[w]);
      const float high_gate = high_half(gate.words[w]);
      const float low_up = low_half(up.words[w]);
      const float high_up = high_half(up.words[w]);
      const Sigmoid low_sigmoid(low_gate);
      const Sigmoid high_sigmoid(high_gate);
      const GateGradient low(low_gate, low_sigmoid, low_up, low_half(dy.words[w]));
      const GateGradient high(high_gate, high_sigmoid, high_up, high_half(dy.words[w]));
      dgate.words[w] = to_bf16x2(low.dgate, high.dgate);
      dup.words[w] = to_bf16x2(low.dup, high.dup);
      y.words[w] = to_bf16x2(silu_times(low_gate, low_sigmoid, low_up), silu_times(high_gate, high_sigmoid, high_up));
    }
  }
};

/// The first threads make scales of the tile's columns of dgate, the next of its columns of dup, the next of those of
/// y.
OCTET_DEVICE ScaleMaker maker_of(const SwigluBackwardCast& a, const TilePlace& tile) {
  const int part = thread_index() / kTileCols;
  const int col = tile.first_col + thread_index() % kTileCols;
  if (part > 2 || col >= a.dim) return {};
  if (part == 2) return {a.activated, col, a.dim, tile.first_row == 0};
  return {a.transposed, part * a.dim + col, Index{2} * a.dim, tile.first_row == 0};
}

/// Tiles of dgate, of dup and of y, made together and each transposed.
template <fp8::Format F>
OCTET_DEVICE void backward_cast(const SwigluBackwardCast& a) {
  OCTET_SHARED TransposedTile dgate_tile;
  OCTET_SHARED TransposedTile dup_tile;
  OCTET_SHARED TransposedTile y_tile;
  OCTET_SHARED ColumnScales<3> scales;  // of dgate, then of dup, then of y
  OperandsAhead& ahead = *static_cast<OperandsAhead*>(dynamic_shared());
  std::uint8_t* dup_codes = a.transposed.codes + a.dim * a.rows;
  int tile = block_index();
  TilePlace place(a.tiles_across, tile);
  ScaleMaker maker = maker_of(a, place);
#pragma unroll
  for (int r = 0; r < 4; ++r) ahead.ask(a, TilePart(place), r);
  while (tile < a.tiles) {
    const float scale = maker.make(a.rule);
    scales.set(thread_index(), scale);
    tile += block_count();
    const TilePlace next(a.tiles_across, tile);
    TileValues dgate;
    TileValues dup;
    TileValues y;
    finish_copies();
#pragma unroll
    for (int r = 0; r < 4; ++r) {
      const EightOperands operands(a, ahead, TilePart(place), r);
      ahead.ask(a, TilePart(next), r);
      operands.evaluate(dgate.rows[r], dup.rows[r], y.rows[r]);
    }
    maker = maker_of(a, next);
    sync_block();  // the scales are there, and the codes of the tile before have left
    dgate_tile.fill<F>(dgate, scales.of);
    dup_tile.fill<F>(dup, scales.of + kTileCols);
    if (a.activated.codes != nullptr) y_tile.fill<F>(y, scales.of + 2 * kTileCols);
    sync_block();
    dgate_tile.store(a.transposed.codes, place, a.rows, a.dim, a.rows_aligned);
    dup_tile.store(dup_codes, place, a.rows, a.dim, a.rows_aligned);
    if (a.activated.codes != nullptr) y_tile.store(a.activated.codes, place, a.rows, a.dim, a.rows_aligned);
    place = next;
  }
}

}  // namespace
}  // namespace octet::kernels

OCTET_ROW_KERNELS(swiglu_forward, SwigluForward, forward)
OCTET_ROW_KERNELS(swiglu_backward, SwigluBackward, backward)
// Shared memory has room for three blocks on a multiprocessor.
OCTET_FORMAT_KERNELS(OCTET_DENSE_KERNEL(256, 3), swiglu_backward_cast, SwigluBackwardCast, backward_cast)
