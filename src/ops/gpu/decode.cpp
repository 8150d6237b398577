// Launches of decoding.
#include "kernels/arguments.h"
#include "ops/gpu/entries.h"
#include "ops/gpu/gpu_device.h"

namespace octet::ops::gpu {
namespace {

constexpr unsigned kDecodeThreads = 256;  // what kernels/decode.cu counts on

float* plan(const AttentionDecode& op, WorkspaceCutter& cutter) {
  return cutter.take<float>(op.batch * op.heads * op.capacity);
}

}  // namespace

void append_to_cache(Device& device, const AppendToCache& op, Workspace) {
  gpu(device).launch(
      "append_to_cache", {.blocks_x = blocks_for(op.batch * op.seq_len, 1), .threads = 256},
      kernels::AppendToCache{op.qkv, op.cache_k, op.cache_v, op.position, op.capacity, op.seq_len,
                             static_cast<int>(op.heads * op.head_dim), static_cast<int>(op.kv_heads * op.head_dim),
                             static_cast<int>(op.kv_heads * op.value_dim)});
}

std::size_t attention_decode_workspace(const Device&, const AttentionDecode& op) {
  WorkspaceCutter cutter;
  (void)plan(op, cutter);
  return cutter.used();
}

void attention_decode(Device& device, const AttentionDecode& op, Workspace workspace) {
  WorkspaceCutter cutter(workspace);
  gpu(device).launch("attention_decode", {.blocks_x = blocks_for(op.batch * op.heads, 1), .threads = kDecodeThreads},
                     kernels::AttentionDecode{op.qkv, op.cache_k, op.cache_v, op.out, plan(op, cutter), op.length,
                                              op.capacity, static_cast<int>(op.heads), static_cast<int>(op.kv_heads),
                                              static_cast<int>(op.head_dim), static_cast<int>(op.value_dim), op.scale});
}

}  // namespace octet::ops::gpu
