// The CPU as a device: threads, kernels of the chosen instruction set, matrix products.
#pragma once

#include <vector>

#include "core/thread_pool.h"
#include "ops/backend.h"
#include "ops/cpu/row_kernels.h"
#include "ops/cpu/tile_product.h"

namespace octet::ops::cpu {

class CpuDevice final : public Device {
 public:
  CpuDevice(int threads, CpuIsa isa);

  [[nodiscard]] std::string description() const override;
  [[nodiscard]] std::vector<fp8::FormatFamily> families() const override;
  [[nodiscard]] ArenaAllocator allocator() override;

  [[nodiscard]] int threads() const { return pool_.threads(); }
  /// Logically const, like the products: work that runs on it does not change the device.
  [[nodiscard]] ThreadPool& pool() const { return pool_; }
  [[nodiscard]] const RowKernels& kernels() const { return *kernels_; }
  [[nodiscard]] TileProducts& products() const { return products_; }

 private:
  mutable ThreadPool pool_;
  CpuIsa isa_;
  const RowKernels* kernels_;
  mutable TileProducts products_;
};

[[nodiscard]] inline const CpuDevice& cpu(const Device& device) {
  return static_cast<const CpuDevice&>(device);
}

// Entries that span a file of their own: each has the op's run and workspace functions. Those of a mixture of experts
// are in moe_entries.h.
void run_quantize_rows(Device& device, const QuantizeRows& op, Workspace workspace);
[[nodiscard]] std::size_t quantize_rows_workspace(const Device& device, const QuantizeRows& op);
void run_maxima(Device& device, const Maxima& op, Workspace workspace);
[[nodiscard]] std::size_t maxima_workspace(const Device& device, const Maxima& op);
void run_cast(Device& device, const Cast& op, Workspace workspace);
[[nodiscard]] std::size_t cast_workspace(const Device& device, const Cast& op);
void run_cast_statistics(Device& device, const CastStatistics& op, Workspace workspace);
void run_gemm(Device& device, const Gemm& op, Workspace workspace);
[[nodiscard]] std::size_t gemm_workspace(const Device& device, const Gemm& op);
void run_attention_forward(Device& device, const AttentionForward& op, Workspace workspace);
[[nodiscard]] std::size_t attention_forward_workspace(const Device& device, const AttentionForward& op);
void run_attention_backward(Device& device, const AttentionBackward& op, Workspace workspace);
[[nodiscard]] std::size_t attention_backward_workspace(const Device& device, const AttentionBackward& op);
void run_mla_assemble(Device& device, const MlaAssemble& op, Workspace workspace);
void run_mla_assemble_backward(Device& device, const MlaAssembleBackward& op, Workspace workspace);
void run_head_norm_rope(Device& device, const HeadNormRope& op, Workspace workspace);
void run_head_norm_rope_backward(Device& device, const HeadNormRopeBackward& op, Workspace workspace);
[[nodiscard]] std::size_t head_norm_rope_backward_workspace(const Device& device, const HeadNormRopeBackward& op);
void run_add(Device& device, const Add& op, Workspace workspace);
void run_shift_tokens(Device& device, const ShiftTokens& op, Workspace workspace);

/// Cuts a workspace into aligned pieces, in the same order when measuring and when running.
class WorkspaceCutter {
 public:
  explicit WorkspaceCutter(std::byte* base) : base_(base) {}

  template <typename T>
  [[nodiscard]] T* take(std::int64_t count) {
    T* piece = base_ == nullptr ? nullptr : reinterpret_cast<T*>(base_ + used_);
    used_ += (static_cast<std::size_t>(count) * sizeof(T) + 63) / 64 * 64;
    return piece;
  }
  [[nodiscard]] std::size_t used() const { return used_; }

 private:
  std::byte* base_;
  std::size_t used_ = 0;
};

}  // namespace octet::ops::cpu
