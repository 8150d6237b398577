// SwiGLU of routed rows, each times the weight of its choice, forward and backward. Bytes an element of y as in
// feed_forward.cu: 4 + 2 (y; where it is stored) + 1 (codes) forward; 4 + 2 (dy) + 4 (dgate, dup; where they are
// stored)
// + 2 (codes) backward; of transposed codes 4 + 1 (of y), or 4 + 2 + 2 + 1 with those of the gradient.
#include "kernels/grouped_rows.h"
#include "kernels/measured.h"
#include "kernels/swiglu.h"

namespace octet::kernels {
namespace {

OCTET_DEVICE float weighted(float weight, float gate, const Sigmoid& of_gate, float up) {
  return weight * silu_times(gate, of_gate, up);
}

/// The choice and the weight of row after row. Each is asked for a row before it is needed: a weight takes two loads,
/// one after the other.
class ChoiceAhead {
 public:
  OCTET_DEVICE ChoiceAhead(const std::int32_t* choice_of_row, const float* weights, Index begin, Index end)
      : choice_of_row_(choice_of_row), weights_(weights), end_(end), after_(choice_at(begin + 1)) {
    next_ = choice_at(begin);
    next_weight_ = weights_[next_];
  }

  /// Row r, the one after that of the last call.
  OCTET_DEVICE void take(Index r) {
    choice = next_;
    weight = next_weight_;
    next_ = after_;
    next_weight_ = weights_[next_];
    after_ = choice_at(r + 2);
  }

  std::int32_t choice;
  float weight;

 private:
  /// Beyond the last row the last one's.
  [[nodiscard]] OCTET_DEVICE std::int32_t choice_at(Index r) const { return choice_of_row_[r < end_ ? r : end_ - 1]; }

