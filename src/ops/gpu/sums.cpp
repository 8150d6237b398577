// Launches of sums of two tensors, and of tokens moved on by one.
#include <algorithm>

#include "kernels/arguments.h"
#include "ops/gpu/entries.h"
#include "ops/gpu/gpu_device.h"

namespace octet::ops::gpu {
namespace {

constexpr unsigned kThreads = 256;
constexpr unsigned kBlocksEach = 8;  // of a multiprocessor: all of its threads

}  // namespace

void add(Device& device, const Add& op, Workspace) {
  if (op.count == 0) return;
  const auto most = static_cast<unsigned>(gpu(device).multiprocessors()) * kBlocksEach;
  const unsigned blocks = std::min(most, blocks_for(op.count, 8 * kThreads));
  const bf16* b = op.has_b ? op.b : nullptr;
  const bool aligned = is_aligned(op.a) && is_aligned(b) && is_aligned(op.y);
  gpu(device).launch(op.dtype == DType::bf16 ? "add_bf16" : "add_f32", {.blocks_x = blocks, .threads = kThreads},
                     kernels::Add{op.a, b, op.y, op.count, aligned});
}

void shift_tokens(Device& device, const ShiftTokens& op, Workspace) {
  if (op.rows == 0) return;
  gpu(device).launch("shift_tokens", {.blocks_x = blocks_for(op.rows, kThreads), .threads = kThreads},
                     kernels::ShiftTokens{op.tokens, op.documents.start, op.shifted, op.rows, op.seq_len, op.last});
}

}  // namespace octet::ops::gpu
