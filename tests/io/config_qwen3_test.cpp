// Configurations of Qwen3, dense and with experts, and the length of heads that it shares with Llama.
#include <gtest/gtest.h>

#include "io/config.h"
#include "io/config_samples.h"
#include "io/config_text.h"
#include "io/scratch.h"

namespace octet {
namespace {

constexpr std::string_view qwen3 = R"(version = 1
[model]
family = "qwen3"
dim = 64
n_layers = 2
n_heads = 6
n_kv_heads = 2
head_dim = 32
ffn_dim = 96
tied_embeddings = true
[training]
steps = 10
seq_len = 64
batch_size = 4
[optimizer]
lr = 1e-3
[data]
train = "train.tok"
)";

/// The same with experts.
std::string qwen3_moe() {
  std::string text(qwen3);
  text.replace(text.find("\"qwen3\""), 7, "\"qwen3_moe\"");
  text.erase(text.find("tied_embeddings"), std::string_view("tied_embeddings = true\n").size());
  return text + "[model.moe]\nffn_dim = 32\nexperts = 8\ntop_k = 2\n";
}

std::string error_of(std::string_view text, const std::vector<std::string>& overrides) {
  return user_error([&] { (void)parse_config(text, "run.toml", overrides); });
}

TEST(ConfigQwen3, IsRead) {
  const Config config = parse_config(qwen3, "run.toml").config;
  EXPECT_EQ(config.model.family, Config::Family::qwen3);
  EXPECT_EQ(config.model.head_dim(), 32) << "more than dim / n_heads, which is not even whole";
  EXPECT_EQ(config.model.value_head_dim(), 32);
  EXPECT_EQ(config.model.kv_heads(), 2);
  EXPECT_TRUE(config.model.has_normed_heads());
  EXPECT_FALSE(config.model.has_experts());
  EXPECT_EQ(parse_config(show_config(config), "shown.toml").config, config);
}

TEST(ConfigQwen3, WithExpertsIsRead) {
  const Config config = parse_config(qwen3_moe(), "run.toml").config;
  EXPECT_EQ(config.model.family, Config::Family::qwen3_moe);
  EXPECT_EQ(config.model.moe.experts, 8);
  EXPECT_TRUE(config.model.has_normed_heads());
  EXPECT_EQ(parse_config(show_config(config), "shown.toml").config, config);
}

TEST(ConfigQwen3, WhatItLacksIsRefused) {
  EXPECT_EQ(
      error_of(qwen3, {"model.rope_scaling.factor=4"}),
      "--set: model.rope_scaling.factor belongs to model.family = \"llama3\" or \"deepseek_v3\", and this model is "
      "a \"qwen3\"; remove the key");
  EXPECT_EQ(error_of(qwen3, {"model.moe.experts=4"}),
            "--set: model.moe.experts belongs to model.family = \"deepseek_v3\" or \"qwen3_moe\", and this model is a "
            "\"qwen3\"; remove the key");
  for (const char* key : {"tied_embeddings=true", "moe.bias_rate=1e-3", "moe.shared_experts=1", "moe.score=softmax",
                          "moe.groups=2", "mtp.depth=1", "mla.kv_lora_rank=16"}) {
    const std::string error = error_of(qwen3_moe(), {fmt::format("model.{}", key)});
    EXPECT_TRUE(contains(error, "and this model is a \"qwen3_moe\"; remove the key")) << key << ": " << error;
  }
}

TEST(ConfigQwen3, ExpertsAreChecked) {
  EXPECT_EQ(error_of(qwen3_moe(), {"model.moe.top_k=9"}),
            "model.moe.top_k = 9 (--set) exceeds model.moe.experts = 8 (run.toml:20); choose fewer or have more");
  EXPECT_EQ(error_of(qwen3_moe(), {"model.moe.dense_layers=3"}),
            "model.moe.dense_layers = 3 (--set) exceeds model.n_layers = 2 (run.toml:5); make fewer layers dense or "
            "have more");
}

TEST(ConfigHeadDim, WithoutItHeadsDivideTheWidth) {
  EXPECT_EQ(error_of(qwen3, {"model.head_dim=0"}),
            "model.n_heads = 6 (run.toml:6) does not divide model.dim = 64 (run.toml:4); change one of them");
  EXPECT_EQ(error_of(qwen3, {"model.head_dim=33"}),
            "model.head_dim = 33 (--set) is odd, but rotary embeddings turn pairs; make it even");
  EXPECT_EQ(error_of(qwen3, {"model.n_kv_heads=4"}),
            "model.n_kv_heads = 4 (--set) does not divide model.n_heads = 6 (run.toml:6); change one of them");
}

TEST(ConfigHeadDim, IsLlamasToo) {
  const std::vector<std::string> heads{"model.head_dim=48"};
  EXPECT_EQ(parse_config(minimal_config, "run.toml", heads).config.model.head_dim(), 48);
}

}  // namespace
}  // namespace octet
