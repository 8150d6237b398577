// Matrix products of routed rows, by the device's own kernels for them.
#include "gpu/grouped_products.h"

#include "ops/gpu/entries.h"
#include "ops/gpu/gpu_device.h"

namespace octet::ops::gpu {
namespace {

octet::gpu::GroupedOperand operand(const GemmOperand& side) {
  return {side.data, side.scale_inverse, side.dtype, side.transposed};
}

void run(const Device& device, const octet::gpu::GroupedProduct& product, Workspace workspace) {
  gpu(device).grouped_products().run(product, workspace.data());
  gpu(device).count_launch();
}

}  // namespace

std::size_t grouped_gemm_workspace(const Device& device, const GroupedGemm& op) {
  return gpu(device).grouped_products().workspace_bytes(op.groups.experts);
}

void grouped_gemm(Device& device, const GroupedGemm& op, Workspace workspace) {
  if (op.groups.rows == 0 || op.n == 0) return;
  run(device,
      {.a = operand(op.a),
       .b = operand(op.b),
       .d = op.d,
       .offsets = op.groups.offsets,
       .groups = op.groups.experts,
       .rows = op.groups.rows,
       .n = op.n,
       .k = op.k,
       .accumulation = op.accumulation},
      workspace);
}

std::size_t grouped_wgrad_workspace(const Device& device, const GroupedWgrad& op) {
  return gpu(device).grouped_products().workspace_bytes(op.groups.experts);
}

void grouped_wgrad(Device& device, const GroupedWgrad& op, Workspace workspace) {
  if (op.m == 0 || op.n == 0) return;
  const Groups& groups = op.groups;
  run(device,
      {.a = operand(op.a),
       .b = operand(op.b),
       .d = op.d,
       .d_dtype = op.d_dtype,
       .offsets = op.is_fp8() ? groups.padded_offsets : groups.offsets,
       .groups = groups.experts,
       .rows = op.is_fp8() ? padded_rows(groups.rows, groups.experts) : groups.rows,
       .m = op.m,
       .n = op.n,
       .by_contraction = true,
       .accumulate = op.accumulate,
       .accumulation = op.accumulation},
      workspace);
}

}  // namespace octet::ops::gpu
