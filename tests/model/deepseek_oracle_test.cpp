// DeepSeek-V3 against the double-precision oracle: loss, logits, load and the gradient of every parameter.
#include <gtest/gtest.h>

#include <algorithm>

#include "model/agreement.h"
#include "model/small_deepseek.h"

namespace octet::test {
namespace {

using ops::reference::DeepSeekStep;
using ops::reference::LlamaBatch;
using ops::reference::Parameters;

/// Chooses the same two or three experts for every token, by far: what FP8 makes of the router's input changes no
/// choice. They lie in two groups of four, as half of the groups are kept.
const Biases kOneChoice{{"layers.0", {3, 1.5, 0, 0, 3, 0, 0, 0}},
                        {"layers.1", {1.5, 3, 0, 0, 0, 0, 3, 0}},
                        {"mtp.0.block", {0, 0, 3, 0, 0, 3, 0, 0}},
                        {"mtp.1.block", {0, 3, 0, 0, 0, 0, 0, 3}}};

struct Case {
  const char* name;
  DeepSeekConfig (*config)();
  const char* recipe;
  fp8::FormatFamily family;
  Bounds bounds;
  bool fp8_head = false;
  WeightCodes weight_codes = WeightCodes::cached;
  ExpertsInBf16 experts_in_bf16 = {};
};

void PrintTo(const Case& each, std::ostream* out) {
  *out << each.name;
}

class DeepSeekAgainstOracle : public testing::TestWithParam<Case> {
 protected:
  void expect_agreement(const DeepSeekConfig& config, const LlamaBatch& batch, const Biases& biases) {
    const Case& each = GetParam();
    const Parameters weights = random_weights(config);
    PrecisionOptions options = precision(each.recipe, each.family, each.fp8_head);
    options.experts_in_bf16 = each.experts_in_bf16;
    const BatchShape shape{batch.batch, batch.seq_len};
    ModelRun run(make_deepseek(config, shape, {std::move(options), each.weight_codes, {}}), shape, *backend_);
    write_biases(backend_->device(), run.model(), biases);
    const ModelStep actual = model_step(run, weights, batch);
    const DeepSeekStep expected = ops::reference::deepseek_step(oracle_config(config), weights, batch, biases);
    const Agreement found = agreement(actual, expected);
    fmt::print(
        "least margin {:.3f}; loss {:.4f}, relative error {:.1e}; logits {:.1f} dB; worst gradient {:.1f} dB ({})\n",
        expected.least_margin, actual.loss, found.loss_error, found.logits_sqnr, found.gradient_sqnr,
        found.worst_gradient);
    EXPECT_EQ(actual.gradients.size(), expected.gradients.size());
    EXPECT_LE(found.loss_error, each.bounds.loss_error);
    EXPECT_GE(found.logits_sqnr, each.bounds.logits_sqnr);
    EXPECT_GE(found.gradient_sqnr, each.bounds.gradient_sqnr) << found.worst_gradient;
    EXPECT_EQ(actual.fp8_codes_used > 0, std::string_view(each.recipe) != "bf16");
    expect_load(run, expected);
  }

  void expect_load(const ModelRun& run, const DeepSeekStep& expected) {
    std::vector<std::vector<std::int64_t>> loads;
    for (const auto& [layer, load] : expected.load) loads.push_back(load);
    EXPECT_EQ(run.model().expert_loads(backend_->device()), loads);
  }

