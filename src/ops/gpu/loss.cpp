// Launches of cross entropy.
#include <algorithm>

#include "kernels/arguments.h"
#include "ops/gpu/entries.h"
#include "ops/gpu/gpu_device.h"

namespace octet::ops::gpu {

void cross_entropy(Device& device, const CrossEntropy& op, Workspace) {
  // As many blocks as a multiprocessor runs by their registers. They stay, and share its memory.
  const unsigned threads = threads_for(device, (op.vocab + 7) / 8, 1024);
  const unsigned resident = 1024 / threads;
  const Index most = Index{gpu(device).multiprocessors()} * resident;
  const unsigned part = threads * 16;
  const auto room = static_cast<unsigned>((gpu(device).shared_bytes() / resident - kReservedShared) / part);
  const bool aligned = rows_aligned(op.logits, op.vocab);
  const unsigned held = aligned ? std::min(room, blocks_for(op.vocab, 8 * threads)) : 0;
  gpu(device).launch(
      "cross_entropy",
      {.blocks_x = static_cast<unsigned>(std::min(op.rows, most)), .threads = threads, .shared_bytes = held * part},
      kernels::CrossEntropy{op.logits, op.targets, op.loss, op.rows, static_cast<int>(op.vocab), op.gradient_scale,
                            static_cast<int>(held), op.gradient, aligned});
}

}  // namespace octet::ops::gpu
