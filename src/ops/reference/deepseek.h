// A whole small DeepSeek-V3, or Qwen3 with a mixture of experts, in double precision: forward, loss and backward over
// plain vectors, written after the papers (DeepSeek-AI, "DeepSeek-V3 technical report", 2024; Qwen Team, "Qwen3
// technical report", 2025) and slow on purpose.
#pragma once

#include <optional>

#include "ops/moe_ops.h"
#include "ops/reference/llama.h"
#include "ops/rope_table.h"

namespace octet::ops::reference {

/// D = dim, H = heads, Rq = q_lora_rank (0: none), Rkv = kv_lora_rank, F = ffn_dim, Fe = expert_ffn_dim, E = experts,
/// V = vocab; qk = nope_dim + rope_dim.
struct DeepSeekConfig {
  Index layers, dense_layers, dim, heads, q_lora_rank, kv_lora_rank, nope_dim, rope_dim, value_dim;
  Index ffn_dim, expert_ffn_dim, shared_experts, vocab;
  RouterRule rule;
  double balance_weight;
  Index mtp_depth;    // further tokens that are predicted
  double mtp_weight;  // of the mean of their losses
  double norm_eps;
  double rope_theta;
  std::optional<YarnScaling> yarn;
  Index kv_heads = 0;  // not 0: grouped-query attention with normed heads of rope_dim, values of as many, no latents
};

/// Tensors by name:
///   tok_embeddings.weight [V, D]; norm.weight [D]; output.weight [V, D]; and in each layers.N:
///   attention_norm.weight [D]; attention.wqkv_a.weight [Rq + Rkv + rope, D], or with H qk in the place of Rq;
///   attention.q_norm.weight [Rq], attention.wq_b.weight [H qk, Rq], where Rq is not 0; attention.kv_norm.weight [Rkv];
///   attention.wkv_b.weight [H (nope + value), Rkv]; attention.wo.weight [D, H value]; ffn_norm.weight [D]; then
///   feed_forward.w13.weight [2F, D], feed_forward.w2.weight [D, F] in a dense layer, and in others
///   moe.gate.weight [E, D], moe.experts.w13.weight [E, 2Fe, D], moe.experts.w2.weight [E, D, Fe], and of shared
///   experts moe.shared_experts.w13.weight, moe.shared_experts.w2.weight, as of one that is so many times as wide; and
///   in each mtp.K: hnorm.weight [D], enorm.weight [D], proj_stream.weight [D, D], proj_token.weight [D, D], and a
///   block that has the parameters of a layer, mtp.K.block.
/// With kv_heads a layer's attention has, before wo, attention.wqkv.weight [(H + 2 KV) rope, D] and
/// attention.qk_norm.weight [2, rope] instead.
/// Here with their numbers of elements.
[[nodiscard]] std::map<std::string, Index> deepseek_parameter_sizes(const DeepSeekConfig& config);

/// The loss is that of the next token; gradients are of loss + balance_loss + mtp_weight * prediction_loss.
struct DeepSeekStep : LlamaStep {
  double balance_loss = 0;     // balance_weight times the layers' losses, each the mean over sequences
  double prediction_loss = 0;  // of further tokens: the mean over their depths, each over the targets of the first
  std::map<std::string, std::vector<std::int64_t>> load;  // [E] of each layers.N and mtp.K.block that has experts
  double least_margin = 0;                                // that any token's choice of experts rests on: see Routing
};

/// `biases` [E] of each layers.N; what is missing stands for zeros. Throws Failure where a parameter is missing or has
/// the wrong size, or where no target counts.
[[nodiscard]] DeepSeekStep deepseek_step(const DeepSeekConfig& config, const Parameters& parameters,
                                         const LlamaBatch& batch, const std::map<std::string, Vector>& biases = {});

}  // namespace octet::ops::reference
