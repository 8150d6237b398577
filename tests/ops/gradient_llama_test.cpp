// The gradient of every parameter of a small Llama 3 against central differences of its loss.
#include "ops/finite_difference.h"
#include "ops/reference/llama.h"

namespace octet::test {
namespace {

using ops::RopeScaling;
using ops::reference::llama_parameter_sizes;
using ops::reference::llama_step;
using ops::reference::LlamaBatch;
using ops::reference::LlamaConfig;
using ops::reference::LlamaStep;
using ops::reference::Parameters;

LlamaConfig small_llama() {
  return {.layers = 2,
          .dim = 6,
          .heads = 4,
          .kv_heads = 2,
          .head_dim = 4,
          .ffn_dim = 7,
          .vocab = 9,
          .norm_eps = 1e-3,
          .rope_theta = 100,
          .rope_scaling = std::nullopt,
          .tied = false};
}

Parameters random_parameters(const LlamaConfig& config) {
  Parameters parameters;
  for (const auto& [name, size] : llama_parameter_sizes(config)) parameters[name] = random_vector(name, size, 0.5);
  return parameters;
}

LlamaBatch small_batch() {
  return {.batch = 2, .seq_len = 3, .tokens = {1, 8, 1, 0, 4, 6}, .targets = {8, 1, -1, 4, 6, 2}};
}

void expect_llama_gradients(const LlamaConfig& config) {
  Parameters parameters = random_parameters(config);
  const LlamaBatch batch = small_batch();
  const LlamaStep step = llama_step(config, parameters, batch);
  EXPECT_EQ(step.gradients.size(), parameters.size());
  for (auto& [name, values] : parameters) {
    expect_gradient(name, values, step.gradients.at(name), [&] { return llama_step(config, parameters, batch).loss; });
  }
}

TEST(GradientLlama, GroupedQueriesAndAnUntiedHead) {
  expect_llama_gradients(small_llama());
}

TEST(GradientLlama, TiedHeadAndScaledRotaryFrequencies) {
  LlamaConfig config = small_llama();
  config.layers = 1;
  config.tied = true;
  config.kv_heads = 1;
  config.rope_scaling =
      RopeScaling{.factor = 4, .low_freq_factor = 1, .high_freq_factor = 3, .original_max_seq_len = 10};
  expect_llama_gradients(config);
}

TEST(GradientLlama, NormedHeads) {
  LlamaConfig config = small_llama();
  config.qk_norm = true;
  expect_llama_gradients(config);
}

TEST(GradientLlama, LaterTokensDoNotChangeEarlierLogits) {
  const LlamaConfig config = small_llama();
  const Parameters parameters = random_parameters(config);
  LlamaBatch batch = small_batch();
  const Vector before = llama_step(config, parameters, batch).logits;
  batch.tokens[2] = 5;
  const Vector after = llama_step(config, parameters, batch).logits;
  const Index changed = 2 * config.vocab;
  const Index next_sequence = 3 * config.vocab;
  EXPECT_TRUE(std::equal(before.begin(), before.begin() + changed, after.begin()));
  EXPECT_NE(before[changed], after[changed]);
  EXPECT_TRUE(std::equal(before.begin() + next_sequence, before.end(), after.begin() + next_sequence));
}

TEST(GradientLlama, AMissingParameterIsNamed) {
  const LlamaConfig config = small_llama();
  Parameters parameters = random_parameters(config);
  parameters.erase("layers.1.ffn_norm.weight");
  try {
    (void)llama_step(config, parameters, small_batch());
    FAIL() << "the missing parameter went unnoticed";
  } catch (const Failure& failure) {
    EXPECT_STREQ(failure.what(), "the reference model misses layers.1.ffn_norm.weight");
  }
}

}  // namespace
}  // namespace octet::test
