#include "transformers/released_weights.h"

#include <cstring>

#include "core/dtype.h"

namespace octet::test {

using ops::reference::DeepSeekConfig;
using ops::reference::LlamaConfig;
using ops::reference::Parameters;
using ops::reference::Vector;

namespace {

std::string from_layer(std::int64_t layer, std::string_view rest) {
  return fmt::format("model.layers.{}.{}", layer, rest);
}
std::string to_layer(std::int64_t layer, std::string_view rest) {
  return fmt::format("layers.{}.{}", layer, rest);
}

template <typename T>
std::vector<T> elements(const FileTensor& tensor) {
  std::vector<T> values(tensor.bytes.size() / sizeof(T));
  std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
  return values;
}

}  // namespace

const FileTensor& ReleasedModel::find(const std::string& name) {
  const FileTensor* found = file_.find(prefix_ + name);
  if (found == nullptr) throw Failure("the vectors have no {}{}", prefix_, name);
  read_.insert(prefix_ + name);
  return *found;
}

Vector ReleasedModel::take(const std::string& name) {
  const FileTensor& tensor = find(name);
  Vector values;
  if (tensor.dtype == FileDType::f32) {
    for (const float value : elements<float>(tensor)) values.push_back(static_cast<double>(value));
  } else {
    check(tensor.dtype == FileDType::bf16, "weights are stored in bf16");
    for (const bf16 value : elements<bf16>(tensor)) values.push_back(static_cast<double>(to_float(value)));
  }
  return values;
}

Vector ReleasedModel::joined(const std::vector<std::string>& names) {
  Vector rows;
  for (const std::string& name : names) {
    const Vector part = take(name);
    rows.insert(rows.end(), part.begin(), part.end());
  }
  return rows;
}

std::vector<std::int32_t> ReleasedModel::tokens() {
  return elements<std::int32_t>(find("tokens"));
}

std::vector<std::string> ReleasedModel::unread() const {
  std::vector<std::string> names;
  for (const FileTensor& tensor : file_.tensors()) {
    if (tensor.name.starts_with(prefix_) && !read_.contains(tensor.name)) names.push_back(tensor.name);
  }
  return names;
}

void ReleasedModel::add_ends(Parameters& to, bool tied) {
  to["tok_embeddings.weight"] = take("model.embed_tokens.weight");
  to["norm.weight"] = take("model.norm.weight");
  if (!tied) to["output.weight"] = take("lm_head.weight");
}

void ReleasedModel::add_norms(Parameters& to, std::int64_t layer) {
  to[to_layer(layer, "attention_norm.weight")] = take(from_layer(layer, "input_layernorm.weight"));
  to[to_layer(layer, "ffn_norm.weight")] = take(from_layer(layer, "post_attention_layernorm.weight"));
}

void ReleasedModel::add_grouped_attention(Parameters& to, std::int64_t layer, bool normed) {
  const auto name = [&](std::string_view what) { return from_layer(layer, fmt::format("self_attn.{}.weight", what)); };
  to[to_layer(layer, "attention.wqkv.weight")] = joined({name("q_proj"), name("k_proj"), name("v_proj")});
  if (normed) to[to_layer(layer, "attention.qk_norm.weight")] = joined({name("q_norm"), name("k_norm")});
  to[to_layer(layer, "attention.wo.weight")] = take(name("o_proj"));
}

void ReleasedModel::add_latent_attention(Parameters& to, std::int64_t layer, bool low_rank_queries) {
  const auto name = [&](std::string_view what) { return from_layer(layer, fmt::format("self_attn.{}.weight", what)); };
  const auto place = [&](std::string_view what) { return to_layer(layer, fmt::format("attention.{}.weight", what)); };
  to[place("wqkv_a")] = joined({name(low_rank_queries ? "q_a_proj" : "q_proj"), name("kv_a_proj_with_mqa")});
  if (low_rank_queries) {
    to[place("q_norm")] = take(name("q_a_layernorm"));
    to[place("wq_b")] = take(name("q_b_proj"));
  }
  to[place("kv_norm")] = take(name("kv_a_layernorm"));
  to[place("wkv_b")] = take(name("kv_b_proj"));
  to[place("wo")] = take(name("o_proj"));
}

void ReleasedModel::add_network(Parameters& to, const std::string& name, const std::string& from) {
  to[name + ".w13.weight"] = joined({from + ".gate_proj.weight", from + ".up_proj.weight"});
  to[name + ".w2.weight"] = take(from + ".down_proj.weight");
}

void ReleasedModel::add_experts(Parameters& to, std::int64_t layer, std::int64_t experts, bool shared) {
  to[to_layer(layer, "moe.gate.weight")] = take(from_layer(layer, "mlp.gate.weight"));
  std::vector<std::string> inner;
  std::vector<std::string> outer;
  for (std::int64_t expert = 0; expert < experts; ++expert) {
    const std::string from = from_layer(layer, fmt::format("mlp.experts.{}", expert));
    inner.insert(inner.end(), {from + ".gate_proj.weight", from + ".up_proj.weight"});
    outer.push_back(from + ".down_proj.weight");
  }
  to[to_layer(layer, "moe.experts.w13.weight")] = joined(inner);
  to[to_layer(layer, "moe.experts.w2.weight")] = joined(outer);
  if (shared) add_network(to, to_layer(layer, "moe.shared_experts"), from_layer(layer, "mlp.shared_experts"));
}

Parameters ReleasedModel::parameters(const LlamaConfig& config) {
  Parameters to;
  add_ends(to, config.tied);
  for (std::int64_t layer = 0; layer < config.layers; ++layer) {
    add_norms(to, layer);
    add_grouped_attention(to, layer, config.qk_norm);
    add_network(to, to_layer(layer, "feed_forward"), from_layer(layer, "mlp"));
  }
  return to;
}

Parameters ReleasedModel::parameters(const DeepSeekConfig& config) {
  Parameters to;
  add_ends(to, false);
  for (std::int64_t layer = 0; layer < config.layers; ++layer) {
    add_norms(to, layer);
    if (config.kv_heads > 0) {
      add_grouped_attention(to, layer, true);
    } else {
      add_latent_attention(to, layer, config.q_lora_rank > 0);
    }
    if (layer < config.dense_layers) {
      add_network(to, to_layer(layer, "feed_forward"), from_layer(layer, "mlp"));
    } else {
      add_experts(to, layer, config.rule.experts, config.shared_experts > 0);
    }
  }
  return to;
}

std::map<std::string, Vector> ReleasedModel::biases(const DeepSeekConfig& config) {
  std::map<std::string, Vector> biases;
  if (config.kv_heads > 0) return biases;  // Qwen3's router has none
  for (std::int64_t layer = config.dense_layers; layer < config.layers; ++layer) {
    biases[fmt::format("layers.{}", layer)] = take(from_layer(layer, "mlp.gate.e_score_correction_bias"));
  }
  return biases;
}

}  // namespace octet::test
