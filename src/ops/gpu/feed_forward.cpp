// Launches of SwiGLU.
#include "kernels/arguments.h"
#include "ops/gpu/entries.h"
#include "ops/gpu/measured.h"

namespace octet::ops::gpu {

std::size_t swiglu_forward_workspace(const Device& device, const SwigluForward& op) {
  WorkspaceCutter cutter;
  (void)column_partials(cutter, op.columns, row_launch(device, {op.rows, op.dim, op.columns.wanted ? 1 : 0}).blocks(),
                        op.dim);
  return cutter.used();
}

void swiglu_forward(Device& device, const SwigluForward& op, Workspace workspace) {
  WorkspaceCutter cutter(workspace);
  const RowLaunch launch = row_launch(device, {op.rows, op.dim, op.columns.wanted ? 1 : 0});
  bf16* partials = column_partials(cutter, op.columns, launch.blocks(), op.dim);
  const bool aligned = rows_aligned(op.gate_up, op.dim) && is_aligned(op.y) && is_aligned(op.codes.codes);
  gpu(device).launch(row_kernel("swiglu_forward", op.codes.rule.format(), launch), launch.shape,
                     kernels::SwigluForward{op.gate_up, op.y, measured(op.codes, partials), op.rows,
                                            static_cast<int>(op.dim), aligned});
  fold_columns(gpu(device), partials, op.columns, launch, op.dim);
}

std::size_t swiglu_backward_workspace(const Device& device, const SwigluBackward& op) {
  WorkspaceCutter cutter;
  (void)column_partials(cutter, op.columns, row_launch(device, {op.rows, op.dim, op.columns.wanted ? 2 : 0}).blocks(),
                        2 * op.dim);
  return cutter.used();
}

void swiglu_backward(Device& device, const SwigluBackward& op, Workspace workspace) {
  WorkspaceCutter cutter(workspace);
  const RowLaunch launch = row_launch(device, {op.rows, op.dim, op.columns.wanted ? 2 : 0});
  bf16* partials = column_partials(cutter, op.columns, launch.blocks(), 2 * op.dim);
  const bool aligned =
      rows_aligned(op.gate_up, op.dim) && is_aligned(op.dy) && is_aligned(op.dgate_up) && is_aligned(op.codes.codes);
  gpu(device).launch(row_kernel("swiglu_backward", op.codes.rule.format(), launch), launch.shape,
                     kernels::SwigluBackward{op.gate_up, op.dy, op.dgate_up, measured(op.codes, partials), op.rows,
                                             static_cast<int>(op.dim), aligned});
  fold_columns(gpu(device), partials, op.columns, launch, 2 * op.dim);
}

}  // namespace octet::ops::gpu
