// What launches over routed rows have in common: see kernels/grouped_rows.h.
#pragma once

#include <algorithm>

#include "kernels/grouped_arguments.h"
#include "ops/gpu/gpu_device.h"
#include "ops/gpu/tiles.h"

namespace octet::ops::gpu {

[[nodiscard]] inline kernels::RowGroups row_groups(const Groups& groups) {
  return {groups.offsets, groups.padded_offsets, static_cast<int>(groups.experts)};
}

[[nodiscard]] inline kernels::Measured measured(const RowCodes& codes, bf16* column_partials) {
  return {codes.codes, codes.scale_inverse, codes.amax, column_partials, codes.rule};
}

/// Room for the column maxima that each block leaves of each group it has rows of; null where they are not wanted.
[[nodiscard]] inline bf16* column_partials(WorkspaceCutter& cutter, const GroupMaxima& columns, const Groups& groups,
                                           Index blocks, Index cols) {
  return columns.wanted ? cutter.take<bf16>((blocks + groups.experts) * cols) : nullptr;
}

/// The second launch, that ends them.
inline void fold_columns(const GpuDevice& device, const bf16* partials, const GroupMaxima& columns,
                         const Groups& groups, const RowLaunch& launch, Index cols) {
  if (!columns.wanted) return;
  constexpr unsigned kThreads = 256;
  device.launch(
      "fold_group_columns",
      {.blocks_x = blocks_for(cols, 64), .blocks_y = static_cast<unsigned>(groups.experts), .threads = kThreads},
      kernels::FoldGroupColumns{partials, columns.amax, row_groups(groups), static_cast<int>(launch.blocks()),
                                static_cast<int>(cols)});
}

/// Over all tiles that groups of these rows may need; there is at least one block, as empty groups have scales too.
[[nodiscard]] inline TileLaunch group_tile_launch(const Groups& groups, Index cols, unsigned shared_bytes = 0) {
  return tile_launch(padded_rows(groups.rows, groups.experts), cols, shared_bytes);
}

[[nodiscard]] inline kernels::GroupSide group_side(const GroupCodes& codes) {
  return {codes.codes, codes.amax, codes.scale_inverse};
}

}  // namespace octet::ops::gpu
