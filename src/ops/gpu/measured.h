// What the row kernels leave beside their output, from the op's wishes; and the second launch that ends column maxima.
#pragma once

#include "kernels/arguments.h"
#include "ops/gpu/gpu_device.h"

namespace octet::ops::gpu {

[[nodiscard]] inline kernels::Measured measured(const RowCodes& codes, bf16* column_partials) {
  return {codes.codes, codes.scale_inverse, codes.amax, column_partials, codes.rule};
}

/// Room for the column maxima of each block; null where they are not wanted.
[[nodiscard]] inline bf16* column_partials(WorkspaceCutter& cutter, const ColumnMaxima& columns, Index blocks,
                                           Index cols) {
  return columns.wanted ? cutter.take<bf16>(blocks * cols) : nullptr;
}

/// Launches of kernels/folds.cu take 32 columns a block.
[[nodiscard]] inline LaunchShape column_fold(Index cols, Index matrices = 1) {
  return {.blocks_x = blocks_for(cols, 32) * static_cast<unsigned>(matrices), .threads = 1024};
}

/// amax[c] = the largest of column c of partials [count, cols], for each of several matrices.
inline void fold_columns(const GpuDevice& device, const bf16* partials, bf16* amax, Index count, Index cols,
                         Index matrices = 1) {
  device.launch("fold_columns", column_fold(cols, matrices),
                kernels::FoldColumns{partials, amax, static_cast<int>(count), static_cast<int>(cols)});
}

inline void fold_columns(const GpuDevice& device, const bf16* partials, const ColumnMaxima& columns,
                         const RowLaunch& launch, Index cols) {
  if (!columns.wanted) return;
  fold_columns(device, partials, columns.amax, launch.blocks(), cols);
}

}  // namespace octet::ops::gpu
