// Casts to FP8 that transpose routed rows, group by group: a scale for each column of each group, and zeros behind the
// group's codes up to a whole tile.
#include "ops/cpu/isa/kernels.h"
#include "ops/cpu/isa/swiglu_rows.h"
#include "ops/cpu/isa/transposed_block.h"
#include "ops/cpu/row_scale.h"

namespace octet::ops::cpu::OCTET_ISA {
namespace {

/// Where the codes of a group go.
struct GroupPlace {
  Index group;
  Index first_row, rows;
  Index first_code, codes;  // columns of the transposed codes, zeros included
  Index stride;             // between the codes of neighbouring columns
};

[[gnu::always_inline]] inline GroupPlace place_of(const Groups& groups, Index group) {
  const Index first_row = groups.offsets[group];
  const Index first_code = groups.padded_offsets[group];
  return {group,
          first_row,
          groups.offsets[group + 1] - first_row,
          first_code,
          groups.padded_offsets[group + 1] - first_code,
          padded_rows(groups.rows, groups.experts)};
}

/// The scales of columns [col, col + width) of a group; writes their inverses.
[[gnu::always_inline]] inline void make_scales(const GroupCodes& to, const GroupPlace& place, Index cols, Index col,
                                               Index width, float* scales) {
  for (Index i = place.group * cols + col; i < place.group * cols + col + width; ++i) {
    const RowScale scale = row_scale(to.rule, to.amax[i].bits);
    *scales++ = scale.scale;
    to.scale_inverse[i] = scale.inverse;
  }
}

/// Where the codes of a column of a group begin.
[[gnu::always_inline]] inline std::uint8_t* codes_of(const GroupCodes& to, const GroupPlace& place, Index col) {
  return to.codes + col * place.stride + place.first_code;
}

/// The codes of a block, and zeros behind them.
template <typename Rows>
[[gnu::always_inline]] inline void encode_group(const GroupCodes& to, const GroupPlace& place, const ColumnBlock& block,
                                                const Rows& rows, const float (&scales)[kColumnBlock]) {
  with_format(to.rule.format(), [&](auto tag) { encode_block<tag.format>(block, rows, scales, {}); });
  for (const TileColumns& tile : block.tiles) {
    for (Index i = 0; i < tile.width; ++i) {
      __builtin_memset(tile.codes + i * place.stride + place.rows, 0,
                       static_cast<std::size_t>(place.codes - place.rows));
    }
  }
}

/// Rows of tokens, by the choices of routed rows.
struct GatheredRows {
  const bf16* x;                      // [tokens, dim], from the first column of the block
  const std::int32_t* choice_of_row;  // of the group
  Index rows, dim, width;
  std::int32_t top_k;

  /// In place where they fill whole tiles, else copied.
  [[gnu::always_inline]] const bf16* row(Index row, PaddedRow& padded) const {
    const bf16* values = x + choice_of_row[row] / top_k * dim;
    if (row + kRowsAhead < rows) {
      const bf16* ahead = x + choice_of_row[row + kRowsAhead] / top_k * dim;
      for (Index col = 0; col < width; col += kPairLanes) __builtin_prefetch(ahead + col);
    }
    if (width % kTileSize == 0) [[likely]]
      return values;
    __builtin_memset(padded, 0, sizeof padded);
    __builtin_memcpy(padded, values, static_cast<std::size_t>(width) * sizeof(bf16));
    return padded;
  }
};

/// Columns [begin, end) of dgate and of dup.
void cast_gradient(const GroupedSwigluCast& op, const GroupPlace& place, Index begin, Index end) {
  for (Index col = begin; col < end; col += kTileSize) {
    const Index width = smaller(end - col, kTileSize);
    const ColumnBlock block{
        place.rows,
        place.stride,
        {{codes_of(op.transposed, place, col), width}, {codes_of(op.transposed, place, op.dim + col), width}}};
    float scales[kColumnBlock]{};
    make_scales(op.transposed, place, 2 * op.dim, col, width, scales);
    make_scales(op.transposed, place, 2 * op.dim, op.dim + col, width, scales + kTileSize);
    const GradientRows<RowWeights> rows{op.gate_up + place.first_row * 2 * op.dim + col,
                                        op.dy + place.first_row * op.dim + col,
                                        op.dim,
                                        width,
                                        {op.weights, op.choice_of_row + place.first_row}};
    encode_group(op.transposed, place, block, rows, scales);
  }
}

/// The same columns of what was activated.
void cast_activated(const GroupedSwigluCast& op, const GroupPlace& place, Index begin, Index end) {
  for (Index col = begin; col < end; col += kTileSize) {
    const Index width = smaller(end - col, kTileSize);
    const ColumnBlock block{place.rows, place.stride, {{codes_of(op.activated, place, col), width}, {nullptr, 0}}};
    float scales[kColumnBlock]{};
    make_scales(op.activated, place, op.dim, col, width, scales);
    const ActivatedRows<RowWeights> rows{op.gate_up + place.first_row * 2 * op.dim + col,
                                         op.dim,
                                         width,
                                         {op.weights, op.choice_of_row + place.first_row}};
    encode_group(op.activated, place, block, rows, scales);
  }
}

}  // namespace

void gather_rows_cast(const GatherRowsCast& op, Index group, Index begin, Index end) {
  const GroupPlace place = place_of(op.groups, group);
  for (Index col = begin; col < end; col += kColumnBlock) {
    const Index width = smaller(end - col, kColumnBlock);
    const ColumnBlock block = neighbours(codes_of(op.transposed, place, col), place.rows, place.stride, width);
    float scales[kColumnBlock]{};
    make_scales(op.transposed, place, op.dim, col, width, scales);
    if (op.choice_of_row == nullptr) {
      const MatrixRows rows{op.x + place.first_row * op.dim + col, op.dim, width};
      encode_group(op.transposed, place, block, rows, scales);
    } else {
      const GatheredRows rows{op.x + col, op.choice_of_row + place.first_row, place.rows, op.dim,
                              width,      static_cast<std::int32_t>(op.top_k)};
      encode_group(op.transposed, place, block, rows, scales);
    }
  }
}

void grouped_swiglu_cast(const GroupedSwigluCast& op, Index group, Index begin, Index end) {
  const GroupPlace place = place_of(op.groups, group);
  if (op.transposed.codes != nullptr) cast_gradient(op, place, begin, end);
  if (op.activated.codes != nullptr) cast_activated(op, place, begin, end);
}

}  // namespace octet::ops::cpu::OCTET_ISA
