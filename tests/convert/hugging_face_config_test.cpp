// config.json: what it says, what is missing, and what Octet has not.
#include "convert/small_models.h"

namespace octet::test {
namespace {

Config::Model read(const nlohmann::json& config) {
  return parse_hugging_face_config(config.dump(), "config.json").loaded.config.model;
}
std::string refused(const nlohmann::json& config) {
  return user_error([&] { (void)read(config); });
}

TEST(HuggingFaceConfig, MissingFieldsAreThoseOfTransformers) {
  const Config::Model model = read({{"architectures", {"LlamaForCausalLM"}}});
  EXPECT_EQ(model.dim, 4096);
  EXPECT_EQ(model.ffn_dim, 11008);
  EXPECT_EQ(model.n_kv_heads, 32);
  EXPECT_EQ(model.rope_theta, 10000);
  EXPECT_EQ(model.norm_eps, 1e-6);
  EXPECT_FALSE(model.tied_embeddings);
}

TEST(HuggingFaceConfig, NullsAreDefaults) {
  auto config = small_config("llama3");
  for (const char* key : {"num_key_value_heads", "head_dim", "rope_scaling", "tie_word_embeddings"})
    config[key] = nullptr;
  EXPECT_EQ(read(config).n_kv_heads, 2);
  auto deepseek = small_config("deepseek_v3");
  EXPECT_EQ(read(deepseek).mla.q_lora_rank, 0);
  deepseek["q_lora_rank"] = 3;
  EXPECT_EQ(read(deepseek).mla.q_lora_rank, 3);
  config["hidden_size"] = nullptr;
  EXPECT_TRUE(octet::contains(refused(config), "hidden_size is null"));
}

TEST(HuggingFaceConfig, BothSpellingsOfTheRotaryEmbedding) {
  const nlohmann::json scaling = {{"rope_type", "llama3"},
                                  {"factor", 8.0},
                                  {"low_freq_factor", 1.0},
                                  {"high_freq_factor", 4.0},
                                  {"original_max_position_embeddings", 64}};
  auto old = small_config("llama3");
  old["rope_theta"] = 5000;
  old["rope_scaling"] = scaling;
  auto now = small_config("llama3");
  now["rope_parameters"] = scaling;
  now["rope_parameters"]["rope_theta"] = 5000.0;
  EXPECT_EQ(read(old), read(now));
  EXPECT_EQ(read(old).rope_theta, 5000);
  EXPECT_EQ(read(old).rope_scaling.factor, 8);
  EXPECT_EQ(read(old).rope_scaling.original_max_seq_len, 64);
  EXPECT_EQ(read(nlohmann::json::parse(hugging_face_config(read(old), {"float32", 64, ""}))), read(old));
}

TEST(HuggingFaceConfig, YarnCountsBothMagnitudesOrNeither) {
  auto config = small_config("deepseek_v3");
  config["rope_scaling"] = {
      {"type", "yarn"}, {"factor", 40}, {"original_max_position_embeddings", 32}, {"mscale", 0.7}};
  EXPECT_EQ(read(config).rope_scaling.mscale, 1);
  EXPECT_EQ(read(config).rope_scaling.mscale_all_dim, 0);
  config["rope_scaling"]["mscale_all_dim"] = 0.5;
  EXPECT_EQ(read(config).rope_scaling.mscale, 0.7);
  EXPECT_EQ(read(config).rope_scaling.mscale_all_dim, 0.5);
  config["rope_scaling"]["mscale"] = 0;
  EXPECT_TRUE(octet::contains(refused(config), "mscale_all_dim"));
}

TEST(HuggingFaceConfig, WhatOctetHasNotIsRefusedByName) {
  const std::vector<std::pair<std::string, nlohmann::json>> fields = {
      {"attention_bias", true},
      {"mlp_bias", true},
      {"hidden_act", "gelu"},
      {"use_sliding_window", true},
      {"rope_scaling", {{"rope_type", "dynamic"}}},
      {"quantization_config", {{"quant_method", "gptq"}}},
      {"architectures", {"MistralForCausalLM"}},
      {"hidden_size", 1.5},
      {"hidden_size", -4},
      {"vocab_size", "many"},
      {"layer_types", {"sliding_attention"}},
      {"rms_norm_eps", -1}};
  for (const auto& [name, value] : fields) {
    auto config = small_config("llama3");
    config[name] = value;
    EXPECT_TRUE(octet::contains(refused(config), name == "architectures" ? "Mistral" : name));
  }
  EXPECT_TRUE(octet::contains(user_error([] { (void)parse_hugging_face_config("[1", "c.json"); }), "c.json"));
}

}  // namespace
}  // namespace octet::test
