// config.json written from Octet's configuration, in the spelling that transformers 4 and 5 both read.
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <variant>

#include "convert/hugging_face_config.h"
#include "convert/hugging_face_fields.h"
#include "core/error.h"
#include "io/config_fields.h"

namespace octet {
namespace {

using nlohmann::ordered_json;

ordered_json llama_scaling(const Config::RopeScaling& rope) {
  return {{"rope_type", "llama3"},
          {"factor", rope.factor},
          {"low_freq_factor", rope.low_freq_factor},
          {"high_freq_factor", rope.high_freq_factor},
          {"original_max_position_embeddings", rope.original_max_seq_len}};
}

ordered_json yarn(const Config::RopeScaling& rope) {
  ordered_json scaling = {{"rope_type", "yarn"},
                          {"factor", rope.factor},
                          {"beta_fast", rope.beta_fast},
                          {"beta_slow", rope.beta_slow},
                          {"original_max_position_embeddings", rope.original_max_seq_len}};
  if (rope.mscale != 0 && rope.mscale_all_dim != 0) {
    scaling["mscale"] = rope.mscale;
    scaling["mscale_all_dim"] = rope.mscale_all_dim;
  } else if (rope.mscale != 1 || rope.mscale_all_dim != 0) {
    throw UserError(
        "model.rope_scaling.mscale = {} with mscale_all_dim = {} is something that transformers cannot "
        "express; it counts both or neither (mscale = 1, mscale_all_dim = 0)",
        rope.mscale, rope.mscale_all_dim);
  }
  return scaling;
}

ordered_json rope_scaling(const Config::Model& model, const ConvertedFamily& family) {
  if (!model.rope_scaling.enabled()) return nullptr;
  return family.latent_attention ? yarn(model.rope_scaling) : llama_scaling(model.rope_scaling);
}

void add_experts(ordered_json& to, const Config::Model& model, const ConvertedFamily& family) {
  const Config::Moe& moe = model.moe;
  to["norm_topk_prob"] = moe.normalised;
  if (!family.latent_attention) {
    to["decoder_sparse_step"] = 1;
    to["mlp_only_layers"] = ordered_json::array();
    for (std::int64_t layer = 0; layer < moe.dense_layers; ++layer) to["mlp_only_layers"].push_back(layer);
    return;
  }
  if (moe.score != Config::RouterScore::sigmoid) {
    throw UserError("model.moe.score = \"{}\" is a router that DeepseekV3ForCausalLM has not: its scores are sigmoids",
                    config_name(moe.score));
  }
  to["scoring_func"] = "sigmoid";
  to["topk_method"] = "noaux_tc";
  to["first_k_dense_replace"] = moe.dense_layers;
  to["moe_layer_freq"] = 1;
  to["routed_scaling_factor"] = moe.route_scale;
  to["num_nextn_predict_layers"] = 0;
}

void add_attention(ordered_json& to, const Config::Model& model, const ConvertedFamily& family) {
  if (family.latent_attention) {
    to["num_key_value_heads"] = model.n_heads;
    to["q_lora_rank"] = model.mla.q_lora_rank > 0 ? ordered_json(model.mla.q_lora_rank) : ordered_json(nullptr);
    to["rope_interleave"] = true;
  } else {
    to["num_key_value_heads"] = model.n_kv_heads;
    to["head_dim"] = model.head_dim();
  }
  to["attention_bias"] = false;
  to["attention_dropout"] = 0.0;
}

constexpr std::array special_tokens = {"bos_token_id", "eos_token_id", "pad_token_id"};

bool is_token_id(const ordered_json& value) {
  return value.is_number_integer() || (value.is_array() && std::all_of(value.begin(), value.end(), [](const auto& id) {
                                         return id.is_number_integer();
                                       }));
}

void follow(ordered_json& root, std::string_view like) {
  const ordered_json other = ordered_json::parse(like, nullptr, false);
  if (!other.is_object()) throw UserError("the config.json to follow is not a JSON object; fetch it again");
  for (const char* token : special_tokens) {
    if (other.contains(token) && is_token_id(other[token])) root[token] = other[token];
  }
  constexpr const char* context = "max_position_embeddings";
  if (other.contains(context) && other[context].is_number_integer()) root[context] = other[context];
}

}  // namespace

std::string hugging_face_config(const Config::Model& model, const Publication& publication) {
  Config config;
  config.model = model;
  const ConvertedFamily* family = converted_family(config_name(model.family));
  check(family != nullptr, "every family of Octet has a counterpart");
  ordered_json root;
  root["architectures"] = ordered_json::array({family->architecture});
  root["model_type"] = family->model_type;
  root["torch_dtype"] = publication.dtype;
  for (const IntegerField& field : fields_of(*family).integers) {
    root[std::string(field.name)] = std::get<std::int64_t>(find_config_field(field.key)->get(config));
  }
  add_attention(root, model, *family);
  if (family->experts) add_experts(root, model, *family);
  if (family->octet == "llama3") root["mlp_bias"] = false;
  root["hidden_act"] = "silu";
  root["rms_norm_eps"] = model.norm_eps;
  root["initializer_range"] = model.init_std;
  root["tie_word_embeddings"] = model.tied_embeddings;
  root["max_position_embeddings"] = publication.context;
  root["rope_theta"] = model.rope_theta;
  root["rope_scaling"] = rope_scaling(model, *family);
  // Were they missing, transformers would take ids of its own.
  for (const char* token : special_tokens) root[token] = nullptr;
  if (!publication.like.empty()) follow(root, publication.like);
  return root.dump(2) + "\n";
}

}  // namespace octet
