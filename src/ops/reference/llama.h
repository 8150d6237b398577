// A whole small Llama 3, or dense Qwen3, in double precision: forward, loss and backward over plain vectors, written
// after the paper (Grattafiori et al., "The Llama 3 herd of models", 2024; Qwen Team, "Qwen3 technical report", 2025)
// and slow on purpose.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "ops/reference/vectors.h"
#include "ops/rope_table.h"

namespace octet::ops::reference {

/// D = dim, F = ffn_dim, H = heads, KV = kv_heads, hd = head_dim, V = vocab.
struct LlamaConfig {
  Index layers, dim, heads, kv_heads, head_dim, ffn_dim, vocab;
  double norm_eps;
  double rope_theta;
  std::optional<RopeScaling> rope_scaling;
  bool tied;             ///< the head is the embedding table
  bool qk_norm = false;  ///< query and key heads are normed before they are rotated
};

/// Tensors by name:
///   tok_embeddings.weight [V, D]; norm.weight [D]; output.weight [V, D], absent when tied; and in each layers.N:
///   attention_norm.weight [D]; attention.wqkv.weight [(H + 2 KV) hd, D]: query, key, value rows;
///   attention.qk_norm.weight [2, hd], of queries and of keys, with qk_norm; attention.wo.weight [D, H hd];
///   ffn_norm.weight [D]; feed_forward.w13.weight [2F, D]: gate, up rows; feed_forward.w2.weight [D, F].
using Parameters = std::map<std::string, Vector>;

/// Every parameter of the model with its number of elements.
[[nodiscard]] std::map<std::string, Index> llama_parameter_sizes(const LlamaConfig& config);

/// Sequences of equal length, one after the other. A target below 0 is ignored.
struct LlamaBatch {
  Index batch, seq_len;
  std::vector<std::int32_t> tokens, targets;      // [batch * seq_len]
  std::vector<std::int32_t> document_start = {};  // as ops::Documents has them; empty where each sequence is one
};

struct LlamaStep {
  double loss = 0;       // mean over the targets that count
  Vector logits;         // [batch * seq_len, V]
  Parameters gradients;  // of the loss, one for every parameter
};

/// Throws Failure where a parameter is missing or has the wrong size, or where no target counts.
[[nodiscard]] LlamaStep llama_step(const LlamaConfig& config, const Parameters& parameters, const LlamaBatch& batch);

}  // namespace octet::ops::reference
