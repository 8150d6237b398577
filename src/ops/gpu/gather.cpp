// Launches of what moves tokens to routed rows and back.
#include <array>

#include "ops/gpu/entries.h"
#include "ops/gpu/groups.h"

namespace octet::ops::gpu {
namespace {

constexpr std::array<RowTile, 4> kTiles{
    {{1024, 1, 1280, 256}, {4096, 4, 1024, 512}, {8192, 2, 1280}, {kLongestRow, 4, 1024}}};

struct Plan {
  RowLaunch launch;
  bf16* partials;
};

Plan plan(const Device& device, const GatherRows& op, WorkspaceCutter& cutter) {
  const RowLaunch launch =
      row_launch(device, {.rows = op.groups.rows, .cols = op.dim, .tiles = kTiles, .column_folds = 1, .rows_ahead = 1});
  return {launch, column_partials(cutter, op.columns, op.groups, launch.blocks(), op.dim)};
}

}  // namespace

std::size_t gather_rows_workspace(const Device& device, const GatherRows& op) {
  WorkspaceCutter cutter;
  (void)plan(device, op, cutter);
  return cutter.used();
}

void gather_rows(Device& device, const GatherRows& op, Workspace workspace) {
  WorkspaceCutter cutter(workspace);
  const auto [launch, partials] = plan(device, op, cutter);
  bf16* y = op.stored ? op.y : nullptr;
  const bool aligned = rows_aligned(op.x, op.dim) && is_aligned(y) && is_aligned(op.codes.codes);
  gpu(device).launch(row_kernel(device, "gather_rows", op.codes, launch), launch.shape,
                     kernels::GatherRows{op.x, op.choice_of_row, row_groups(op.groups), y, measured(op.codes, partials),
                                         static_cast<int>(op.top_k), static_cast<int>(op.dim), aligned, launch.ahead});
  fold_columns(gpu(device), partials, op.columns, op.groups, launch, op.dim);
}

void gather_rows_cast(Device& device, const GatherRowsCast& op, Workspace) {
  const TileLaunch launch = group_tile_launch(op.groups, op.dim);
  const GroupCodes& codes = op.transposed;
  const Index padded = padded_rows(op.groups.rows, op.groups.experts);
  gpu(device).launch(
      "gather_rows_cast_" + std::string(fp8::name(codes.rule.format())), launch.shape,
      kernels::GatherRowsCast{op.x, op.choice_of_row, row_groups(op.groups), group_side(codes), padded,
                              static_cast<int>(op.top_k), static_cast<int>(op.dim), launch.tiles_across, codes.rule,
                              rows_aligned(op.x, op.dim), rows_aligned(codes.codes, padded)});
}

void combine_rows(Device& device, const CombineRows& op, Workspace) {
  constexpr unsigned kThreads = 256;
  const bf16* base = op.has_base ? op.base : nullptr;
  const Index vectors = op.rows * ((op.dim + 7) / 8);
  const Index most = Index{gpu(device).multiprocessors()} * 64;
  const auto blocks = static_cast<unsigned>(std::min<Index>(blocks_for(vectors, kThreads), most));
  gpu(device).launch("combine_rows", {.blocks_x = blocks, .threads = kThreads},
                     kernels::CombineRows{op.routed, op.row_of_choice, base, op.out, op.rows,
                                          static_cast<int>(op.top_k), static_cast<int>(op.dim),
                                          rows_aligned(op.routed, op.dim) && is_aligned(base) && is_aligned(op.out)});
}

}  // namespace octet::ops::gpu
