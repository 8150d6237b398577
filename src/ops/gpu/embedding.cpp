// Launches of the embedding.
#include "kernels/arguments.h"
#include "ops/gpu/entries.h"
#include "ops/gpu/gpu_device.h"

namespace octet::ops::gpu {

void embedding_forward(Device& device, const EmbeddingForward& op, Workspace) {
  if (op.dim == 0) return;
  const bool aligned = rows_aligned(op.table, op.dim) && rows_aligned(op.out, op.dim);
  gpu(device).launch(
      "embedding_forward", {.blocks_x = blocks_for(op.rows, 1), .threads = threads_for(device, (op.dim + 7) / 8, 512)},
      kernels::EmbeddingForward{op.tokens, op.table, op.out, op.rows, static_cast<int>(op.dim), aligned});
}

void embedding_backward(Device& device, const EmbeddingBackward& op, Workspace) {
  // Few columns still get the threads that look through the tokens.
  const unsigned threads = std::max(128U, threads_for(device, (op.dim + 7) / 8, 512));
  const bool bf16_table = op.dtype == DType::bf16;
  const bool table_aligned = bf16_table ? rows_aligned(static_cast<const bf16*>(op.dtable), op.dim)
                                        : rows_aligned(static_cast<const float*>(op.dtable), op.dim);
  const bool aligned = rows_aligned(op.dy, op.dim) && table_aligned;
  gpu(device).launch(
      bf16_table ? "embedding_backward_bf16" : "embedding_backward_f32",
      {.blocks_x = blocks_for(op.rows, 1), .blocks_y = blocks_for(op.dim, 8 * threads), .threads = threads},
      kernels::EmbeddingBackward{op.tokens, op.dy, op.dtable, op.rows, static_cast<int>(op.dim), aligned});
}

}  // namespace octet::ops::gpu
