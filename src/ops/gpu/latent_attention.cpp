// Launches for the rows of multi-head latent attention.
#include "kernels/arguments.h"
#include "ops/gpu/entries.h"
#include "ops/gpu/gpu_device.h"

namespace octet::ops::gpu {
namespace {

constexpr unsigned kThreads = 256;

kernels::LatentShape shape_of(const MlaShape& shape) {
  return {static_cast<int>(shape.seq_len), static_cast<int>(shape.heads), static_cast<int>(shape.nope_dim),
          static_cast<int>(shape.rope_dim), static_cast<int>(shape.value_dim)};
}

LaunchShape block_a_row(const MlaShape& shape) {
  return {.blocks_x = blocks_for(shape.rows, 1), .threads = kThreads};
}

}  // namespace

void mla_assemble(Device& device, const MlaAssemble& op, Workspace) {
  if (op.shape.rows == 0) return;
  const bool aligned = rows_aligned(op.q, op.q_stride) && rows_aligned(op.k_rope, op.k_rope_stride) &&
                       is_aligned(op.kv) && is_aligned(op.qkv);
  gpu(device).launch("assemble_latent", block_a_row(op.shape),
                     kernels::AssembleLatent{op.q, op.kv, op.k_rope, op.cos_sin, op.qkv, op.q_stride, op.k_rope_stride,
                                             shape_of(op.shape), aligned});
}

void mla_assemble_backward(Device& device, const MlaAssembleBackward& op, Workspace) {
  if (op.shape.rows == 0) return;
  const bool aligned = rows_aligned(op.dq, op.q_stride) && rows_aligned(op.dk_rope, op.k_rope_stride) &&
                       is_aligned(op.dkv) && is_aligned(op.dqkv);
  gpu(device).launch("assemble_latent_backward", block_a_row(op.shape),
                     kernels::AssembleLatentBackward{op.dqkv, op.cos_sin, op.dq, op.dkv, op.dk_rope, op.q_stride,
                                                     op.k_rope_stride, shape_of(op.shape), aligned});
}

}  // namespace octet::ops::gpu
