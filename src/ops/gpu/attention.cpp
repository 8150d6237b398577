// Attention: the vendor's library where the device has one that knows the shape, own kernels elsewhere.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>

#include "core/error.h"
#include "kernels/arguments.h"
#include "kernels/attention_layout.h"
#include "ops/gpu/entries.h"
#include "ops/gpu/gpu_backend.h"
#include "ops/gpu/gpu_device.h"

namespace octet::ops::gpu {
namespace {

using kernels::AttentionTiles;
using octet::gpu::AttentionLibrary;

/// Heads that are fetched 16 bytes at a time.
bool has_vectors(const AttentionShape& shape) {
  return shape.head_dim % 8 == 0 && shape.value_dim % 8 == 0;
}

template <typename... Pointers>
bool all_aligned(Pointers... pointers) {
  return (... && (reinterpret_cast<std::uintptr_t>(pointers) % 16 == 0));
}

void check_shape(const AttentionShape& shape) {
  const Index longest = std::max(shape.head_dim, shape.value_dim);
  if (longest > kernels::kLongestHead) {
    throw UserError("attention on the GPU holds heads of at most {} elements, not of {}: lower model.head_dim",
                    kernels::kLongestHead, longest);
  }
  check(shape.heads % shape.kv_heads == 0, "query heads are shared out evenly among key heads");
  check(shape.seq_len <= std::numeric_limits<int>::max() && shape.batch <= std::numeric_limits<int>::max(),
        "sequences are counted in 32 bits");
}

octet::gpu::AttentionShape library_shape(const AttentionShape& shape, float scale) {
  return {shape.batch, shape.seq_len, shape.heads, shape.kv_heads, shape.head_dim, shape.value_dim, scale};
}

/// The library, where it may know the op. It needs vectors, no version knows sequences of a single token in both
/// directions, and none is asked for documents: own kernels skip what lies outside of them.
template <typename Op>
AttentionLibrary* candidate(const Device& device, const Op& op) {
  return has_vectors(op.shape) && op.shape.seq_len > 1 && !op.documents.packed ? gpu(device).attention() : nullptr;
}

/// The library, where it computes the op; null where own kernels do. In a plan, pointers are null, which are aligned.
AttentionLibrary* library_for(const Device& device, const AttentionForward& op) {
  AttentionLibrary* library = candidate(device, op);
  if (library == nullptr || !all_aligned(op.qkv, op.out)) return nullptr;
  return library->forward_workspace(library_shape(op.shape, op.scale)) ? library : nullptr;
}

AttentionLibrary* library_for(const Device& device, const AttentionBackward& op) {
  AttentionLibrary* library = candidate(device, op);
  if (library == nullptr || !all_aligned(op.qkv, op.out, op.dout, op.dqkv)) return nullptr;
  return library->backward_workspace(library_shape(op.shape, op.scale)) ? library : nullptr;
}

kernels::AttentionSizes sizes_of(const AttentionShape& shape, float scale) {
  return {shape.qkv_cols(),
          shape.out_cols(),
          static_cast<int>(shape.batch),
          static_cast<int>(shape.seq_len),
          static_cast<int>(shape.heads),
          static_cast<int>(shape.kv_heads),
          static_cast<int>(shape.head_dim),
          static_cast<int>(shape.value_dim),
          scale};
}

/// The instance's kernel of that name: see kernels/attention.h.
std::string instance(std::string_view kernel, const AttentionTiles& tiles) {
  return fmt::format("{}_{}_{}", kernel, tiles.head_dim, tiles.value_dim);
}

AttentionTiles tiles_of(const AttentionShape& shape) {
  return kernels::attention_tiles(static_cast<int>(shape.head_dim), static_cast<int>(shape.value_dim));
}

LaunchShape launch_shape(const Device& device, Index blocks, Index blocks_y, int shared_bytes) {
  check(blocks <= std::numeric_limits<int>::max(), "blocks are counted in 32 bits");
  const int warp_size = gpu(device).driver().facts().warp_size;
  return {.blocks_x = static_cast<unsigned>(blocks),
          .blocks_y = static_cast<unsigned>(blocks_y),
          .threads = static_cast<unsigned>(kernels::kAttentionWarps * warp_size),
          .shared_bytes = static_cast<unsigned>(shared_bytes)};
}

int block_memory(const Device& device) {
  return static_cast<int>(gpu(device).shared_bytes());
}

Index ceil_divide(Index a, Index b) {
  return (a + b - 1) / b;
}

/// One block for each 64 rows of each of `heads` heads of every sequence.
Index tiled_blocks(const AttentionShape& shape, Index heads) {
  return shape.batch * heads * ceil_divide(shape.seq_len, kernels::kOwnedRows);
}

/// One warp for each row of each of `heads` heads of every sequence.
Index plain_blocks(const AttentionShape& shape, Index heads) {
  return ceil_divide(shape.rows() * heads, kernels::kAttentionWarps);
}

void run_own_forward(const Device& device, const AttentionForward& op) {
  const AttentionShape& shape = op.shape;
  const kernels::AttentionForward arguments{op.qkv, op.out, op.lse, op.documents.start, sizes_of(shape, op.scale)};
  if (!has_vectors(shape) || !all_aligned(op.qkv, op.out)) {
    const LaunchShape launch = launch_shape(device, plain_blocks(shape, shape.heads), 1, 0);
    return gpu(device).launch("attention_forward_plain", launch, arguments);
  }
  const AttentionTiles tiles = tiles_of(shape);
  const int bytes = kernels::forward_shared_bytes(tiles, block_memory(device));
  const LaunchShape launch = launch_shape(device, tiled_blocks(shape, shape.heads), 1, bytes);
  gpu(device).launch(instance("attention_forward", tiles), launch, arguments);
}

/// Launches that need delta, the scratch of own kernels: f32 [B, H, S].
void run_own_backward(const Device& device, const AttentionBackward& op, float* delta) {
  const AttentionShape& shape = op.shape;
  const bool tiled = has_vectors(shape) && all_aligned(op.qkv, op.out, op.dout, op.dqkv);
  const kernels::AttentionBackward arguments{
      op.qkv, op.out, op.dout, op.lse, delta, op.dqkv, op.documents.start, sizes_of(shape, op.scale), tiled};
  const Index warp_size = gpu(device).driver().facts().warp_size;
  const auto threads_a_head =
      static_cast<Index>(std::bit_ceil(static_cast<std::uint64_t>(ceil_divide(shape.value_dim, 8))));
  const Index delta_blocks =
      ceil_divide(shape.rows() * shape.heads * threads_a_head, kernels::kAttentionWarps * warp_size);
  gpu(device).launch("attention_delta", launch_shape(device, delta_blocks, 1, 0), arguments);
  if (!tiled) {
    gpu(device).launch("attention_backward_keys_plain", launch_shape(device, plain_blocks(shape, shape.kv_heads), 1, 0),
                       arguments);
    gpu(device).launch("attention_backward_queries_plain", launch_shape(device, plain_blocks(shape, shape.heads), 1, 0),
                       arguments);
    return;
  }
  const AttentionTiles tiles = tiles_of(shape);
  const int bytes = kernels::backward_shared_bytes(tiles, block_memory(device));
  gpu(device).launch(instance("attention_backward_keys", tiles),
                     launch_shape(device, tiled_blocks(shape, shape.kv_heads), tiles.key_parts, bytes), arguments);
  gpu(device).launch(instance("attention_backward_queries", tiles),
                     launch_shape(device, tiled_blocks(shape, shape.heads), 1, bytes), arguments);
}

}  // namespace

std::size_t attention_forward_workspace(const Device& device, const AttentionForward& op) {
  check_shape(op.shape);
  if (op.shape.rows() == 0) return 0;
  AttentionLibrary* library = library_for(device, op);
  if (library == nullptr) return 0;
  return library->forward_workspace(library_shape(op.shape, op.scale)).value_or(0);
}

void attention_forward(Device& device, const AttentionForward& op, Workspace workspace) {
  check_shape(op.shape);
  if (op.shape.rows() == 0) return;
  AttentionLibrary* library = library_for(device, op);
  if (library == nullptr) return run_own_forward(device, op);
  library->forward(library_shape(op.shape, op.scale), {op.qkv, op.out, op.lse}, workspace.data());
  gpu(device).count_launch();
}

std::size_t attention_backward_workspace(const Device& device, const AttentionBackward& op) {
  check_shape(op.shape);
  if (op.shape.rows() == 0) return 0;
  WorkspaceCutter cutter;
  (void)cutter.take<float>(op.shape.rows() * op.shape.heads);  // delta, if own kernels run
  AttentionLibrary* library = library_for(device, op);
  if (library == nullptr) return cutter.used();
  return std::max(cutter.used(), library->backward_workspace(library_shape(op.shape, op.scale)).value_or(0));
}

void attention_backward(Device& device, const AttentionBackward& op, Workspace workspace) {
  check_shape(op.shape);
  if (op.shape.rows() == 0) return;
  AttentionLibrary* library = library_for(device, op);
  if (library == nullptr) return run_own_backward(device, op, reinterpret_cast<float*>(workspace.data()));
  library->backward(library_shape(op.shape, op.scale), {op.qkv, op.out, op.dout, op.lse, op.dqkv}, workspace.data());
  gpu(device).count_launch();
}

}  // namespace octet::ops::gpu

namespace octet::ops {

bool library_computes(const Backend& backend, const AttentionForward& op) {
  return gpu::library_for(backend.device(), op) != nullptr;
}

bool library_computes(const Backend& backend, const AttentionBackward& op) {
  return gpu::library_for(backend.device(), op) != nullptr;
}

}  // namespace octet::ops
