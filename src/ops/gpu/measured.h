// What the row kernels leave beside their output, from the op's wishes; and the second launch that ends column maxima.
#pragma once

#include "kernels/arguments.h"
#include "ops/gpu/gpu_device.h"

namespace octet::ops::gpu {

[[nodiscard]] inline kernels::Measured measured(const RowCodes& codes, bf16* column_partials) {
  return {codes.codes, codes.scale_inverse, codes.amax, column_partials, codes.rule};
}

/// Room for the column maxima of each block; null where they are not wanted.
[[nodiscard]] inline bf16* column_partials(WorkspaceCutter& cutter, const ColumnMaxima& columns,
                                           const RowLaunch& launch, Index cols) {
  return columns.wanted ? cutter.take<bf16>(launch.blocks() * cols) : nullptr;
}

inline void fold_columns(const GpuDevice& device, const bf16* partials, const ColumnMaxima& columns,
                         const RowLaunch& launch, Index cols) {
  if (!columns.wanted) return;
  device.launch(
      "fold_columns", {.blocks_x = blocks_for(cols, 256), .threads = 256},
      kernels::FoldColumns{partials, columns.amax, static_cast<int>(launch.blocks()), static_cast<int>(cols)});
}

}  // namespace octet::ops::gpu