  const std::int32_t* choice_of_row_;
  const float* weights_;
  Index end_;
  std::int32_t next_, after_;
  float next_weight_;
};

/// y = weight * silu(gate) * up, in the registers of gate.
template <fp8::Format F, int V>
OCTET_DEVICE void forward(const GroupedSwigluForward& a) {
  OCTET_SHARED std::uint32_t parts[BlockFold<std::uint32_t>::kParts];
  BlockFold<std::uint32_t> maxima(parts);
  const RowPlace<V> place{a.dim, a.aligned};
  ColumnFold<V> columns(a.measured.column_partials != nullptr);
  const RowAhead<V> next_gate(a.ahead, place, 1);
  const RowAhead<V> next_up(a.ahead, place, 2);
  for_each_part(a.groups, [&](int group, Index begin, Index end) {
    const auto ask = [&](Index r) {
      next_gate.ask(a.gate_up + r * 2 * a.dim, place, r < end);
      next_up.ask(a.gate_up + r * 2 * a.dim + a.dim, place, r < end);
    };
    finish_copies();  // zeros that the part before asked for in place of rows that it has not
    ask(begin);
    ChoiceAhead of_row(a.choice_of_row, a.weights, begin, end);
    for (Index r = begin; r < end; ++r) {
      of_row.take(r);
      const float weight = of_row.weight;
      RowVectors<V> y;
      RowVectors<V> up;
      finish_copies();
      next_gate.take(a.gate_up + r * 2 * a.dim, place, y);
      next_up.take(a.gate_up + r * 2 * a.dim + a.dim, place, up);
      ask(r + 1);
      const auto value = [&](int i) { return weighted(weight, y.at(i), Sigmoid(y.at(i)), up.at(i)); };
#pragma unroll
      for (int i = 0; i < 8 * V; i += 2) {
        one_by_one();
        y.set_pair(i, value(i), value(i + 1));
      }
      if (a.y != nullptr) y.store(a.y + r * a.dim, place);
      leave_row<F, V>(a.measured, y, place, r, columns, maxima);
    }
    leave_part(columns, a.measured.column_partials, group, a.dim, 0, place);
  });
}

/// As in feed_forward.cu, the two halves of a row of the gradient are rows of their own, cast under one scale.
template <fp8::Format F, int V>
OCTET_DEVICE void backward(const GroupedSwigluBackward& a) {
  OCTET_SHARED std::uint32_t parts[BlockFold<std::uint32_t>::kParts];
  OCTET_SHARED float sum_parts[BlockFold<float>::kParts];
  BlockFold<std::uint32_t> maxima(parts);
  BlockFold<float> sums(sum_parts);
  const RowPlace<V> place{a.dim, a.aligned};
  ColumnFold<V> gate_columns(a.measured.column_partials != nullptr, 0);
  ColumnFold<V> up_columns(a.measured.column_partials != nullptr, 1);
  const RowAhead<V> next_gate(a.ahead, place, 2);
  const RowAhead<V> next_up(a.ahead, place, 3);
  const RowAhead<V> next_dy(a.ahead, place, 4);
  for_each_part(a.groups, [&](int group, Index begin, Index end) {
    const auto ask = [&](Index r) {
      next_gate.ask(a.gate_up + r * 2 * a.dim, place, r < end);
      next_up.ask(a.gate_up + r * 2 * a.dim + a.dim, place, r < end);
      next_dy.ask(a.dy + r * a.dim, place, r < end);
    };
    finish_copies();  // zeros that the part before asked for in place of rows that it has not
    ask(begin);
    ChoiceAhead of_row(a.choice_of_row, a.weights, begin, end);
    for (Index r = begin; r < end; r = uniform_anew(r + 1)) {  // few addresses are kept from row to row
      of_row.take(r);
      const float weight = of_row.weight;
      RowVectors<V> dgate;
      RowVectors<V> dup;
      RowVectors<V> dy;
      finish_copies();
      next_gate.take(a.gate_up + r * 2 * a.dim, place, dgate);
      next_up.take(a.gate_up + r * 2 * a.dim + a.dim, place, dup);
      next_dy.take(a.dy + r * a.dim, place, dy);
      ask(r + 1);
      float dweight = 0;
#pragma unroll
      for (int i = 0; i < 8 * V; i += 2) {
        one_by_one();
        dgate.hold_back_pair(i, dweight);  // else every term of the sum waits in registers for its end
        const Sigmoid low_sigmoid(dgate.at(i));
        const Sigmoid high_sigmoid(dgate.at(i + 1));
        dweight += dy.at(i) * silu_times(dgate.at(i), low_sigmoid, dup.at(i));
        dweight += dy.at(i + 1) * silu_times(dgate.at(i + 1), high_sigmoid, dup.at(i + 1));
        const GateGradient low(dgate.at(i), low_sigmoid, dup.at(i), weight * dy.at(i));
        const GateGradient high(dgate.at(i + 1), high_sigmoid, dup.at(i + 1), weight * dy.at(i + 1));
        dgate.set_pair(i, low.dgate, high.dgate);
        dup.set_pair(i, low.dup, high.dup);
      }
      dgate.forget_floats();
      dup.forget_floats();
      dweight = sums.sum(dweight);
      if (thread_index() == 0) a.dweights[of_row.choice] = dweight;
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
    leave_part(gate_columns, a.measured.column_partials, group, Index{2} * a.dim, 0, place);
    leave_part(up_columns, a.measured.column_partials, group, Index{2} * a.dim, a.dim, place);
  });
}

/// The next tile of each operand, under way to shared memory while a block casts the one before. A thread's part is
/// asked for row by row, as soon as the row that lay in its place was read.
struct OperandsAhead {
  Vector gate[4][kTileThreads];
  Vector up[4][kTileThreads];
  Vector dy[4][kTileThreads];

  OCTET_DEVICE void ask(const GroupedSwigluCast& a, const GroupTile& tile, int r) {
    if (!kCopiesRunBeside || !a.aligned) return;
    const bool there = tile.has(r) && tile.col() < a.dim;
    const bf16* from = there ? a.gate_up + tile.row(r) * 2 * a.dim + tile.col() : a.gate_up;
    begin_copy<16>(&gate[r][thread_index()], from, there);
    begin_copy<16>(&up[r][thread_index()], from + a.dim, there);
    if (a.transposed.codes == nullptr) return;
    begin_copy<16>(&dy[r][thread_index()], there ? a.dy + tile.row(r) * a.dim + tile.col() : a.dy, there);
  }
};

/// Eight neighbours of each operand, and the weight of their row.
struct EightOperands {
  Vector gate, up, dy;
  float weight;

  /// Of row r of a thread's part, which was asked for; rows that were not are read now.
  OCTET_DEVICE EightOperands(const GroupedSwigluCast& a, const OperandsAhead& ahead, const GroupTile& tile, int r,
                             float of_row)
      : gate{}, up{}, dy{}, weight(of_row) {
    if (kCopiesRunBeside && a.aligned) {
      gate = ahead.gate[r][thread_index()];
      up = ahead.up[r][thread_index()];
      if (a.transposed.codes != nullptr) dy = ahead.dy[r][thread_index()];
      return;
    }
    if (!tile.has(r)) return;
    const bf16* from = a.gate_up + tile.row(r) * 2 * a.dim;
    gate = load_eight_of(from, tile.col(), a.dim, a.aligned);
    up = load_eight_of(from + a.dim, tile.col(), a.dim, a.aligned);
    if (a.transposed.codes != nullptr) dy = load_eight_of(a.dy + tile.row(r) * a.dim, tile.col(), a.dim, a.aligned);
  }

  /// Rounded to bf16, as `backward` and `forward` round them; here, and not where a branch wants them: until then the
  /// operands would take twice as many registers.
  OCTET_DEVICE void evaluate(Vector& dgate, Vector& dup, Vector& y) const {
#pragma unroll
    for (int w = 0; w < 4; ++w) {
      const float low_gate = low_half(gate.words[w]);
      const float high_gate = high_half(gate.words[w]);
      const float low_up = low_half(up.words[w]);
      const float high_up = high_half(up.words[w]);
      const Sigmoid low_sigmoid(low_gate);
      const Sigmoid high_sigmoid(high_gate);
      const GateGradient low(low_gate, low_sigmoid, low_up, weight * low_half(dy.words[w]));
      const GateGradient high(high_gate, high_sigmoid, high_up, weight * high_half(dy.words[w]));
      dgate.words[w] = anew(to_bf16x2(low.dgate, high.dgate));
      dup.words[w] = anew(to_bf16x2(low.dup, high.dup));
      y.words[w] = anew(to_bf16x2(weighted(weight, low_gate, low_sigmoid, low_up),
                                  weighted(weight, high_gate, high_sigmoid, high_up)));
    }
  }
};

/// The amax of column thread_index() % 64 of the tile: the first threads' of dgate, the next of dup, the next of y.
OCTET_DEVICE bf16 amax_of(const GroupedSwigluCast& a, const GroupTile& tile) {
  const int part = thread_index() / kTileCols;
  const int col = thread_index() % kTileCols;
  if (part < 2 && a.transposed.codes != nullptr && tile.place.first_col + col < a.dim) {
    return column_amax(a.transposed, tile, col, Index{2} * a.dim, Index{part} * a.dim);
  }
  return part == 2 && a.activated.codes != nullptr ? column_amax(a.activated, tile, col, a.dim) : bf16{0x3F80};
}

/// The choice of row r of a thread's part, which is read a tile ahead; none where there is no row.
OCTET_DEVICE std::int32_t choice_at(const GroupedSwigluCast& a, const GroupTile& tile, int r) {
  return tile.has(r) ? a.choice_of_row[tile.row(r)] : -1;
}

/// Tiles of dgate and dup, or of y, or of all three, made together and each transposed.
template <fp8::Format F>
OCTET_DEVICE void cast(const GroupedSwigluCast& a) {
  OCTET_SHARED TransposedTile dgate_tile;
  OCTET_SHARED TransposedTile dup_tile;
  OCTET_SHARED TransposedTile y_tile;
  OCTET_SHARED ColumnScales<3> scales;  // of dgate, then of dup, then of y
  OperandsAhead& ahead = *static_cast<OperandsAhead*>(dynamic_shared());
  leave_inverses(a.transposed, a.rule, Index{2} * a.groups.count * a.dim);
  leave_inverses(a.activated, a.rule, Index{a.groups.count} * a.dim);
  const int tiles = tiles_of(a.groups, a.tiles_across);
  int number = block_index();
  GroupTile tile(a.groups, a.tiles_across, number, 0);
  bf16 amax = amax_of(a, tile);
  std::int32_t choices[4];
#pragma unroll
  for (int r = 0; r < 4; ++r) {
    ahead.ask(a, tile, r);
    choices[r] = choice_at(a, tile, r);
  }
  while (number < tiles) {
    float weights[4];
#pragma unroll
    for (int r = 0; r < 4; ++r) weights[r] = choices[r] >= 0 ? a.weights[choices[r]] : 0.0F;
    if (thread_index() < 3 * kTileCols) scales.of[thread_index()] = scale_of(a.rule, amax);
    number += block_count();
    const GroupTile next(a.groups, a.tiles_across, number, tile.group);
    TileValues dgate;
    TileValues dup;
    TileValues y;
    finish_copies();
#pragma unroll
    for (int r = 0; r < 4; ++r) {
      const EightOperands operands(a, ahead, tile, r, weights[r]);
      ahead.ask(a, next, r);
      operands.evaluate(dgate.rows[r], dup.rows[r], y.rows[r]);
    }
    amax = amax_of(a, next);
#pragma unroll
    for (int r = 0; r < 4; ++r) choices[r] = choice_at(a, next, r);
    sync_block();  // the scales are there, and the codes of the tile before have left
    const std::uint32_t kept = tile.kept();
    if (a.transposed.codes != nullptr) {
      dgate_tile.fill<F>(dgate, scales.of, kept);
      dup_tile.fill<F>(dup, scales.of + kTileCols, kept);
    }
    if (a.activated.codes != nullptr) y_tile.fill<F>(y, scales.of + 2 * kTileCols, kept);
    sync_block();
    if (a.transposed.codes != nullptr) {
      dgate_tile.store(a.transposed.codes, tile.place, a.padded, a.dim, a.rows_aligned);
      dup_tile.store(a.transposed.codes + a.dim * a.padded, tile.place, a.padded, a.dim, a.rows_aligned);
    }
    if (a.activated.codes != nullptr) y_tile.store(a.activated.codes, tile.place, a.padded, a.dim, a.rows_aligned);
    tile = next;
  }
}

}  // namespace
}  // namespace octet::kernels

OCTET_ROW_KERNELS(grouped_swiglu_forward, GroupedSwigluForward, forward)
OCTET_ROW_KERNELS(grouped_swiglu_backward, GroupedSwigluBackward, backward)
// Shared memory has room for three blocks on a multiprocessor.
OCTET_FORMAT_KERNELS(OCTET_DENSE_KERNEL(256, 3), grouped_swiglu_cast, GroupedSwigluCast, cast)
