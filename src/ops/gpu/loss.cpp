// Launches of cross entropy.
#include "kernels/arguments.h"
#include "ops/gpu/entries.h"
#include "ops/gpu/gpu_device.h"

namespace octet::ops::gpu {

void cross_entropy(Device& device, const CrossEntropy& op, Workspace) {
  // One block of 1024 a multiprocessor: the rows that are under way fit into L2 until their second read.
  const unsigned threads = threads_for(device, (op.vocab + 7) / 8, 1024);
  gpu(device).launch("cross_entropy", {.blocks_x = blocks_for(op.rows, 1), .threads = threads},
                     kernels::CrossEntropy{op.logits, op.targets, op.loss, op.rows, static_cast<int>(op.vocab),
                                           op.gradient_scale, op.gradient, rows_aligned(op.logits, op.vocab)});
}

}  // namespace octet::ops::gpu
