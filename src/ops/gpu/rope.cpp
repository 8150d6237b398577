// Launches of rotary positions.
#include "kernels/arguments.h"
#include "ops/gpu/entries.h"
#include "ops/gpu/gpu_device.h"

namespace octet::ops::gpu {

void rope(Device& device, const Rope& op, Workspace) {
  const Index half = op.head_dim / 2;
  if (op.heads * half == 0) return;
  const bool aligned = half % 8 == 0 && rows_aligned(op.qkv, op.row_stride) && is_aligned(op.cos_sin);
  const unsigned threads = threads_for(device, op.heads * half / (aligned ? 8 : 1), 512);
  gpu(device).launch(
      "rope", {.blocks_x = blocks_for(op.rows, 1), .threads = threads},
      kernels::Rope{op.qkv, op.cos_sin, op.rows, op.row_stride, op.seq_len, op.offset, static_cast<int>(op.heads),
                    static_cast<int>(half), op.inverse ? -1.0F : 1.0F, aligned});
}

}  // namespace octet::ops::gpu
