// Launches of the norms of query and key heads.
#include <algorithm>

#include "kernels/arguments.h"
#include "ops/gpu/entries.h"
#include "ops/gpu/measured.h"

namespace octet::ops::gpu {
namespace {

constexpr unsigned kThreads = 256;
/// Of a multiprocessor: each leaves a row of sums.
constexpr Index kBackwardBlocks = 4;

kernels::HeadNormSizes sizes_of(const HeadNormShape& shape, float eps) {
  return {shape.rows,
          shape.offset,
          static_cast<int>(shape.seq_len),
          static_cast<int>(shape.heads),
          static_cast<int>(shape.kv_heads),
          static_cast<int>(shape.head_dim / 2),
          eps};
}

Index backward_blocks(const Device& device, const HeadNormShape& shape) {
  return std::min(shape.rows, kBackwardBlocks * gpu(device).multiprocessors());
}

/// The rest of the op, whose rows were normed in a launch of their own: nobody holds a whole row there.
QuantizeRows row_cast(const HeadNormRopeBackward& op) {
  return {op.dqkv, op.codes, op.columns, op.shape.rows, op.shape.cols()};
}

}  // namespace

void head_norm_rope(Device& device, const HeadNormRope& op, Workspace) {
  gpu(device).launch("head_norm_rope", {.blocks_x = blocks_for(op.shape.rows, 1), .threads = kThreads},
                     kernels::HeadNormRope{op.x, op.weights, op.cos_sin, op.y, sizes_of(op.shape, op.eps)});
}

std::size_t head_norm_rope_backward_workspace(const Device& device, const HeadNormRopeBackward& op) {
  WorkspaceCutter cutter;
  (void)cutter.take<float>(backward_blocks(device, op.shape) * 2 * op.shape.head_dim);
  const bool casts = op.codes.wanted || op.columns.wanted;
  return std::max(cutter.used(), casts ? quantize_rows_workspace(device, row_cast(op)) : 0);
}

void head_norm_rope_backward(Device& device, const HeadNormRopeBackward& op, Workspace workspace) {
  const Index blocks = backward_blocks(device, op.shape);
  const Index weights = 2 * op.shape.head_dim;
  auto* partials = WorkspaceCutter(workspace).take<float>(blocks * weights);
  gpu(device).launch(
      "head_norm_rope_backward", {.blocks_x = static_cast<unsigned>(blocks), .threads = kThreads},
      kernels::HeadNormRopeBackward{op.x, op.weights, op.cos_sin, op.dqkv, partials, sizes_of(op.shape, op.eps)});
  gpu(device).launch(
      "sum_and_fold_columns", column_fold(weights),
      kernels::SumAndFoldColumns{{partials, op.dweights, static_cast<int>(blocks), static_cast<int>(weights)}, {}});
  if (op.codes.wanted || op.columns.wanted) quantize_rows(device, row_cast(op), workspace);
}

}  // namespace octet::ops::gpu
