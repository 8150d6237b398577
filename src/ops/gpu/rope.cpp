// Launches of rotary positions.
#include <algorithm>
#include <array>
#include <bit>

#include "kernels/arguments.h"
#include "ops/gpu/entries.h"
#include "ops/gpu/measured.h"

namespace octet::ops::gpu {
namespace {

constexpr std::array<RowTile, 3> kTiles{{{1024, 1, 1024}, {2048, 2, 1152}, {kLongestRow, 4, 1024}}};
/// Fewer blocks, as each leaves a row of column maxima.
constexpr std::array<RowTile, 2> kMeasuredTiles{{{1024, 1, 1024, 1024}, {kLongestRow, 4, 1024, 1024}}};

/// Columns that the op reads.
Index read_cols(const Rope& op) {
  return op.reads_whole_rows() ? op.row_stride : op.heads * op.head_dim;
}

/// Whether blocks can hold the rows, and warps whole heads: a power of two of vectors of eight elements, in each half.
/// Sizes and, when it comes to run, addresses decide.
bool in_registers(const Device& device, const Rope& op) {
  const Index half_vectors = op.head_dim / 16;
  return op.head_dim % 16 == 0 && std::has_single_bit(static_cast<std::uint64_t>(half_vectors)) &&
         2 * half_vectors <= gpu(device).warp_size() && read_cols(op) <= kLongestRow &&
         rows_aligned(op.qkv, op.row_stride) && is_aligned(op.cos_sin) && is_aligned(op.codes.codes);
}

struct Plan {
  RowLaunch launch;
  bf16* partials;
};

Plan plan(const Device& device, const Rope& op, WorkspaceCutter& cutter) {
  const RowLaunch launch =
      row_launch(device, {.rows = op.rows,
                          .cols = read_cols(op),
                          .tiles = op.reads_whole_rows() ? std::span<const RowTile>(kMeasuredTiles) : kTiles,
                          .column_folds = 1,
                          .unused_folds = op.columns.wanted ? 0 : 1,
                          .rows_ahead = 1});
  return {launch, column_partials(cutter, op.columns, launch.blocks(), op.row_stride)};
}

/// The rest of an op whose rows were turned in a launch of its own.
QuantizeRows row_cast(const Rope& op) {
  return {op.qkv, op.codes, op.columns, op.rows, op.row_stride};
}

kernels::Rope arguments(const Rope& op, const kernels::Measured& measured, bool aligned, bool ahead) {
  return {op.qkv,
          op.cos_sin,
          measured,
          op.rows,
          op.row_stride,
          op.offset,
          static_cast<int>(op.seq_len),
          static_cast<int>(read_cols(op)),
          static_cast<int>(op.heads),
          static_cast<int>(op.head_dim / 2),
          op.inverse ? -1.0F : 1.0F,
          aligned,
          ahead};
}

void turn_rows(Device& device, const Rope& op, Workspace workspace) {
  WorkspaceCutter cutter(workspace);
  const auto [launch, partials] = plan(device, op, cutter);
  gpu(device).launch(row_kernel(device, "rope_rows", op.codes, launch), launch.shape,
                     arguments(op, measured(op.codes, partials), true, launch.ahead));
  fold_columns(gpu(device), partials, op.columns, launch, op.row_stride);
}

/// Rows of any shape, of which nothing is left but themselves.
void turn_pairs(Device& device, const Rope& op) {
  const Index half = op.head_dim / 2;
  if (op.heads * half == 0) return;
  const bool aligned = half % 8 == 0 && rows_aligned(op.qkv, op.row_stride) && is_aligned(op.cos_sin);
  const unsigned threads = threads_for(device, op.heads * half / (aligned ? 8 : 1), 512);
  gpu(device).launch("rope", {.blocks_x = blocks_for(op.rows, 1), .threads = threads},
                     arguments(op, measured({}, nullptr), aligned, false));
}

}  // namespace

std::size_t rope_workspace(const Device& device, const Rope& op) {
  if (!op.reads_whole_rows()) return 0;
  WorkspaceCutter cutter;
  if (in_registers(device, op)) (void)plan(device, op, cutter);
  return std::max(cutter.used(), quantize_rows_workspace(device, row_cast(op)));
}

void rope(Device& device, const Rope& op, Workspace workspace) {
  if (in_registers(device, op)) return turn_rows(device, op, workspace);
  turn_pairs(device, op);
  if (op.reads_whole_rows()) quantize_rows(device, row_cast(op), workspace);
}

}  // namespace octet::ops::gpu
