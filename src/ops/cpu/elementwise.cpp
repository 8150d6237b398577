// What is done element by element: sums of two tensors, tokens that move up in their sequences.
#include "ops/cpu/cpu_device.h"
#include "ops/cpu/parallel.h"

namespace octet::ops::cpu {
namespace {

constexpr Index kGrain = 1 << 15;

float widened(float x) {
  return x;
}
float widened(bf16 x) {
  return to_float(x);
}

template <typename T>
void add(const Add& op, Index begin, Index end) {
  const auto* a = static_cast<const T*>(op.a);
  for (Index i = begin; i < end; ++i) {
    op.y[i] = to_bf16(op.has_b ? widened(a[i]) + to_float(op.b[i]) : widened(a[i]));
  }
}

}  // namespace

void run_add(Device& device, const Add& op, Workspace) {
  parallel_ranges(cpu(device).pool(), op.count, kGrain, [&](Index begin, Index end) {
    op.dtype == DType::f32 ? add<float>(op, begin, end) : add<bf16>(op, begin, end);
  });
}

void run_shift_tokens(Device&, const ShiftTokens& op, Workspace) {
  for (Index row = 0; row < op.rows; ++row) {
    const Index next = (row + 1) % op.seq_len;
    const bool ends = next == 0 || (op.documents.packed && op.documents.start[row + 1] == next);
    op.shifted[row] = ends ? op.last : op.tokens[row + 1];
  }
}

}  // namespace octet::ops::cpu
