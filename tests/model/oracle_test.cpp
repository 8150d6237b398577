// The model against the double-precision oracle: loss, logits and the gradient of every parameter, in each recipe.
#include <gtest/gtest.h>

#include "model/agreement.h"

namespace octet::test {
namespace {

using ops::reference::LlamaBatch;
using ops::reference::Parameters;

struct RecipeCase {
  const char* name;
  const char* recipe;
  fp8::FormatFamily family;
  bool fp8_head;
  Bounds bounds;
};

void PrintTo(const RecipeCase& recipe, std::ostream* out) {
  *out << recipe.name;
}

LlamaConfig tied_with_scaled_rope() {
  LlamaConfig config = small_llama();
  config.tied_embeddings = true;
  config.kv_heads = 1;
  config.rope_scaling = ops::RopeScaling{4, 1, 3, 16};
  return config;
}

class ModelAgainstOracle : public testing::TestWithParam<RecipeCase> {
 protected:
  void expect_agreement(const LlamaConfig& config, WeightCodes weight_codes = WeightCodes::cached) {
    expect_agreement(config, weight_codes, GetParam().bounds);
  }
  void expect_agreement(const LlamaConfig& config, WeightCodes weight_codes, const Bounds& bounds) {
    const RecipeCase& recipe = GetParam();
    const Parameters weights = random_weights(config);
    const LlamaBatch batch = random_batch(config, {2, 24});
    const ModelStep actual = model_step(
        config, weights, batch, precision(recipe.recipe, recipe.family, recipe.fp8_head), *backend_, weight_codes);
    const auto expected = ops::reference::llama_step(oracle_config(config), weights, batch);
    EXPECT_EQ(actual.gradients.size(), expected.gradients.size());
    const Agreement found = agreement(actual, expected);
    fmt::print("loss {:.4f}, relative error {:.1e}; logits {:.1f} dB; worst gradient {:.1f} dB ({})\n", actual.loss,
               found.loss_error, found.logits_sqnr, found.gradient_sqnr, found.worst_gradient);
    EXPECT_LE(found.loss_error, bounds.loss_error);
    EXPECT_GE(found.logits_sqnr, bounds.logits_sqnr);
    EXPECT_GE(found.gradient_sqnr, bounds.gradient_sqnr) << found.worst_gradient;
    EXPECT_EQ(actual.fp8_codes_used > 0, std::string_view(recipe.recipe) != "bf16");
  }

  std::unique_ptr<ops::Backend> backend_ = ops::make_cpu_backend(2);
};

TEST_P(ModelAgainstOracle, GroupedQueriesAndAnUntiedHead) {
  expect_agreement(small_llama());
}

TEST_P(ModelAgainstOracle, TiedHeadOneKeyHeadAndScaledRotaryFrequencies) {
  expect_agreement(tied_with_scaled_rope());
}

TEST_P(ModelAgainstOracle, NormedHeadsThatAreWiderThanTheStream) {
  Bounds bounds = GetParam().bounds;
  bounds.gradient_sqnr -= 1;  // gains of heads: their gradients are sums over tokens and heads that cancel
  expect_agreement(small_qwen3(), WeightCodes::cached, bounds);
}

TEST_P(ModelAgainstOracle, WeightCodesMadeAtEachUse) {
  expect_agreement(small_llama(), WeightCodes::per_use);
}

// Eight products in a row, each with an error of 3 to 6 %, leave this much of the first layer's gradients; what each
// product keeps by itself is the linear layer's test.
constexpr Bounds kFp8Bounds{2e-2, 16, 11};

INSTANTIATE_TEST_SUITE_P(Recipes, ModelAgainstOracle,
                         testing::Values(RecipeCase{"bf16", "bf16", kOcp, false, kBf16Bounds},
                                         RecipeCase{"rowwise_ocp", "rowwise", kOcp, false, kFp8Bounds},
                                         RecipeCase{"rowwise_fnuz", "rowwise", kFnuz, false, kFp8Bounds},
                                         RecipeCase{"rowwise_fp8_head", "rowwise", kOcp, true, kFp8Bounds},
                                         RecipeCase{"tensorwise_ocp", "tensorwise", kOcp, false, kFp8Bounds},
                                         RecipeCase{"tensorwise_fnuz", "tensorwise", kFnuz, false, kFp8Bounds},
                                         RecipeCase{"hp_wgrad_ocp", "rowwise_hp_wgrad", kOcp, false, kFp8Bounds},
                                         RecipeCase{"hp_wgrad_fnuz", "rowwise_hp_wgrad", kFnuz, false, kFp8Bounds}),
                         [](const auto& each) { return std::string(each.param.name); });

}  // namespace
}  // namespace octet::test
