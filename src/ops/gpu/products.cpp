// Matrix products on the GPU: the vendor's library, with both sides' scales in one form and FP8's rows in sixteens.
#include "kernels/arguments.h"
#include "ops/gpu/entries.h"
#include "ops/gpu/gpu_device.h"

namespace octet::ops::gpu {
namespace {

/// FP8 products come in sixteens of rows.
Index library_rows(const Gemm& op) {
  return op.is_fp8() ? (op.m + 15) / 16 * 16 : op.m;
}

/// Room for what the library wants in another form: where one side has a scale per row, one scale of the other is
/// repeated; where rows do not come in sixteens, as that of a single token, A and D lie where there are enough.
struct GemmPlan {
  std::byte* library;
  float* repeated;
  std::byte* a;     // null where A and D stay where they are, as the next two
  float* a_scales;  // null with one scale
  std::byte* d;
};

bool repeats(const Gemm& op) {
  return op.is_fp8() && op.a.axis != op.b.axis;
}

GemmPlan plan(const Device& device, const Gemm& op, WorkspaceCutter& cutter) {
  const Index rows = library_rows(op);
  GemmPlan pieces{};
  pieces.library = cutter.take<std::byte>(static_cast<Index>(gpu(device).products().workspace_bytes()));
  if (repeats(op)) pieces.repeated = cutter.take<float>(std::max(rows, op.n));
  if (rows == op.m) return pieces;
  pieces.a = cutter.take<std::byte>(rows * op.k);
  if (op.a.axis == ScaleAxis::row) pieces.a_scales = cutter.take<float>(rows);
  pieces.d = cutter.take<std::byte>(rows * op.n * static_cast<Index>(size_of(op.d_dtype)));
  return pieces;
}

void copy(const Device& device, void* to, const void* from, Index bytes) {
  gpu(device).driver().copy(to, from, static_cast<std::size_t>(bytes));
  gpu(device).count_launch();
}

/// What the rows of A beyond the op's hold is of no matter: each row of D comes from one of A.
void fill_up(const Device& device, const Gemm& op, const GemmPlan& pieces, octet::gpu::Product& product) {
  copy(device, pieces.a, op.a.data, op.m * op.k);
  product.a.data = pieces.a;
  if (pieces.a_scales != nullptr) {
    copy(device, pieces.a_scales, op.a.scale_inverse, op.m * static_cast<Index>(sizeof(float)));
    product.a.scale_inverse = pieces.a_scales;
  }
  product.d = pieces.d;
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
  const GemmPlan pieces = plan(device, op, cutter);
  octet::gpu::Product product{.a = operand(op.a),
                              .b = operand(op.b),
                              .d = op.d,
                              .d_dtype = op.d_dtype,
                              .m = library_rows(op),
                              .n = op.n,
                              .k = op.k,
                              .accumulate = op.accumulate,
                              .accumulation = op.accumulation};
  if (pieces.a != nullptr) fill_up(device, op, pieces, product);
  if (repeats(op)) {
    const bool a_is_one = op.a.axis == ScaleAxis::tensor;
    octet::gpu::ProductOperand& one = a_is_one ? product.a : product.b;
    const Index count = a_is_one ? product.m : op.n;
    gpu(device).launch("repeat_scale", {.blocks_x = blocks_for(count, 256), .threads = 256},
                       kernels::RepeatScale{one.scale_inverse, pieces.repeated, count});
    one.scale_inverse = pieces.repeated;
    one.axis = ScaleAxis::row;
  }
  gpu(device).products().run(product, pieces.library);
  gpu(device).count_launch();
  if (pieces.d != nullptr) copy(device, op.d, pieces.d, op.m * op.n * static_cast<Index>(size_of(op.d_dtype)));
}

}  // namespace octet::ops::gpu
