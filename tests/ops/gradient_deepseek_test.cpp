// The gradient of every parameter of small DeepSeek-V3s against central differences of their loss.
#include "ops/finite_difference.h"
#include "ops/reference/deepseek.h"

namespace octet::test {
namespace {

using ops::reference::deepseek_parameter_sizes;
using ops::reference::deepseek_step;
using ops::reference::DeepSeekConfig;
using ops::reference::DeepSeekStep;
using ops::reference::LlamaBatch;
using ops::reference::Parameters;

/// A dense layer and one with experts in groups, low-rank queries, YaRN, a balance loss.
DeepSeekConfig small_deepseek() {
  return {
      .layers = 2,
      .dense_layers = 1,
      .dim = 6,
      .heads = 2,
      .q_lora_rank = 4,
      .kv_lora_rank = 3,
      .nope_dim = 3,
      .rope_dim = 4,
      .value_dim = 2,
      .ffn_dim = 5,
      .expert_ffn_dim = 3,
      .shared_experts = 2,
      .vocab = 9,
      .rule = {.experts = 6, .top_k = 2, .groups = 3, .kept_groups = 2, .scale = 2.5F},
      .balance_weight = 0.3,
      .mtp_depth = 0,
      .mtp_weight = 0.7,
      .norm_eps = 1e-3,
      .rope_theta = 100,
      .yarn = ops::YarnScaling{
          .factor = 4, .original_max_seq_len = 20, .beta_fast = 3, .beta_slow = 1, .mscale = 0.7, .mscale_all_dim = 1}};
}

/// Without what may be left out, and with the router of Qwen3: softmax over all experts, normalised, no groups, no
/// shared expert.
DeepSeekConfig plain_deepseek() {
  DeepSeekConfig config = small_deepseek();
  config.dense_layers = 0;
  config.layers = 1;
  config.q_lora_rank = 0;
  config.shared_experts = 0;
  config.yarn.reset();
  config.balance_weight = 0;
  config.rule = {.experts = 5, .top_k = 3, .score = ops::RouterScore::softmax};
  return config;
}

/// Grouped queries with normed heads, as in Qwen3.
DeepSeekConfig small_qwen3_moe() {
  DeepSeekConfig config = plain_deepseek();
  config.heads = 4;
  config.kv_heads = 2;
  config.kv_lora_rank = 0;
  config.nope_dim = 0;
  config.value_dim = config.rope_dim;
  return config;
}

Parameters random_parameters(const DeepSeekConfig& config) {
  Parameters parameters;
  for (const auto& [name, size] : deepseek_parameter_sizes(config)) {
    parameters[name] = random_vector(name, size, 0.5);
  }
  return parameters;
}

LlamaBatch small_batch() {
  return {.batch = 2, .seq_len = 3, .tokens = {1, 8, 1, 0, 4, 6}, .targets = {8, 1, -1, 4, 6, 2}};
}

void expect_gradients(const DeepSeekConfig& config, const std::map<std::string, Vector>& biases) {
  Parameters parameters = random_parameters(config);
  const LlamaBatch batch = small_batch();
  const DeepSeekStep step = deepseek_step(config, parameters, batch, biases);
  // Differences are of a loss whose choice of experts stands: steps of 1e-5 may change none.
  ASSERT_GT(step.least_margin, 2e-4);
  EXPECT_EQ(step.gradients.size(), parameters.size());
  for (auto& [name, values] : parameters) {
    expect_gradient(name, values, step.gradients.at(name), [&] {
      const DeepSeekStep moved = deepseek_step(config, parameters, batch, biases);
      return moved.loss + moved.balance_loss + config.mtp_weight * moved.prediction_loss;
    });
  }
}

TEST(GradientDeepSeek, DenseAndGroupedExpertsWithSharedOnes) {
  expect_gradients(small_deepseek(), {});
}

TEST(GradientDeepSeek, RouterOfQwen3) {
  expect_gradients(plain_deepseek(), {});
}

TEST(GradientDeepSeek, GroupedQueriesWithNormedHeads) {
  expect_gradients(small_qwen3_moe(), {});
}

TEST(GradientDeepSeek, FurtherTokens) {
  DeepSeekConfig config = plain_deepseek();
  config.mtp_depth = 2;
  expect_gradients(config, {});
  const DeepSeekStep step = deepseek_step(config, random_parameters(config), small_batch());
  EXPECT_GT(step.prediction_loss, 0);
  EXPECT_EQ(step.load.size(), 3) << "the layer and both depths";
}

TEST(GradientDeepSeek, ABiasChoosesButDoesNotWeigh) {
  const std::map<std::string, Vector> biases{{"layers.1", {3, 0, 3, 0, 0, 0}}};
  expect_gradients(small_deepseek(), biases);
  const DeepSeekConfig config = small_deepseek();
  const auto step = deepseek_step(config, random_parameters(config), small_batch(), biases);
  EXPECT_EQ(step.load.at("layers.1"), (std::vector<std::int64_t>{6, 0, 6, 0, 0, 0}));
}

TEST(GradientDeepSeek, LaterTokensDoNotChangeEarlierLogits) {
  const DeepSeekConfig config = small_deepseek();
  const Parameters parameters = random_parameters(config);
  LlamaBatch batch = small_batch();
  const Vector before = deepseek_step(config, parameters, batch).logits;
  batch.tokens[2] = 5;
  const Vector after = deepseek_step(config, parameters, batch).logits;
  const Index changed = 2 * config.vocab;
  const Index next_sequence = 3 * config.vocab;
  EXPECT_TRUE(std::equal(before.begin(), before.begin() + changed, after.begin()));
  EXPECT_NE(before[changed], after[changed]);
  EXPECT_TRUE(std::equal(before.begin() + next_sequence, before.end(), after.begin() + next_sequence));
}

}  // namespace
}  // namespace octet::test
