// Launches of the casts.
#include "kernels/arguments.h"
#include "ops/gpu/entries.h"
#include "ops/gpu/measured.h"

namespace octet::ops::gpu {
namespace {

constexpr unsigned kTileRows = 128;  // as in kernels/casts.cu
constexpr unsigned kTileCols = 64;

struct CastPlan {
  float* row_scales;
  float* column_scales;
};

CastPlan plan(const Cast& op, WorkspaceCutter& cutter) {
  auto* row_scales = cutter.take<float>(op.rows + 1);
  return {row_scales, cutter.take<float>(op.cols + 1)};
}

/// The scales of one layout, from the maxima of its rows or from all columns'.
void make_scales(const GpuDevice& device, const Cast& op, const CastLayout& layout, const bf16* amax_of_rows,
                 Index outer, float* scales) {
  if (layout.axis == ScaleAxis::row) {
    device.launch("make_scales", {.blocks_x = blocks_for(outer, 256), .threads = 256},
                  kernels::MakeScales{amax_of_rows, scales, layout.scale_inverse, outer, op.rule});
  } else if (layout.axis == ScaleAxis::tensor) {
    device.launch("make_one_scale", {.threads = 1024},
                  kernels::MakeScales{op.column_amax, scales, layout.scale_inverse, op.cols, op.rule});
  }
}

}  // namespace

std::size_t quantize_rows_workspace(const Device& device, const QuantizeRows& op) {
  WorkspaceCutter cutter;
  (void)column_partials(cutter, op.columns, row_launch(device, op.rows, op.cols, op.columns.wanted ? 1 : 0), op.cols);
  return cutter.used();
}

void quantize_rows(Device& device, const QuantizeRows& op, Workspace workspace) {
  WorkspaceCutter cutter(workspace);
  const RowLaunch launch = row_launch(device, op.rows, op.cols, op.columns.wanted ? 1 : 0);
  bf16* partials = column_partials(cutter, op.columns, launch, op.cols);
  gpu(device).launch(row_kernel("quantize_rows", op.codes.rule.format(), launch), launch.shape,
                     kernels::QuantizeRows{op.x, measured(op.codes, partials), op.rows, static_cast<int>(op.cols),
                                           rows_aligned(op.x, op.cols)});
  fold_columns(gpu(device), partials, op.columns, launch, op.cols);
}

std::size_t maxima_workspace(const Device& device, const Maxima& op) {
  WorkspaceCutter cutter;
  (void)column_partials(cutter, {nullptr, true}, row_launch(device, op.rows, op.cols, 1), op.cols);
  return cutter.used();
}

void maxima(Device& device, const Maxima& op, Workspace workspace) {
  WorkspaceCutter cutter(workspace);
  const RowLaunch launch = row_launch(device, op.rows, op.cols, 1);
  const ColumnMaxima columns{op.column_amax, true};
  bf16* partials = column_partials(cutter, columns, launch, op.cols);
  const RowCodes no_codes{.amax = op.row_amax};
  gpu(device).launch(row_kernel("quantize_rows", no_codes.rule.format(), launch), launch.shape,
                     kernels::QuantizeRows{op.x, measured(no_codes, partials), op.rows, static_cast<int>(op.cols),
                                           rows_aligned(op.x, op.cols)});
  fold_columns(gpu(device), partials, columns, launch, op.cols);
}

std::size_t cast_workspace(const Device&, const Cast& op) {
  WorkspaceCutter cutter;
  (void)plan(op, cutter);
  return cutter.used();
}

void cast(Device& device, const Cast& op, Workspace workspace) {
  WorkspaceCutter cutter(workspace);
  const auto [row_scales, column_scales] = plan(op, cutter);
  make_scales(gpu(device), op, op.as_stored, op.row_amax, op.rows, row_scales);
  make_scales(gpu(device), op, op.transposed, op.column_amax, op.cols, column_scales);
  const std::string kernel = "cast_tiles_" + std::string(fp8::name(op.rule.format()));
  gpu(device).launch(
      kernel,
      {.blocks_x = blocks_for(op.cols, kTileCols),
       .blocks_y = std::min(65535U, blocks_for(op.rows, kTileRows)),
       .threads = 256},
      kernels::CastTiles{op.x, row_scales, column_scales, op.as_stored.codes, op.transposed.codes, op.rows,
                         static_cast<int>(op.cols), op.as_stored.axis == ScaleAxis::row,
                         op.transposed.axis == ScaleAxis::row, rows_aligned(op.x, op.cols) && op.cols % 16 == 0,
                         rows_aligned(op.transposed.codes, op.rows)});
}

}  // namespace octet::ops::gpu
