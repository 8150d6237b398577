// Launches of AdamW.
#include "kernels/arguments.h"
#include "ops/gpu/entries.h"
#include "ops/gpu/measured.h"

namespace octet::ops::gpu {
namespace {

constexpr Index kEach = 8;  // elements a thread
constexpr unsigned kMostThreads = 256;
constexpr Index kBlocksPerMultiprocessor = 3;  // 80 registers a thread

/// What the kernel takes for rows and columns. Random bits depend on the place in a row, four columns to a block of
/// them: where rows are whole blocks, those of one long row are the same.
struct Extent {
  Index matrices, rows, cols;
};

Extent extent_of(const AdamW& op) {
  const Index rows = op.matrices * op.rows;
  if (op.measures) return {op.matrices, op.rows, op.cols};
  const bool as_one_row = rows == 1 || op.cols % 4 == 0;
  return as_one_row ? Extent{1, std::min<Index>(rows, 1), rows * op.cols} : Extent{1, rows, op.cols};
}

struct Plan {
  Extent extent;
  Index blocks_each;  // that share a matrix
  LaunchShape shape;
  Index row_parts;  // warps that share a row
  bf16* row_partials;
  bf16* column_partials;
};

Plan plan(const Device& device, const AdamW& op, WorkspaceCutter& cutter) {
  const Extent extent = extent_of(op);
  const unsigned threads = threads_for(device, (extent.cols + kEach - 1) / kEach, kMostThreads);
  const auto x = static_cast<Index>(blocks_for(extent.cols, static_cast<unsigned>(kEach) * threads));
  const Index all = gpu(device).multiprocessors() * kBlocksPerMultiprocessor;
  const Index wanted = all / std::max<Index>(1, x * extent.matrices);
  const Index blocks_each =
      std::min(extent.rows, std::clamp<Index>(wanted, 1, 65535 / std::max<Index>(1, extent.matrices)));
  const Index y = extent.matrices * blocks_each;
  const Index warp_cols = kEach * gpu(device).warp_size();
  const Index row_parts = (op.cols + warp_cols - 1) / warp_cols;
  bf16* row_partials = op.measures ? cutter.take<bf16>(op.matrices * op.rows * row_parts) : nullptr;
  bf16* column_partials = op.measures ? cutter.take<bf16>(y * op.cols) : nullptr;
  return {extent,
          blocks_each,
          {.blocks_x = static_cast<unsigned>(x), .blocks_y = static_cast<unsigned>(y), .threads = threads},
          row_parts,
          row_partials,
          column_partials};
}

/// Whether all rows of all operands start at multiples of 16 bytes.
bool operands_aligned(const AdamW& op, const Extent& extent) {
  return (extent.matrices * extent.rows == 1 || extent.cols % 8 == 0) && is_aligned(op.master) &&
         is_aligned(op.weight) && is_aligned(op.gradient) && is_aligned(op.m) && is_aligned(op.v);
}

std::string kernel_of(const AdamW& op) {
  return fmt::format("adamw_{}_{}_{}", op.has_master ? "master" : "alone", name(op.gradients), name(op.moments));
}

}  // namespace

std::size_t adamw_workspace(const Device& device, const AdamW& op) {
  WorkspaceCutter cutter;
  (void)plan(device, op, cutter);
  return cutter.used();
}

void adamw(Device& device, const AdamW& op, Workspace workspace) {
  WorkspaceCutter cutter(workspace);
  const Plan p = plan(device, op, cutter);
  gpu(device).launch(
      kernel_of(op), p.shape,
      kernels::AdamW{op.master, op.weight, op.gradient, op.m, op.v, op.scalars, p.row_partials, p.column_partials,
                     p.extent.rows, p.extent.cols, static_cast<int>(std::max<Index>(1, p.blocks_each)), op.stream,
                     op.beta1, op.beta2, op.eps, op.weight_decay, op.lr_scale, operands_aligned(op, p.extent)});
  if (!op.measures) return;
  LaunchShape folds = column_fold(op.cols, op.matrices);
  const Index rows = op.matrices * op.rows;
  const auto column_blocks = static_cast<int>(folds.blocks_x);
  folds.blocks_x += blocks_for(rows, folds.threads);
  gpu(device).launch("fold_rows_and_columns", folds,
                     kernels::FoldRowsAndColumns{{p.row_partials, op.row_amax, rows, static_cast<int>(p.row_parts)},
                                                 {p.column_partials, op.column_amax, static_cast<int>(p.blocks_each),
                                                  static_cast<int>(op.cols)},
                                                 column_blocks});
}

}  // namespace octet::ops::gpu
