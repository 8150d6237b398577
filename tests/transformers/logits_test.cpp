// Small models of every family: the double-precision oracle answers as transformers did in fp32, from the weights in
// the layout of its files.
#include <gtest/gtest.h>

#include <cmath>

#include "transformers/released_weights.h"

namespace octet::test {
namespace {

using ops::reference::DeepSeekConfig;
using ops::reference::LlamaBatch;
using ops::reference::LlamaConfig;
using ops::reference::LlamaStep;
using ops::reference::Parameters;
using ops::reference::Vector;

constexpr std::int64_t kVocab = 48;
/// What the oracle may be off by, as a part of the largest logit.
constexpr double kTolerance = 1e-4;

// The sizes of make_vectors.py.
LlamaConfig llama() {
  return {.layers = 2,
          .dim = 32,
          .heads = 4,
          .kv_heads = 2,
          .head_dim = 8,
          .ffn_dim = 48,
          .vocab = kVocab,
          .norm_eps = 1e-5,
          .rope_theta = 1000,
          .rope_scaling = std::nullopt,
          .tied = false};
}

LlamaConfig llama_tied() {
  LlamaConfig config = llama();
  config.head_dim = 12;
  config.tied = true;
  config.rope_theta = 500;
  config.rope_scaling =
      ops::RopeScaling{.factor = 4, .low_freq_factor = 1, .high_freq_factor = 3, .original_max_seq_len = 16};
  return config;
}

LlamaConfig qwen3() {
  LlamaConfig config = llama();
  config.head_dim = 12;
  config.tied = true;
  config.qk_norm = true;
  return config;
}

DeepSeekConfig qwen3_moe() {
  return {.layers = 2,
          .dense_layers = 1,
          .dim = 32,
          .heads = 4,
          .q_lora_rank = 0,
          .kv_lora_rank = 0,
          .nope_dim = 0,
          .rope_dim = 12,
          .value_dim = 12,
          .ffn_dim = 48,
          .expert_ffn_dim = 16,
          .shared_experts = 0,
          .vocab = kVocab,
          .rule = {.experts = 8, .top_k = 2, .score = ops::RouterScore::softmax},
          .balance_weight = 0,
          .mtp_depth = 0,
          .mtp_weight = 0,
          .norm_eps = 1e-5,
          .rope_theta = 1000,
          .yarn = std::nullopt,
          .kv_heads = 2};
}

DeepSeekConfig qwen3_moe_unnormalised() {
  DeepSeekConfig config = qwen3_moe();
  config.layers = 1;
  config.dense_layers = 0;
  config.rule.normalised = false;
  return config;
}

DeepSeekConfig deepseek_v3() {
  DeepSeekConfig config = qwen3_moe();
  config.kv_heads = 0;
  config.q_lora_rank = 20;
  config.kv_lora_rank = 16;
  config.nope_dim = 12;
  config.rope_dim = 8;
  config.value_dim = 10;
  config.shared_experts = 2;
  config.rule = {.experts = 8, .top_k = 2, .groups = 4, .kept_groups = 2, .scale = 2.5F};
  config.norm_eps = 1e-6;
  config.rope_theta = 100;
  config.yarn = ops::YarnScaling{
      .factor = 4, .original_max_seq_len = 16, .beta_fast = 2, .beta_slow = 0.5, .mscale = 0.7, .mscale_all_dim = 1};
  return config;
}

DeepSeekConfig deepseek_v3_without_q_lora() {
  DeepSeekConfig config = deepseek_v3();
  config.q_lora_rank = 0;
  config.shared_experts = 1;
  config.rule = {.experts = 8, .top_k = 2};
  config.rope_theta = 1000;
  config.yarn.reset();
  return config;
}

struct Case {
  const char* name;
  std::function<LlamaStep(ReleasedModel&, const LlamaBatch&, const std::function<void(Parameters&)>&)> step;
};

void PrintTo(const Case& each, std::ostream* out) {
  *out << each.name;
}

Case dense(const char* name, LlamaConfig (*config)()) {
  return {name, [config](ReleasedModel& model, const LlamaBatch& batch, const auto& change) {
            Parameters parameters = model.parameters(config());
            change(parameters);
            return ops::reference::llama_step(config(), parameters, batch);
          }};
}

Case mixture(const char* name, DeepSeekConfig (*config)()) {
  return {name, [config](ReleasedModel& model, const LlamaBatch& batch, const auto& change) -> LlamaStep {
            Parameters parameters = model.parameters(config());
            change(parameters);
            auto step = ops::reference::deepseek_step(config(), parameters, batch, model.biases(config()));
            EXPECT_GT(step.least_margin, 1e-5) << "fp32 could choose other experts";
            return step;
          }};
}

class TransformersLogits : public testing::TestWithParam<Case> {
 protected:
  /// The largest difference from what transformers answered, as a part of its largest logit.
  double error(const std::function<void(Parameters&)>& change) {
    const std::vector<std::int32_t> tokens = model_.tokens();
    const LlamaBatch batch{2, static_cast<std::int64_t>(tokens.size()) / 2, tokens, tokens};
    const Vector expected = model_.logits();
    const Vector actual = GetParam().step(model_, batch, change).logits;
    EXPECT_EQ(actual.size(), expected.size());
    double largest = 0;
    double difference = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      largest = std::max(largest, std::abs(expected[i]));
      difference = std::max(difference, std::abs(actual[i] - expected[i]));
    }
    return difference / largest;
  }

  SafetensorsFile file_ = SafetensorsFile::open("tests/transformers/vectors.safetensors");
  ReleasedModel model_{file_, GetParam().name};
};

TEST_P(TransformersLogits, AreTheOracles) {
  const double found = error([](Parameters&) {});
  fmt::print("{}: relative error {:.1e}\n", GetParam().name, found);
  EXPECT_LE(found, kTolerance);
  EXPECT_EQ(model_.unread(), std::vector<std::string>());
}

/// Each parameter alone: one that the logits do not depend on would not be compared.
TEST_P(TransformersLogits, DependOnEveryParameter) {
  Parameters parameters;
  (void)error([&](Parameters& loaded) { parameters = loaded; });
  for (const auto& [name, values] : parameters) {
    const double found = error([&](Parameters& changed) {
      for (double& value : changed.at(name)) value *= 1.02;
      changed.at(name).front() += 0.02;
    });
    EXPECT_GT(found, kTolerance) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, TransformersLogits,
                         testing::Values(dense("llama", llama), dense("llama_tied", llama_tied), dense("qwen3", qwen3),
                                         mixture("qwen3_moe", qwen3_moe),
                                         mixture("qwen3_moe_unnormalised", qwen3_moe_unnormalised),
                                         mixture("deepseek_v3", deepseek_v3),
                                         mixture("deepseek_v3_without_q_lora", deepseek_v3_without_q_lora)),
                         [](const auto& each) { return std::string(each.param.name); });

}  // namespace
}  // namespace octet::test
