// Launches of RMSNorm.
#include <array>

#include "kernels/arguments.h"
#include "ops/gpu/entries.h"
#include "ops/gpu/measured.h"
#include "ops/gpu/tiles.h"

namespace octet::ops::gpu {
namespace {

constexpr std::array<RowTile, 3> kForwardTiles{
    {{1024, 1, 1024, 512}, {2048, 2, 1024, 512}, {kLongestRow, 4, 1024, 512}}};
constexpr std::array<RowTile, 3> kBackwardTiles{{{4096, 2, 768}, {8192, 1, 1024}, {kLongestRow, 4, 1024}}};

struct ForwardPlan {
  RowLaunch launch;
  bf16* partials;
};

ForwardPlan plan(const Device& device, const RmsNormForward& op, WorkspaceCutter& cutter) {
  const RowLaunch launch = row_launch(device, {.rows = op.rows,
                                               .cols = op.dim,
                                               .tiles = kForwardTiles,
                                               .column_folds = 1,
                                               .unused_folds = op.columns.wanted ? 0 : 1,
                                               .rows_ahead = op.has_delta ? 2 : 1});
  return {launch, column_partials(cutter, op.columns, launch.blocks(), op.dim)};
}

struct BackwardPlan {
  RowLaunch launch;
  float* weight_partials;
  bf16* partials;
};

BackwardPlan plan(const Device& device, const RmsNormBackward& op, WorkspaceCutter& cutter) {
  const RowLaunch launch = row_launch(device, {.rows = op.rows,
                                               .cols = op.dim,
                                               .tiles = kBackwardTiles,
                                               .column_folds = 3,  // the weight gradient in fp32, and maxima
                                               .unused_folds = op.columns.wanted ? 0 : 1,
                                               .rows_ahead = op.has_residual ? 3 : 2});
  auto* weight_partials = cutter.take<float>(launch.blocks() * op.dim);
  return {launch, weight_partials, column_partials(cutter, op.columns, launch.blocks(), op.dim)};
}

template <typename Op>
Index x_stride(const Op& op) {
  return op.x_stride == 0 ? op.dim : op.x_stride;
}

}  // namespace

std::size_t rmsnorm_forward_workspace(const Device& device, const RmsNormForward& op) {
  WorkspaceCutter cutter;
  (void)plan(device, op, cutter);
  return cutter.used();
}

void rmsnorm_forward(Device& device, const RmsNormForward& op, Workspace workspace) {
  WorkspaceCutter cutter(workspace);
  const auto [launch, partials] = plan(device, op, cutter);
  const bool aligned = rows_aligned(op.x, op.dim) && rows_aligned(op.x, x_stride(op)) && is_aligned(op.delta) &&
                       is_aligned(op.weight) && is_aligned(op.x_out) && is_aligned(op.y) && is_aligned(op.codes.codes);
  gpu(device).launch(row_kernel(device, "rmsnorm_forward", op.codes, launch), launch.shape,
                     kernels::RmsNormForward{op.x, op.has_delta ? op.delta : nullptr, op.weight, op.x_out,
                                             op.stored ? op.y : nullptr, op.rstd, measured(op.codes, partials), op.rows,
                                             x_stride(op), static_cast<int>(op.dim), op.eps, aligned, launch.ahead});
  fold_columns(gpu(device), partials, op.columns, launch, op.dim);
}

void rmsnorm_forward_cast(Device& device, const RmsNormForwardCast& op, Workspace) {
  const TileLaunch launch = tile_launch(op.rows, op.dim);
  const ColumnCodes& codes = op.transposed;
  gpu(device).launch("rmsnorm_forward_cast_" + std::string(fp8::name(codes.rule.format())), launch.shape,
                     kernels::RmsNormForwardCast{op.x, op.weight, op.rstd, cast_side(codes), op.rows,
                                                 static_cast<int>(op.dim), codes.rule, launch.tiles_across,
                                                 launch.tiles, rows_aligned(op.x, op.dim) && is_aligned(op.weight),
                                                 rows_aligned(codes.codes, op.rows)});
}

std::size_t rmsnorm_backward_workspace(const Device& device, const RmsNormBackward& op) {
  WorkspaceCutter cutter;
  (void)plan(device, op, cutter);
  return cutter.used();
}

void rmsnorm_backward(Device& device, const RmsNormBackward& op, Workspace workspace) {
  WorkspaceCutter cutter(workspace);
  const auto [launch, weight_partials, partials] = plan(device, op, cutter);
  const auto blocks = static_cast<int>(launch.blocks());
  const auto cols = static_cast<int>(op.dim);
  const bool aligned = rows_aligned(op.x, op.dim) && rows_aligned(op.x, x_stride(op)) && is_aligned(op.dy) &&
                       is_aligned(op.weight) && is_aligned(op.residual) && is_aligned(op.dx) &&
                       is_aligned(op.codes.codes);
  gpu(device).launch(row_kernel(device, "rmsnorm_backward", op.codes, launch), launch.shape,
                     kernels::RmsNormBackward{op.dy, op.x, op.weight, op.rstd, op.has_residual ? op.residual : nullptr,
                                              op.dx, weight_partials, measured(op.codes, partials), op.rows,
                                              x_stride(op), cols, aligned, launch.ahead});
  LaunchShape folds = column_fold(op.dim);
  if (op.columns.wanted) folds.blocks_y = 2;
  gpu(device).launch("sum_and_fold_columns", folds,
                     kernels::SumAndFoldColumns{{weight_partials, op.dweight, blocks, cols},
                                                {partials, op.columns.amax, blocks, cols}});
}

}  // namespace octet::ops::gpu
