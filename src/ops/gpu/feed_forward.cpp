// Launches of SwiGLU.
#include <array>

#include "kernels/arguments.h"
#include "ops/gpu/entries.h"
#include "ops/gpu/measured.h"
#include "ops/gpu/tiles.h"

namespace octet::ops::gpu {
namespace {

/// Forward two blocks share a multiprocessor up to 16384 columns: one takes exponentials while the other loads and
/// stores. Backward shared memory holds the rows of one.
constexpr std::array<RowTile, 3> kForwardTiles{{{1024, 1, 1024}, {8192, 2, 1024}, {kLongestRow, 4, 1024}}};
constexpr std::array<RowTile, 3> kBackwardTiles{{{1024, 1, 1024}, {16384, 2, 1024}, {kLongestRow, 4, 1024}}};

struct Plan {
  RowLaunch launch;
  bf16* partials;
};

Plan plan(const Device& device, const SwigluForward& op, WorkspaceCutter& cutter) {
  const RowLaunch launch = row_launch(device, {.rows = op.rows,
                                               .cols = op.dim,
                                               .tiles = kForwardTiles,
                                               .column_folds = 1,
                                               .unused_folds = op.columns.wanted ? 0 : 1,
                                               .rows_ahead = 2});
  return {launch, column_partials(cutter, op.columns, launch.blocks(), op.dim)};
}

Plan plan(const Device& device, const SwigluBackward& op, WorkspaceCutter& cutter) {
  const RowLaunch launch = row_launch(device, {.rows = op.rows,
                                               .cols = op.dim,
                                               .tiles = kBackwardTiles,
                                               .column_folds = 2,
                                               .unused_folds = op.columns.wanted ? 0 : 2,
                                               .rows_ahead = 3});
  return {launch, column_partials(cutter, op.columns, launch.blocks(), 2 * op.dim)};
}

}  // namespace

std::size_t swiglu_forward_workspace(const Device& device, const SwigluForward& op) {
  WorkspaceCutter cutter;
  (void)plan(device, op, cutter);
  return cutter.used();
}

void swiglu_forward(Device& device, const SwigluForward& op, Workspace workspace) {
  WorkspaceCutter cutter(workspace);
  const auto [launch, partials] = plan(device, op, cutter);
  bf16* y = op.stored ? op.y : nullptr;
  const bool aligned = rows_aligned(op.gate_up, op.dim) && is_aligned(y) && is_aligned(op.codes.codes);
  gpu(device).launch(row_kernel(device, "swiglu_forward", op.codes, launch), launch.shape,
                     kernels::SwigluForward{op.gate_up, y, measured(op.codes, partials), op.rows,
                                            static_cast<int>(op.dim), aligned, launch.ahead});
  fold_columns(gpu(device), partials, op.columns, launch, op.dim);
}

std::size_t swiglu_backward_workspace(const Device& device, const SwigluBackward& op) {
  WorkspaceCutter cutter;
  (void)plan(device, op, cutter);
  return cutter.used();
}

void swiglu_backward(Device& device, const SwigluBackward& op, Workspace workspace) {
  WorkspaceCutter cutter(workspace);
  const auto [launch, partials] = plan(device, op, cutter);
  const bool aligned =
      rows_aligned(op.gate_up, op.dim) && is_aligned(op.dy) && is_aligned(op.dgate_up) && is_aligned(op.codes.codes);
  gpu(device).launch(
      row_kernel(device, "swiglu_backward", op.codes, launch), launch.shape,
      kernels::SwigluBackward{op.gate_up, op.dy, op.stored ? op.dgate_up : nullptr, measured(op.codes, partials),
                              op.rows, static_cast<int>(op.dim), aligned, launch.ahead});
  fold_columns(gpu(device), partials, op.columns, launch, 2 * op.dim);
}

void swiglu_backward_cast(Device& device, const SwigluBackwardCast& op, Workspace) {
  constexpr unsigned kOperandsAhead = 3 * kTileRows * kTileCols * sizeof(bf16);
  const bool ahead = gpu(device).driver().facts().copies_run_beside;
  const TileLaunch launch = tile_launch(op.rows, op.dim, ahead ? kOperandsAhead : 0);
  const ColumnCodes& codes = op.transposed;
  const ColumnCodes& y = op.activated;
  check(!y.wanted || y.rule.format() == codes.rule.format(), "one format for all codes");
  gpu(device).launch("swiglu_backward_cast_" + std::string(fp8::name(codes.rule.format())), launch.shape,
                     kernels::SwigluBackwardCast{op.gate_up, op.dy, cast_side(codes), cast_side(y), op.rows,
                                                 static_cast<int>(op.dim), codes.rule, launch.tiles_across,
                                                 launch.tiles, rows_aligned(op.gate_up, op.dim) && is_aligned(op.dy),
                                                 rows_aligned(codes.codes, op.rows) && is_aligned(y.codes)});
}

}  // namespace octet::ops::gpu
