#include "model/small_deepseek.h"

#include <cmath>

#include "core/random.h"

namespace octet::test {

using ops::reference::Parameters;
using ops::reference::Vector;

DeepSeekConfig small_deepseek() {
  DeepSeekConfig config;
  config.vocab = 80;
  config.dim = 64;
  config.layers = 2;
  config.dense_layers = 1;
  config.heads = 4;
  config.q_lora_rank = 32;
  config.kv_lora_rank = 48;
  config.nope_dim = 32;
  config.rope_dim = 16;
  config.value_dim = 16;
  config.ffn_dim = 96;
  config.moe.rule = {.experts = 8, .top_k = 2, .groups = 4, .kept_groups = 2, .scale = 1.5F};
  config.moe.ffn_dim = 48;
  config.moe.shared_experts = 1;
  config.moe.bias_rate = 1e-3F;
  config.rope_theta = 100;
  config.norm_eps = 1e-5F;
  config.yarn = ops::YarnScaling{
      .factor = 4, .original_max_seq_len = 16, .beta_fast = 2, .beta_slow = 0.5, .mscale = 0.7, .mscale_all_dim = 1};
  return config;
}

DeepSeekConfig plain_deepseek() {
  DeepSeekConfig config = small_deepseek();
  config.dense_layers = 0;
  config.q_lora_rank = 0;
  config.moe.rule = {.experts = 8, .top_k = 3, .score = ops::RouterScore::softmax};
  config.moe.shared_experts = 0;
  config.moe.bias_rate = 0;
  config.yarn.reset();
  return config;
}

DeepSeekConfig small_qwen3_moe() {
  DeepSeekConfig config = plain_deepseek();
  config.dense_layers = 1;
  config.kv_heads = 2;
  config.kv_lora_rank = 0;
  config.nope_dim = 0;
  config.rope_dim = 32;
  config.value_dim = 32;
  return config;
}

ops::reference::DeepSeekConfig oracle_config(const DeepSeekConfig& config) {
  return {.layers = config.layers,
          .dense_layers = config.dense_layers,
          .dim = config.dim,
          .heads = config.heads,
          .q_lora_rank = config.q_lora_rank,
          .kv_lora_rank = config.kv_lora_rank,
          .nope_dim = config.nope_dim,
          .rope_dim = config.rope_dim,
          .value_dim = config.value_dim,
          .ffn_dim = config.ffn_dim,
          .expert_ffn_dim = config.moe.ffn_dim,
          .shared_experts = config.moe.shared_experts,
          .vocab = config.vocab,
          .rule = config.moe.rule,
          .balance_weight = static_cast<double>(config.moe.balance_weight),
          .mtp_depth = config.mtp_depth,
          .mtp_weight = static_cast<double>(config.mtp_weight),
          .norm_eps = static_cast<double>(config.norm_eps),
          .rope_theta = config.rope_theta,
          .yarn = config.yarn,
          .kv_heads = config.kv_heads};
}

Parameters random_weights(const DeepSeekConfig& config) {
  Parameters weights;
  const double deviation = 1 / std::sqrt(static_cast<double>(config.dim));
  for (const auto& [name, size] : ops::reference::deepseek_parameter_sizes(oracle_config(config))) {
    const bool is_gain = name.ends_with("norm.weight");
    // A router's logits of a few units, so that its scores differ.
    const double spread = name.ends_with("gate.weight") ? 2 * deviation : deviation;
    Vector& values = weights[name];
    for (std::int64_t i = 0; i < size; ++i) {
      const double noise = normal(1, stream_of(name), static_cast<std::uint64_t>(i));
      values.push_back(to_float(to_bf16(static_cast<float>(is_gain ? 1 + 0.2 * noise : spread * noise))));
    }
  }
  return weights;
}

ops::reference::LlamaBatch clear_batch(const DeepSeekConfig& config, const BatchShape& shape) {
  // Of scores between 0 and 1: those of a softmax are an eighth on average.
  const double margin = config.moe.rule.score == ops::RouterScore::sigmoid ? 0.012 : 0.005;
  LlamaConfig vocabulary;
  vocabulary.vocab = config.vocab;
  const Parameters weights = random_weights(config);
  const auto vocab = static_cast<std::int32_t>(config.vocab);
  for (std::int32_t i = 0; i < 8 * vocab; ++i) {
    ops::reference::LlamaBatch batch = random_batch(vocabulary, shape);
    for (std::int32_t& token : batch.tokens) token = (token * (1 + 2 * (i / vocab)) + i) % vocab;
    if (ops::reference::deepseek_step(oracle_config(config), weights, batch).least_margin > margin) return batch;
  }
  throw Failure("every batch has a token whose choice of experts is close");
}

std::unique_ptr<DeepSeek> make_deepseek(const DeepSeekConfig& config, const BatchShape& shape, ModelOptions options) {
  return std::make_unique<DeepSeek>(config, shape.tokens(), shape.seq_len, std::move(options));
}

void write_biases(ops::Device& device, const Model& model, const Biases& biases) {
  for (const TrainedState& state : model.parameters().states()) {
    std::vector<float> values(static_cast<std::size_t>(state.count));
    const auto found = biases.find(state.name.substr(0, state.name.find(".moe")));
    if (found != biases.end()) values.assign(found->second.begin(), found->second.end());
    device.upload(state.values.tensor().raw(), values.data(), state.values.tensor().bytes());
  }
}

}  // namespace octet::test
