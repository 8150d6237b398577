// AttentionLibrary: a vendor's kernels for causal attention, in the layout that the op table has.
//
// A row of qkv [batch * seq_len, (heads + kv_heads) * head_dim + kv_heads * value_dim] holds query heads, key heads and
// value heads; out and its gradient are [batch * seq_len, heads * value_dim]; lse is [batch, heads, seq_len]. All but
// lse, f32, are bf16.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "gpu/driver.h"
#include "gpu/vendor_library.h"

namespace octet::gpu {

struct AttentionShape {
  std::int64_t batch, seq_len, heads, kv_heads, head_dim, value_dim;
  float scale;  ///< of the scores

  auto operator<=>(const AttentionShape&) const = default;
};

struct AttentionForwardData {
  const void* qkv;
  void* out;
  float* lse;
};

struct AttentionBackwardData {
  const void* qkv;
  const void* out;
  const void* dout;
  const float* lse;
  void* dqkv;
};

/// Tensors start at multiples of 16 bytes, workspaces at multiples of 256. Work goes to the driver's stream, captured
/// or not.
class AttentionLibrary {
 public:
  AttentionLibrary() = default;
  AttentionLibrary(const AttentionLibrary&) = delete;
  AttentionLibrary& operator=(const AttentionLibrary&) = delete;
  virtual ~AttentionLibrary() = default;

  /// "cuDNN 9.19.0 (/usr/lib/libcudnn.so.9)", and the shapes that it refused, with its reason.
  [[nodiscard]] virtual std::string description() const = 0;

  /// Workspace bytes; nothing where the library has no kernel for the shape. Plans the shape when it is first asked
  /// for, which may take a second and must not happen during a capture. Failure where that goes wrong in another way.
  [[nodiscard]] virtual std::optional<std::size_t> forward_workspace(const AttentionShape& shape) = 0;
  [[nodiscard]] virtual std::optional<std::size_t> backward_workspace(const AttentionShape& shape) = 0;

  /// Of a shape that the library has a kernel for.
  virtual void forward(const AttentionShape& shape, const AttentionForwardData& data, void* workspace) = 0;
  virtual void backward(const AttentionShape& shape, const AttentionBackwardData& data, void* workspace) = 0;
};

struct FoundAttention {
  std::unique_ptr<AttentionLibrary> library;
  std::string problem;  ///< one line with the remedy where there is no library
};

/// cuDNN on an open CUDA driver, which must outlive it. With `deterministic`, backward gives the same bits on each run.
[[nodiscard]] FoundAttention find_cudnn_attention(const Driver& driver, bool deterministic);
/// What find_cudnn_attention would find.
[[nodiscard]] VendorLibrary survey_cudnn();

}  // namespace octet::gpu
