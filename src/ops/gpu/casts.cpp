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

struct RowPlan {
  RowLaunch launch;
  bf16* partials;
};

/// Rows that no block holds are measured by column in a launch of its own, whose blocks_y share the rows.
RowLaunch column_launch(const Device& device, Index rows, Index cols) {
  constexpr unsigned kThreads = 256;
  const unsigned x = blocks_for(cols, 8 * kThreads);
  const Index wanted = std::max<Index>(1, Index{gpu(device).multiprocessors()} * 8 / x);
  return {1, {.blocks_x = x, .blocks_y = static_cast<unsigned>(std::min(rows, wanted)), .threads = kThreads}};
}

RowPlan plan(const Device& device, const QuantizeRows& op, WorkspaceCutter& cutter) {
  if (op.cols <= kLongestRow) {
    const RowLaunch launch = row_launch(device, {op.rows, op.cols, op.columns.wanted ? 1 : 0});
    return {launch, column_partials(cutter, op.columns, launch.blocks(), op.cols)};
  }
  const RowLaunch launch = column_launch(device, op.rows, op.cols);
  return {launch, column_partials(cutter, op.columns, launch.shape.blocks_y, op.cols)};
}

kernels::QuantizeRows arguments(const QuantizeRows& op, bf16* partials) {
  return {op.x, measured(op.codes, partials), op.rows, static_cast<int>(op.cols),
          rows_aligned(op.x, op.cols) && is_aligned(op.codes.codes)};
}

void quantize_long_rows(const GpuDevice& device, const QuantizeRows& op, const RowPlan& p) {
  if (op.codes.codes != nullptr || op.codes.amax != nullptr) {
    device.launch("quantize_long_rows_" + std::string(fp8::name(op.codes.rule.format())),
                  {.blocks_x = blocks_for(op.rows, 1), .threads = 1024}, arguments(op, p.partials));
  }
  if (!op.columns.wanted) return;
  device.launch("column_maxima", p.launch.shape, arguments(op, p.partials));
  fold_columns(device, p.partials, op.columns.amax, p.launch.shape.blocks_y, op.cols);
}

/// Maxima are what is left of the pass where nobody wants codes.
QuantizeRows without_codes(const Maxima& op) {
  return {op.x, {.amax = op.row_amax}, {op.column_amax, true}, op.rows, op.cols};
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
  gpu(device).launch(row_kernel("quantize_rows", op.codes.rule.format(), p.launch), p.launch.shape,
                     arguments(op, p.partials));
  fold_columns(gpu(device), p.partials, op.columns, p.launch, op.cols);
}

std::size_t maxima_workspace(const Device& device, const Maxima& op) {
  return quantize_rows_workspace(device, without_codes(op));
}

void maxima(Device& device, const Maxima& op, Workspace workspace) {
  quantize_rows(device, without_codes(op), workspace);
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
  gpu(device).launch(kernel,
                     {.blocks_x = blocks_for(op.cols, kTileCols),
                      .blocks_y = std::min(65535U, blocks_for(op.rows, kTileRows)),
                      .threads = 256},
                     kernels::CastTiles{op.x, row_scales, column_scales, op.as_stored.codes, op.transposed.codes,
                                        op.rows, static_cast<int>(op.cols), op.as_stored.axis == ScaleAxis::row,
                                        op.transposed.axis == ScaleAxis::row,
                                        rows_aligned(op.x, op.cols) && is_aligned(op.as_stored.codes),
                                        rows_aligned(op.transposed.codes, op.rows)});
}

}  // namespace octet::ops::gpu
