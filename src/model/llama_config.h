// The shape of a Llama 3 or a dense Qwen3 model and the sizes that follow from it.
#pragma once

#include <cstdint>
#include <optional>

#include "ops/rope_table.h"

namespace octet {

struct LlamaConfig {
  std::int64_t vocab = 0;
  std::int64_t dim = 0;
  std::int64_t layers = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t own_head_dim = 0;  ///< 0: dim / heads
  bool qk_norm = false;           ///< queries and keys are normed head by head, as in Qwen3
  std::int64_t ffn_dim = 0;
  double rope_theta = 500000;
  std::optional<ops::RopeScaling> rope_scaling;
  float norm_eps = 1e-5F;
  bool tied_embeddings = false;
  double init_std = 0.02;

  [[nodiscard]] std::int64_t head_dim() const { return own_head_dim > 0 ? own_head_dim : dim / heads; }
  [[nodiscard]] std::int64_t q_cols() const { return heads * head_dim(); }
  [[nodiscard]] std::int64_t qkv_cols() const { return (heads + 2 * kv_heads) * head_dim(); }

  /// Weights of matrix products per token: the embedding look-up is none, a tied table counts as the head.
  [[nodiscard]] std::int64_t matmul_parameters() const {
    const std::int64_t block = qkv_cols() * dim + dim * q_cols() + 3 * ffn_dim * dim;
    return layers * block + vocab * dim;
  }
  /// Training FLOPs per token, forward and backward, without recompute: 6 per matmul weight and
  /// 6 * layers * heads * (2 * head_dim) * seq_len for attention (no causal discount), as the field counts MFU.
  [[nodiscard]] double flops_per_token(std::int64_t seq_len) const {
    return 6.0 * static_cast<double>(matmul_parameters()) +
           12.0 * static_cast<double>(layers * heads * head_dim()) * static_cast<double>(seq_len);
  }
};

}  // namespace octet