  std::unique_ptr<ops::Backend> backend_ = ops::make_cpu_backend(2);
};

TEST_P(DeepSeekAgainstOracle, OneStep) {
  const DeepSeekConfig config = GetParam().config();
  const bool in_bf16 = std::string_view(GetParam().recipe) == "bf16";
  if (in_bf16 && config.mtp_depth == 0) return expect_agreement(config, clear_batch(config, {2, 5}), {});
  LlamaConfig vocabulary;
  vocabulary.vocab = config.vocab;
  expect_agreement(config, random_batch(vocabulary, {2, 24}), kOneChoice);
}

DeepSeekConfig with_bias(DeepSeekConfig config) {
  config.moe.bias_rate = 1e-3F;
  return config;
}
DeepSeekConfig biased_plain() {
  return with_bias(plain_deepseek());
}
DeepSeekConfig biased_qwen3_moe() {
  return with_bias(small_qwen3_moe());
}
DeepSeekConfig further() {
  DeepSeekConfig config = small_deepseek();
  config.mtp_depth = 2;
  return config;
}
DeepSeekConfig balanced() {
  DeepSeekConfig config = small_deepseek();
  config.moe.balance_weight = 0.5F;
  return config;
}

// Products in a row, each with an error of 3 to 6 %: latents make more of them than Llama's block has. Queries of two
// layers are the last in the row, and small sums of large terms.
constexpr Bounds kFp8Bounds{2e-2, 14, 7};

INSTANTIATE_TEST_SUITE_P(Recipes, DeepSeekAgainstOracle,
                         testing::Values(Case{"bf16", small_deepseek, "bf16", kOcp, kLatentBounds},
                                         Case{"bf16_router_of_qwen3", plain_deepseek, "bf16", kOcp, kLatentBounds},
                                         Case{"bf16_qwen3", small_qwen3_moe, "bf16", kOcp, kLatentBounds},
                                         Case{"rowwise_qwen3_ocp", biased_qwen3_moe, "rowwise", kOcp, kFp8Bounds},
                                         Case{"rowwise_qwen3_fnuz", biased_qwen3_moe, "rowwise", kFnuz, kFp8Bounds},
                                         Case{"bf16_further_tokens", further, "bf16", kOcp, kLatentBounds},
                                         Case{"rowwise_further_tokens", further, "rowwise", kOcp, kFp8Bounds},
                                         Case{"rowwise_ocp", small_deepseek, "rowwise", kOcp, kFp8Bounds},
                                         Case{"rowwise_fnuz", small_deepseek, "rowwise", kFnuz, kFp8Bounds},
                                         Case{"rowwise_without_shared_experts", biased_plain, "rowwise", kOcp,
                                              kFp8Bounds},
                                         Case{"rowwise_fp8_head", small_deepseek, "rowwise", kOcp, kFp8Bounds, true},
                                         Case{"rowwise_codes_per_use", small_deepseek, "rowwise", kOcp, kFp8Bounds,
                                              false, WeightCodes::per_use},
                                         Case{"rowwise_forward_of_experts_bf16",
                                              small_deepseek,
                                              "rowwise",
                                              kOcp,
                                              kFp8Bounds,
                                              false,
                                              WeightCodes::cached,
                                              {.forward = true}},
                                         Case{"rowwise_dgrad_of_experts_bf16",
                                              small_deepseek,
                                              "rowwise",
                                              kOcp,
                                              kFp8Bounds,
                                              false,
                                              WeightCodes::per_use,
                                              {.dgrad = true}},
                                         Case{"rowwise_wgrad_of_experts_bf16",
                                              small_deepseek,
                                              "rowwise",
                                              kOcp,
                                              kFp8Bounds,
                                              false,
                                              WeightCodes::cached,
                                              {.wgrad = true}}),
                         [](const auto& each) { return std::string(each.param.name); });

class DeepSeekBalanceLoss : public DeepSeekAgainstOracle {};

/// With no target left out, the loss of a step is the mean over as many tokens as its sequences have.
TEST_P(DeepSeekBalanceLoss, IsPartOfTheRoutersGradient) {
  const DeepSeekConfig config = GetParam().config();
  LlamaBatch batch = clear_batch(config, {2, 5});
  for (std::int32_t& target : batch.targets) target = std::max(target, 0);
  expect_agreement(config, batch, {});
}

INSTANTIATE_TEST_SUITE_P(Bf16, DeepSeekBalanceLoss,
                         testing::Values(Case{"bf16", balanced, "bf16", kOcp, kLatentBounds}),
                         [](const auto& each) { return std::string(each.param.name); });

TEST(DeepSeekRecipes, OneScaleForAllExpertsIsRefused) {
  for (const char* recipe : {"tensorwise", "rowwise_hp_wgrad"}) {
    try {
      (void)make_deepseek(small_deepseek(), {1, 16}, {precision(recipe), WeightCodes::cached, {}});
      FAIL() << recipe << " went unnoticed";
    } catch (const UserError& error) {
      EXPECT_TRUE(std::string_view(error.what()).starts_with("layers.1.moe.experts.w13: recipe ")) << error.what();
      EXPECT_NE(std::string_view(error.what()).find(recipe), std::string_view::npos) << error.what();
    }
  }
}

TEST(DeepSeekRecipes, AProductThatIsChosenToBeBf16MayDoWithout) {
  PrecisionOptions options = precision("rowwise_hp_wgrad");
  options.experts_in_bf16 = {.dgrad = true};
  const auto model = make_deepseek(small_deepseek(), {1, 16}, {std::move(options), WeightCodes::cached, {}});
  const auto& table = model->precision().table();
  const auto experts = std::ranges::find(table, "layers.1.moe.experts.w2", &LayerChoice::layer);
  ASSERT_NE(experts, table.end());
  EXPECT_EQ(experts->precision, "rowwise_hp_wgrad e4m3fn, dgrad bf16");
  EXPECT_EQ(experts->m, 32) << "two rows of each of sixteen tokens";
  const auto gate = std::ranges::find(table, "layers.1.moe.gate", &LayerChoice::layer);
  ASSERT_NE(gate, table.end());
  EXPECT_EQ(gate->reason, "the router computes in fp32");
}

}  // namespace
}  // namespace octet::test
