// Entries of the norms of query and key heads.
#include <cstring>
#include <optional>

#include "ops/cpu/cpu_device.h"
#include "ops/cpu/measured_rows.h"

namespace octet::ops::cpu {
namespace {

std::size_t partials_bytes(const HeadNormShape& shape) {
  return padded(static_cast<std::size_t>(kColumnPartials * 2 * shape.head_dim) * sizeof(float));
}

}  // namespace

void run_head_norm_rope(Device& device, const HeadNormRope& op, Workspace) {
  run_rows<&RowKernels::head_norm_rope>(device, op, op.shape.rows, op.shape.cols() * 4);
}

std::size_t head_norm_rope_backward_workspace(const Device& device, const HeadNormRopeBackward& op) {
  return partials_bytes(op.shape) + (op.columns.wanted ? ColumnFold::workspace(device, op.shape.cols()) : 0);
}

/// As RMSNorm's backward: ranges of rows that depend on their number alone, so that the sums have the same bits for any
/// number of threads.
void run_head_norm_rope_backward(Device& device, const HeadNormRopeBackward& op, Workspace workspace) {
  const CpuDevice& self = cpu(device);
  const Index weights = 2 * op.shape.head_dim;
  auto* partials = reinterpret_cast<float*>(workspace.data());
  std::memset(partials, 0, partials_bytes(op.shape));
  std::optional<ColumnFold> fold;
  if (op.columns.amax != nullptr) fold.emplace(self, workspace.subspan(partials_bytes(op.shape)), op.shape.cols());
  const Index rows_per_partial = (op.shape.rows + kColumnPartials - 1) / kColumnPartials;
  self.pool().run(kColumnPartials, [&](Index partial, int thread) {
    const Index begin = std::min(op.shape.rows, partial * rows_per_partial);
    const Index end = std::min(op.shape.rows, begin + rows_per_partial);
    self.kernels().head_norm_rope_backward(op, begin, end, partials + partial * weights,
                                           fold ? fold->of_thread(thread) : nullptr);
  });
  if (fold) fold->write(op.columns.amax);
  self.kernels().column_sums(partials, kColumnPartials, weights, op.dweights, 0, weights);
}

}  // namespace octet::ops::cpu
