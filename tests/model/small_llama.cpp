#include "model/small_llama.h"

#include <algorithm>
#include <cmath>

#include "core/random.h"

namespace octet::test {

using ops::reference::LlamaBatch;
using ops::reference::Parameters;
using ops::reference::Vector;

LlamaConfig small_llama() {
  LlamaConfig config;
  config.vocab = 80;
  config.dim = 64;
  config.layers = 2;
  config.heads = 4;
  config.kv_heads = 2;
  config.ffn_dim = 96;
  config.rope_theta = 100;
  return config;
}

LlamaConfig small_qwen3() {
  LlamaConfig config = small_llama();
  config.own_head_dim = 32;
  config.qk_norm = true;
  config.tied_embeddings = true;
  return config;
}

ops::reference::LlamaConfig oracle_config(const LlamaConfig& config) {
  return {.layers = config.layers,
          .dim = config.dim,
          .heads = config.heads,
          .kv_heads = config.kv_heads,
          .head_dim = config.head_dim(),
          .ffn_dim = config.ffn_dim,
          .vocab = config.vocab,
          .norm_eps = config.norm_eps,
          .rope_theta = config.rope_theta,
          .rope_scaling = config.rope_scaling,
          .tied = config.tied_embeddings,
          .qk_norm = config.qk_norm};
}

Parameters random_weights(const LlamaConfig& config) {
  Parameters weights;
  const double deviation = 1 / std::sqrt(static_cast<double>(config.dim));
  for (const auto& [name, size] : ops::reference::llama_parameter_sizes(oracle_config(config))) {
    const bool is_gain = name.ends_with("norm.weight");
    Vector& values = weights[name];
    for (std::int64_t i = 0; i < size; ++i) {
      const double noise = normal(1, stream_of(name), static_cast<std::uint64_t>(i));
      const double value = is_gain ? 1 + 0.2 * noise : deviation * noise;
      values.push_back(to_float(to_bf16(static_cast<float>(value))));
    }
  }
  return weights;
}

LlamaBatch random_batch(const LlamaConfig& config, const BatchShape& shape) {
  LlamaBatch batch{shape.batch, shape.seq_len, {}, {}};
  const auto token = [&](std::string_view stream, std::int64_t i) {
    const std::uint32_t word = philox(1, static_cast<std::uint64_t>(i), stream_of(stream))[0];
    return static_cast<std::int32_t>(word % static_cast<std::uint32_t>(config.vocab));
  };
  for (std::int64_t i = 0; i < shape.tokens(); ++i) {
    batch.tokens.push_back(token("tokens", i));
    batch.targets.push_back(i % 7 == 3 ? -1 : token("targets", i));
  }
  return batch;
}

BatchShape shape_of(const LlamaBatch& batch) {
  return {batch.batch, batch.seq_len, {.packed = !batch.document_start.empty()}};
}

std::int64_t counted_targets(const LlamaBatch& batch) {
  return std::ranges::count_if(batch.targets, [](std::int32_t target) { return target >= 0; });
}

PrecisionOptions precision(std::string_view recipe, fp8::FormatFamily family, bool fp8_head) {
  PrecisionOptions options;
  options.recipe = fp8::find_recipe(recipe);
  options.family = family;
  options.min_size = 0;
  options.fp8_head = fp8_head;
  return options;
}

}  // namespace octet::test
