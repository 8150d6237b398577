// Matrix products on the GPU: the vendor's library, with both sides' scales in one form.
#include "kernels/arguments.h"
#include "ops/gpu/entries.h"
#include "ops/gpu/gpu_device.h"

namespace octet::ops::gpu {
namespace {

/// The library wants one form on both sides: where one has a scale per row, one scale of the other is repeated.
struct GemmPlan {
  std::byte* library;
  float* repeated;
};

bool repeats(const Gemm& op) {
  return op.is_fp8() && op.a.axis != op.b.axis;
}

GemmPlan plan(const Device& device, const Gemm& op, WorkspaceCutter& cutter) {
  auto* library = cutter.take<std::byte>(static_cast<Index>(gpu(device).products().workspace_bytes()));
  return {library, repeats(op) ? cutter.take<float>(std::max(op.m, op.n)) : nullptr};
}

octet::gpu::ProductOperand operand(const GemmOperand& side) {
  return {side.data, side.scale_inverse, side.dtype, side.axis, side.transposed};
}

}  // namespace

std::size_t gemm_workspace(const Device& device, const Gemm& op) {
  WorkspaceCutter cutter;
  (void)plan(device, op, cutter);
  return cutter.used();
}

void gemm(Device& device, const Gemm& op, Workspace workspace) {
  if (op.m == 0 || op.n == 0) return;
  WorkspaceCutter cutter(workspace);
  const auto [library, repeated] = plan(device, op, cutter);
  octet::gpu::Product product{.a = operand(op.a),
                              .b = operand(op.b),
                              .d = op.d,
                              .d_dtype = op.d_dtype,
                              .m = op.m,
                              .n = op.n,
                              .k = op.k,
                              .accumulate = op.accumulate,
                              .accumulation = op.accumulation};
  if (repeats(op)) {
    const bool a_is_one = op.a.axis == ScaleAxis::tensor;
    octet::gpu::ProductOperand& one = a_is_one ? product.a : product.b;
    const Index count = a_is_one ? op.m : op.n;
    gpu(device).launch("repeat_scale", {.blocks_x = blocks_for(count, 256), .threads = 256},
                       kernels::RepeatScale{one.scale_inverse, repeated, count});
    one.scale_inverse = repeated;
    one.axis = ScaleAxis::row;
  }
  gpu(device).products().run(product, library);
  gpu(device).count_launch();
}

}  // namespace octet::ops::gpu
