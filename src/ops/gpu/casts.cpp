// Launches of the casts.
#include <array>

#include "kernels/arguments.h"
#include "ops/gpu/entries.h"
#include "ops/gpu/measured.h"
#include "ops/gpu/tiles.h"

namespace octet::ops::gpu {
namespace {

constexpr std::array<RowTile, 4> kRowTiles{
    {{1024, 1, 1280, 256}, {4096, 4, 1024, 512}, {8192, 2, 1280}, {kLongestRow, 4, 1024}}};

/// Where one scale serves a whole matrix, it is made beforehand. The kernel makes others itself.
struct TensorScales {
  float* stored;
  float* transposed;
};

TensorScales plan(const Cast& op, WorkspaceCutter& cutter) {
  const auto room = [&](const CastLayout& layout) {
    return layout.axis == ScaleAxis::tensor ? cutter.take<float>(op.matrices) : nullptr;
  };
  auto* stored = room(op.as_stored);
  return {stored, room(op.transposed)};
}

/// One layout as the kernel takes it; `amax` [outer] of its slices.
kernels::CastSide cast_side(const GpuDevice& device, const Cast& op, const CastLayout& layout, const bf16* amax,
                            float* tensor_scale) {
  if (layout.axis == ScaleAxis::none) return {};
  if (layout.axis == ScaleAxis::row) return {layout.codes, amax, nullptr, layout.scale_inverse};
  device.launch("make_one_scale", {.blocks_x = static_cast<unsigned>(op.matrices), .threads = 1024},
                kernels::MakeScale{op.column_amax, tensor_scale, layout.scale_inverse, op.cols, op.rule});
  return {layout.codes, nullptr, tensor_scale, nullptr};
}

struct RowPlan {
  RowLaunch launch;
  bf16* partials;
};

/// Rows that no block holds are measured by column in a launch of its own, whose blocks_y share the rows.
RowLaunch column_launch(const Device& device, Index rows, Index cols) {
  constexpr unsigned kThreads = 256;
  const unsigned x = blocks_for(cols, 8 * kThreads);
  const Index wanted = std::max<Index>(1, Index{gpu(device).multiprocessors()} * 8 / x);
  return {1, {.blocks_x = x, .blocks_y = static_cast<unsigned>(std::min(rows, wanted)), .threads = kThreads}, false};
}

RowPlan plan(const Device& device, const QuantizeRows& op, WorkspaceCutter& cutter) {
  if (op.cols <= kLongestRow) {
    const RowLaunch launch = row_launch(device, {.rows = op.rows,
                                                 .cols = op.cols,
                                                 .tiles = kRowTiles,
                                                 .column_folds = 1,
                                                 .unused_folds = op.columns.wanted ? 0 : 1,
                                                 .rows_ahead = 1});
    return {launch, column_partials(cutter, op.columns, launch.blocks(), op.cols)};
  }
  const RowLaunch launch = column_launch(device, op.rows, op.cols);
  return {launch, column_partials(cutter, op.columns, launch.shape.blocks_y, op.cols)};
}

kernels::QuantizeRows arguments(const QuantizeRows& op, const RowPlan& p) {
  return {op.x,
          measured(op.codes, p.partials),
          op.rows,
          static_cast<int>(op.cols),
          rows_aligned(op.x, op.cols) && is_aligned(op.codes.codes),
          p.launch.ahead};
}

void quantize_long_rows(const GpuDevice& device, const QuantizeRows& op, const RowPlan& p) {
  if (op.codes.codes != nullptr || op.codes.amax != nullptr) {
    device.launch("quantize_long_rows_" + std::string(fp8::name(op.codes.rule.format())),
                  {.blocks_x = blocks_for(op.rows, 1), .threads = 1024}, arguments(op, p));
  }
  if (!op.columns.wanted) return;
  device.launch("column_maxima", p.launch.shape, arguments(op, p));
  fold_columns(device, p.partials, op.columns.amax, p.launch.shape.blocks_y, op.cols);
}

/// Maxima are what is left of the pass where nobody wants codes.
QuantizeRows without_codes(const Maxima& op) {
  return {op.x, {.amax = op.row_amax}, {op.column_amax, true}, op.rows, op.cols};
}

Maxima matrix_of(const Maxima& op, Index i) {
  bf16* row_amax = op.row_amax == nullptr ? nullptr : op.row_amax + i * op.rows;
  return {op.x + i * op.rows * op.cols, row_amax, op.column_amax + i * op.cols, op.rows, op.cols};
}

/// As many blocks as the device holds are shared out among the matrices.
RowPlan plan(const Device& device, const Maxima& op, WorkspaceCutter& cutter) {
  if (op.cols > kLongestRow) return plan(device, without_codes(op), cutter);
  RowLaunch launch = row_launch(
      device, {.rows = op.matrices * op.rows, .cols = op.cols, .tiles = kRowTiles, .column_folds = 1, .rows_ahead = 1});
  const Index wanted = (launch.blocks() + op.matrices - 1) / std::max<Index>(1, op.matrices);
  launch.shape.blocks_x = static_cast<unsigned>(std::min<Index>(wanted, blocks_for(op.rows, launch.shape.threads_y)));
  launch.shape.blocks_y = static_cast<unsigned>(op.matrices);
  return {launch, cutter.take<bf16>(op.matrices * launch.blocks() * op.cols)};
}

}  // namespace

std::size_t quantize_rows_workspace(const Device& device, const QuantizeRows& op) {
  WorkspaceCutter cutter;
  (void)plan(device, op, cutter);
  return cutter.used();
}

void quantize_rows(Device& device, const QuantizeRows& op, Workspace workspace) {
  WorkspaceCutter cutter(workspace);
  const RowPlan p = plan(device, op, cutter);
  if (op.cols > kLongestRow) return quantize_long_rows(gpu(device), op, p);
  gpu(device).launch(row_kernel(device, "quantize_rows", op.codes, p.launch), p.launch.shape, arguments(op, p));
  fold_columns(gpu(device), p.partials, op.columns, p.launch, op.cols);
}

std::size_t maxima_workspace(const Device& device, const Maxima& op) {
  WorkspaceCutter cutter;
  (void)plan(device, op, cutter);
  return cutter.used();
}

void maxima(Device& device, const Maxima& op, Workspace workspace) {
  if (op.cols > kLongestRow) {
    for (Index i = 0; i < op.matrices; ++i) quantize_rows(device, without_codes(matrix_of(op, i)), workspace);
    return;
  }
  WorkspaceCutter cutter(workspace);
  const RowPlan p = plan(device, op, cutter);
  const QuantizeRows rows = without_codes(op);
  gpu(device).launch(row_kernel(device, "quantize_rows", rows.codes, p.launch), p.launch.shape, arguments(rows, p));
  fold_columns(gpu(device), p.partials, op.column_amax, p.launch.blocks(), op.cols, op.matrices);
}

std::size_t cast_workspace(const Device&, const Cast& op) {
  WorkspaceCutter cutter;
  (void)plan(op, cutter);
  return cutter.used();
}

void cast(Device& device, const Cast& op, Workspace workspace) {
  WorkspaceCutter cutter(workspace);
  const TensorScales scales = plan(op, cutter);
  TileLaunch launch = tile_launch(op.rows, op.cols);
  launch.shape.blocks_y = static_cast<unsigned>(op.matrices);
  gpu(device).launch("cast_tiles_" + std::string(fp8::name(op.rule.format())), launch.shape,
                     kernels::CastTiles{op.x, cast_side(gpu(device), op, op.as_stored, op.row_amax, scales.stored),
                                        cast_side(gpu(device), op, op.transposed, op.column_amax, scales.transposed),
                                        op.rows, static_cast<int>(op.cols), op.rule, launch.tiles_across, launch.tiles,
                                        rows_aligned(op.x, op.cols) && is_aligned(op.as_stored.codes),
                                        rows_aligned(op.transposed.codes, op.rows)});
}

}  // namespace octet::ops::gpu
