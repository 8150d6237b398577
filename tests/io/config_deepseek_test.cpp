// Configurations of DeepSeek-V3: its keys, and values of them that contradict each other.
#include <gtest/gtest.h>

#include "io/config.h"
#include "io/config_samples.h"
#include "io/config_text.h"
#include "io/scratch.h"

namespace octet {
namespace {

constexpr std::string_view deepseek = R"(version = 1
[model]
family = "deepseek_v3"
dim = 64
n_layers = 3
n_heads = 4
ffn_dim = 192
mla = { kv_lora_rank = 32, nope_head_dim = 16, rope_head_dim = 8, value_head_dim = 16 }
[model.moe]
dense_layers = 1
ffn_dim = 32
experts = 8
top_k = 2
groups = 4
kept_groups = 2
[training]
steps = 10
seq_len = 64
batch_size = 4
[optimizer]
lr = 1e-3
[data]
train = "train.tok"
)";

std::string deepseek_error(const std::vector<std::string>& overrides) {
  return user_error([&] { (void)parse_config(deepseek, "run.toml", overrides); });
}

TEST(ConfigDeepSeek, IsRead) {
  const LoadedConfig loaded = parse_config(deepseek, "run.toml");
  EXPECT_EQ(loaded.config.model.family, Config::Family::deepseek_v3);
  EXPECT_EQ(loaded.config.model.mla.q_lora_rank, 0);
  EXPECT_EQ(loaded.config.model.moe.experts, 8);
  EXPECT_EQ(loaded.origins.at("model.moe.experts"), "run.toml:12");
  EXPECT_FALSE(loaded.origins.contains("model.n_kv_heads")) << "it is no key of this family";
  EXPECT_EQ(parse_config(show_config(loaded.config), "shown.toml").config, loaded.config);
}

TEST(ConfigDeepSeek, KeysBelongToTheirFamily) {
  EXPECT_EQ(
      deepseek_error({"model.n_kv_heads=2"}),
      "--set: model.n_kv_heads belongs to model.family = \"llama3\", \"qwen3\" or \"qwen3_moe\", and this model is a "
      "\"deepseek_v3\"; remove the key");
  const std::vector<std::string> experts{"model.moe.experts=4"};
  EXPECT_EQ(user_error([&] { (void)parse_config(minimal_config, "run.toml", experts); }),
            "--set: model.moe.experts belongs to model.family = \"deepseek_v3\" or \"qwen3_moe\", and this model is a "
            "\"llama3\"; remove the key");
  EXPECT_EQ(show_config(parse_config(minimal_config, "run.toml").config).find("moe"), std::string::npos);
}

TEST(ConfigDeepSeek, WhatItMustSetIsNamed) {
  std::string text(deepseek);
  text.erase(text.find("experts = 8\n"), std::string_view("experts = 8\n").size());
  EXPECT_TRUE(contains(user_error([&] { (void)parse_config(text, "run.toml"); }),
                       "run.toml: model.moe.experts is missing (routed experts)"));
}

TEST(ConfigDeepSeek, ATokenHasAsManyExpertsAsItChooses) {
  EXPECT_EQ(deepseek_error({"model.moe.top_k=9"}),
            "model.moe.top_k = 9 (--set) exceeds model.moe.experts = 8 (run.toml:12); choose fewer or have more");
  EXPECT_EQ(deepseek_error({"model.moe.top_k=5"}),
            "model.moe.top_k = 5 (--set) exceeds the 4 experts of 2 groups that are kept (model.moe.kept_groups = 2 "
            "(run.toml:15)); choose fewer or keep more groups");
  EXPECT_EQ(deepseek_error({"model.moe.groups=3"}),
            "model.moe.groups = 3 (--set) does not divide model.moe.experts = 8 (run.toml:12); change one of them");
  EXPECT_EQ(deepseek_error({"model.moe.kept_groups=5"}),
            "model.moe.kept_groups = 5 (--set) exceeds model.moe.groups = 4 (run.toml:14); keep fewer groups or have "
            "more");
  EXPECT_TRUE(contains(deepseek_error({"model.moe.top_k=0"}), "model.moe.top_k must be 1 to 16384, is 0"));
}

TEST(ConfigDeepSeek, LayersAndRotation) {
  EXPECT_EQ(deepseek_error({"model.moe.dense_layers=4"}),
            "model.moe.dense_layers = 4 (--set) exceeds model.n_layers = 3 (run.toml:5); make fewer layers dense or "
            "have more");
  EXPECT_EQ(deepseek_error({"model.mla.rope_head_dim=7"}),
            "model.mla.rope_head_dim = 7 (--set) is odd, but rotary embeddings turn pairs; make it even");
  EXPECT_TRUE(contains(deepseek_error({"model.rope_scaling.factor=4", "model.rope_scaling.beta_slow=32"}),
                       "model.rope_scaling.beta_slow = 32 (--set) is not below model.rope_scaling.beta_fast = 32"));
  EXPECT_TRUE(contains(deepseek_error({"training.seq_len=0"}), "training.seq_len must be 1 to"))
      << "no step without tokens";
}

}  // namespace
}  // namespace octet
