// The shape of a DeepSeek-V3 model, or of a Qwen3 model with a mixture of experts, and the sizes that follow from it.
#pragma once

#include <cstdint>
#include <optional>

#include "ops/moe_ops.h"
#include "ops/rope_table.h"

namespace octet {

struct MoeConfig {
  ops::RouterRule rule;
  std::int64_t ffn_dim = 0;         ///< F of a routed expert
  std::int64_t shared_experts = 0;  ///< computed as one that is so many times as wide
  float bias_rate = 0;              ///< 0: experts are chosen without bias
  float balance_weight = 0;         ///< of the sequence-wise balance loss; 0: none

  [[nodiscard]] std::int64_t shared_ffn_dim() const { return shared_experts * ffn_dim; }
};

struct DeepSeekConfig {
  std::int64_t vocab = 0;
  std::int64_t dim = 0;
  std::int64_t layers = 0;
  std::int64_t dense_layers = 0;  ///< the first ones
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;     ///< of grouped-query attention, as in Qwen3, whose heads are of rope_dim; 0: latent
  std::int64_t q_lora_rank = 0;  ///< 0: queries are made directly
  std::int64_t kv_lora_rank = 0;
  std::int64_t nope_dim = 0, rope_dim = 0, value_dim = 0;  ///< of a head
  std::int64_t ffn_dim = 0;                                ///< of dense layers
  MoeConfig moe;
  std::int64_t mtp_depth = 0;  ///< further tokens that are predicted
  float mtp_weight = 0.3F;     ///< of the mean of their losses beside the main one
  double rope_theta = 10000;
  std::optional<ops::YarnScaling> yarn;
  float norm_eps = 1e-6F;
  double init_std = 0.02;

  [[nodiscard]] bool has_latent_attention() const { return kv_heads == 0; }
  [[nodiscard]] std::int64_t qk_dim() const { return nope_dim + rope_dim; }
  [[nodiscard]] std::int64_t q_cols() const { return heads * qk_dim(); }
  [[nodiscard]] std::int64_t kv_cols() const { return heads * (nope_dim + value_dim); }
  [[nodiscard]] std::int64_t out_cols() const { return heads * value_dim; }
  /// Of the product that all of attention's input goes through first: the queries' latent (or the queries), the latent
  /// of keys and values, the shared rotated part of the key.
  [[nodiscard]] std::int64_t q_down_cols() const { return q_lora_rank > 0 ? q_lora_rank : q_cols(); }
  [[nodiscard]] std::int64_t down_cols() const { return q_down_cols() + kv_lora_rank + rope_dim; }
  /// Of the product that makes queries, keys and values in grouped-query attention.
  [[nodiscard]] std::int64_t qkv_cols() const { return (heads + 2 * kv_heads) * rope_dim; }
  [[nodiscard]] bool is_dense(std::int64_t layer) const { return layer < dense_layers; }

  /// Weights of matrix products that a token meets: of experts, those it is routed to.
  [[nodiscard]] std::int64_t matmul_parameters() const {
    const std::int64_t inputs = has_latent_attention()
                                    ? down_cols() * dim + q_lora_rank * q_cols() + kv_lora_rank * kv_cols()
                                    : qkv_cols() * dim;
    const std::int64_t attention = inputs + out_cols() * dim;
    const std::int64_t experts = moe.rule.experts * dim + 3 * dim * moe.ffn_dim * (moe.rule.top_k + moe.shared_experts);
    const std::int64_t dense = 3 * dim * ffn_dim;
    const std::int64_t last = is_dense(layers) ? dense : experts;
    return layers * attention + dense_layers * dense + (layers - dense_layers) * experts + vocab * dim +
           mtp_depth * (attention + last + 2 * dim * dim + vocab * dim);
  }
  /// As LlamaConfig::flops_per_token(), where a score takes qk_dim products and a weighted value value_dim.
  [[nodiscard]] double flops_per_token(std::int64_t seq_len) const {
    return 6.0 * static_cast<double>(matmul_parameters()) +
           6.0 * static_cast<double>((layers + mtp_depth) * heads * (qk_dim() + value_dim)) *
               static_cast<double>(seq_len);
  }
};

}  // namespace octet
