// Casts and maxima on the CPU.
#include <atomic>

#include "ops/cpu/measured_rows.h"
#include "ops/cpu/row_scale.h"

namespace octet::ops::cpu {
namespace {

/// Writes the scales of a layout's rows, or the one of all, and their inverses.
void make_scales(const Cast& op, const CastLayout& layout, const bf16* amax_of_rows, Index outer, float* scales) {
  const auto make = [&](Index i, bf16 amax) {
    const RowScale scale = row_scale(op.rule, amax.bits);
    scales[i] = scale.scale;
    layout.scale_inverse[i] = scale.inverse;
  };
  if (layout.axis == ScaleAxis::row) {
    for (Index i = 0; i < outer; ++i) make(i, amax_of_rows[i]);
  } else if (layout.axis == ScaleAxis::tensor) {
    make(0, fp8::amax({op.column_amax, static_cast<std::size_t>(op.cols)}));
  }
}

std::size_t row_scales_bytes(const Cast& op) {
  return padded(static_cast<std::size_t>(op.rows + 1) * sizeof(float));
}

/// The layout of matrix `index` of several.
CastLayout layout_of(const CastLayout& layout, Index index, Index outer, Index elements) {
  if (!layout.wanted()) return layout;
  return {layout.codes + index * elements, layout.scale_inverse + index * (layout.axis == ScaleAxis::row ? outer : 1),
          layout.axis};
}

/// The cast of matrix `index` alone.
Cast matrix_of(const Cast& op, Index index) {
  Cast one = op;
  const Index elements = op.rows * op.cols;
  one.x += index * elements;
  if (op.row_amax != nullptr) one.row_amax += index * op.rows;
  if (op.column_amax != nullptr) one.column_amax += index * op.cols;
  one.as_stored = layout_of(op.as_stored, index, op.rows, elements);
  one.transposed = layout_of(op.transposed, index, op.cols, elements);
  one.matrices = 1;
  return one;
}

void cast_matrix(const CpuDevice& self, const Cast& op, Workspace workspace) {
  auto* row_scales = reinterpret_cast<float*>(workspace.data());
  auto* column_scales = reinterpret_cast<float*>(workspace.data() + row_scales_bytes(op));
  make_scales(op, op.as_stored, op.row_amax, op.rows, row_scales);
  make_scales(op, op.transposed, op.column_amax, op.cols, column_scales);
  if (op.transposed.wanted()) {
    parallel_ranges(self.pool(), op.cols, kColumnBlock, [&](Index begin, Index end) {
      self.kernels().cast_transposed(op, row_scales, column_scales, begin, end);
    });
  } else {
    parallel_ranges(self.pool(), op.rows, row_grain(op.cols * 3),
                    [&](Index begin, Index end) { self.kernels().cast_as_stored(op, row_scales, begin, end); });
  }
}

}  // namespace

std::size_t quantize_rows_workspace(const Device& device, const QuantizeRows& op) {
  return op.columns.wanted ? ColumnFold::workspace(device, op.cols) : 0;
}

void run_quantize_rows(Device& device, const QuantizeRows& op, Workspace workspace) {
  run_measured_rows<&RowKernels::quantize_rows>(device, op, workspace, op.rows, op.cols, op.cols * 3, op.columns.amax);
}

std::size_t maxima_workspace(const Device& device, const Maxima& op) {
  return ColumnFold::workspace(device, op.cols);
}

void run_maxima(Device& device, const Maxima& op, Workspace workspace) {
  measure_matrices<&RowKernels::maxima>(device, op, workspace, op.cols * 2, op.column_amax);
}

std::size_t cast_workspace(const Device&, const Cast& op) {
  return row_scales_bytes(op) + padded(static_cast<std::size_t>(op.cols + 1) * sizeof(float));
}

void run_cast(Device& device, const Cast& op, Workspace workspace) {
  for (Index i = 0; i < op.matrices; ++i) cast_matrix(cpu(device), matrix_of(op, i), workspace);
}

void run_cast_statistics(Device& device, const CastStatistics& op, Workspace) {
  const CpuDevice& self = cpu(device);
  std::atomic<std::uint64_t> saturated{0};  // counts, whose order does not matter
  std::atomic<std::uint64_t> overflowed{0};
  std::atomic<std::uint64_t> underflowed{0};
  parallel_ranges(self.pool(), op.rows, row_grain(op.cols * 2), [&](Index begin, Index end) {
    RowKernels::CastTally range;
    self.kernels().cast_statistics(op, begin, end, range);
    saturated += range.saturated;
    overflowed += range.overflowed;
    underflowed += range.underflowed;
  });
  *op.saturated += saturated;
  *op.overflowed += overflowed;
  *op.underflowed += underflowed;
}

}  // namespace octet::ops::cpu
