// Launches of SwiGLU of routed rows.
#include <array>

#include "ops/gpu/entries.h"
#include "ops/gpu/groups.h"

namespace octet::ops::gpu {
namespace {

/// As those of feed_forward.cpp.
constexpr std::array<RowTile, 3> kForwardTiles{{{1024, 1, 1024}, {8192, 2, 1024}, {kLongestRow, 4, 1024}}};
constexpr std::array<RowTile, 3> kBackwardTiles{{{1024, 1, 1024}, {16384, 2, 1024}, {kLongestRow, 4, 1024}}};

struct Plan {
  RowLaunch launch;
  bf16* partials;
};

Plan plan(const Device& device, const GroupedSwigluForward& op, WorkspaceCutter& cutter) {
  const RowLaunch launch = row_launch(
      device, {.rows = op.groups.rows, .cols = op.dim, .tiles = kForwardTiles, .column_folds = 1, .rows_ahead = 2});
  return {launch, column_partials(cutter, op.columns, op.groups, launch.blocks(), op.dim)};
}

Plan plan(const Device& device, const GroupedSwigluBackward& op, WorkspaceCutter& cutter) {
  const RowLaunch launch = row_launch(
      device, {.rows = op.groups.rows, .cols = op.dim, .tiles = kBackwardTiles, .column_folds = 2, .rows_ahead = 3});
  return {launch, column_partials(cutter, op.columns, op.groups, launch.blocks(), 2 * op.dim)};
}

}  // namespace

std::size_t grouped_swiglu_forward_workspace(const Device& device, const GroupedSwigluForward& op) {
  WorkspaceCutter cutter;
  (void)plan(device, op, cutter);
  return cutter.used();
}

void grouped_swiglu_forward(Device& device, const GroupedSwigluForward& op, Workspace workspace) {
  WorkspaceCutter cutter(workspace);
  const auto [launch, partials] = plan(device, op, cutter);
  bf16* y = op.stored ? op.y : nullptr;
  const bool aligned = rows_aligned(op.gate_up, op.dim) && is_aligned(y) && is_aligned(op.codes.codes);
  gpu(device).launch(
      row_kernel(device, "grouped_swiglu_forward", op.codes, launch), launch.shape,
      kernels::GroupedSwigluForward{op.gate_up, op.weights, op.choice_of_row, row_groups(op.groups), y,
                                    measured(op.codes, partials), static_cast<int>(op.dim), aligned, launch.ahead});
  fold_columns(gpu(device), partials, op.columns, op.groups, launch, op.dim);
}

std::size_t grouped_swiglu_backward_workspace(const Device& device, const GroupedSwigluBackward& op) {
  WorkspaceCutter cutter;
  (void)plan(device, op, cutter);
  return cutter.used();
}

void grouped_swiglu_backward(Device& device, const GroupedSwigluBackward& op, Workspace workspace) {
  WorkspaceCutter cutter(workspace);
  const auto [launch, partials] = plan(device, op, cutter);
  bf16* dgate_up = op.stored ? op.dgate_up : nullptr;
  const bool aligned =
      rows_aligned(op.gate_up, op.dim) && is_aligned(op.dy) && is_aligned(dgate_up) && is_aligned(op.codes.codes);
  gpu(device).launch(row_kernel(device, "grouped_swiglu_backward", op.codes, launch), launch.shape,
                     kernels::GroupedSwigluBackward{
                         op.gate_up, op.dy, op.weights, op.choice_of_row, row_groups(op.groups), dgate_up, op.dweights,
                         measured(op.codes, partials), static_cast<int>(op.dim), aligned, launch.ahead});
  fold_columns(gpu(device), partials, op.columns, op.groups, launch, 2 * op.dim);
}

void grouped_swiglu_cast(Device& device, const GroupedSwigluCast& op, Workspace) {
  constexpr unsigned kOperandsAhead = 3 * kTileRows * kTileCols * sizeof(bf16);
  const bool ahead = gpu(device).driver().facts().copies_run_beside;
  const TileLaunch launch = group_tile_launch(op.groups, op.dim, ahead ? kOperandsAhead : 0);
  const GroupCodes& codes = op.transposed;
  const GroupCodes& y = op.activated;
  check(!y.wanted || !codes.wanted || y.rule.format() == codes.rule.format(), "one format for all codes");
  const fp8::ScaleRule rule = codes.wanted ? codes.rule : y.rule;
  const Index padded = padded_rows(op.groups.rows, op.groups.experts);
  gpu(device).launch("grouped_swiglu_cast_" + std::string(fp8::name(rule.format())), launch.shape,
                     kernels::GroupedSwigluCast{
                         op.gate_up, op.dy, op.weights, op.choice_of_row, row_groups(op.groups), group_side(codes),
                         group_side(y), padded, static_cast<int>(op.dim), launch.tiles_across, rule,
                         rows_aligned(op.gate_up, op.dim) && (!codes.wanted || is_aligned(op.dy)),
                         rows_aligned(codes.codes, padded) && is_aligned(y.codes)});
}

}  // namespace octet::ops::gpu
