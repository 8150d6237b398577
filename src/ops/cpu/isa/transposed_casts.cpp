// Casts to FP8 that transpose whole matrices.
#include "ops/cpu/isa/kernels.h"
#include "ops/cpu/isa/swiglu_rows.h"
#include "ops/cpu/isa/transposed_block.h"

namespace octet::ops::cpu::OCTET_ISA {
namespace {

/// Rows of RMSNorm, of what it has measured.
struct NormedRows {
  MatrixRows x;
  const bf16* weight;  // from the first column of the block
  const float* rstd;   // [rows]

  [[gnu::always_inline]] const bf16* row(Index row, PaddedRow& padded) const {
    const bf16* values = x.row(row, padded);
    for (Index i = 0; i < x.width; i += kLanes) {
      const Index count = x.width - i;
      store(padded + i, load(values + i, count) * rstd[row] * load(weight + i, count), count);
    }
    return padded;
  }
};

}  // namespace

void cast_transposed(const Cast& op, const float* row_scales, const float* column_scales, Index begin, Index end) {
  const bool by_column = op.transposed.axis == ScaleAxis::row;
  for (Index col = begin; col < end; col += kColumnBlock) {
    const Index width = smaller(end - col, kColumnBlock);
    const ColumnBlock block = neighbours(op.transposed.codes + col * op.rows, op.rows, op.rows, width);
    float scales[kColumnBlock]{};
    for (Index i = 0; i < width; ++i) scales[i] = column_scales[by_column ? col + i : 0];
    StoredBlock stored;
    if (op.as_stored.wanted()) {
      stored = {op.as_stored.codes + col, op.cols, width, row_scales, op.as_stored.axis == ScaleAxis::row};
    }
    with_format(op.rule.format(), [&](auto tag) {
      encode_block<tag.format>(block, MatrixRows{op.x + col, op.cols, width}, scales, stored);
    });
  }
}

void rmsnorm_forward_cast(const RmsNormForwardCast& op, const float* column_scales, Index begin, Index end) {
  for (Index col = begin; col < end; col += kColumnBlock) {
    const Index width = smaller(end - col, kColumnBlock);
    float scales[kColumnBlock]{};
    for (Index i = 0; i < width; ++i) scales[i] = column_scales[col + i];
    const NormedRows rows{{op.x + col, op.dim, width}, op.weight + col, op.rstd};
    const ColumnBlock block = neighbours(op.transposed.codes + col * op.rows, op.rows, op.rows, width);
    with_format(op.transposed.rule.format(), [&](auto tag) { encode_block<tag.format>(block, rows, scales, {}); });
  }
}

namespace {

/// Columns [begin, end) of dgate and of dup.
void cast_gradient(const SwigluBackwardCast& op, const float* column_scales, Index begin, Index end) {
  std::uint8_t* dup_codes = op.transposed.codes + op.dim * op.rows;
  for (Index col = begin; col < end; col += kTileSize) {
    const Index width = smaller(end - col, kTileSize);
    const ColumnBlock block{
        op.rows, op.rows, {{op.transposed.codes + col * op.rows, width}, {dup_codes + col * op.rows, width}}};
    float scales[kColumnBlock]{};
    for (Index i = 0; i < width; ++i) {
      scales[i] = column_scales[col + i];
      scales[kTileSize + i] = column_scales[op.dim + col + i];
    }
    const GradientRows<Unweighted> rows{op.gate_up + col, op.dy + col, op.dim, width, {}};
    with_format(op.transposed.rule.format(), [&](auto tag) { encode_block<tag.format>(block, rows, scales, {}); });
  }
}

/// The same columns of what was activated.
void cast_activated(const SwigluBackwardCast& op, const float* column_scales, Index begin, Index end) {
  for (Index col = begin; col < end; col += kTileSize) {
    const Index width = smaller(end - col, kTileSize);
    const ColumnBlock block{op.rows, op.rows, {{op.activated.codes + col * op.rows, width}, {nullptr, 0}}};
    float scales[kColumnBlock]{};
    for (Index i = 0; i < width; ++i) scales[i] = column_scales[col + i];
    const ActivatedRows<Unweighted> rows{op.gate_up + col, op.dim, width, {}};
    with_format(op.activated.rule.format(), [&](auto tag) { encode_block<tag.format>(block, rows, scales, {}); });
  }
}

}  // namespace

void swiglu_backward_cast(const SwigluBackwardCast& op, const float* column_scales, Index begin, Index end) {
  cast_gradient(op, column_scales, begin, end);
  if (op.activated.codes != nullptr) cast_activated(op, column_scales + 2 * op.dim, begin, end);
}

}  // namespace octet::ops::cpu::OCTET_ISA
