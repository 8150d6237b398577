// What waits for backward, and in which form, changes memory and work, never a bit of a loss or a weight.
#include <gtest/gtest.h>

#include "train/trained.h"

namespace octet::test {
namespace {

Engine engine_with(std::vector<std::string> overrides, const std::string& recipe) {
  overrides.insert(overrides.begin(), {"precision.recipe=" + recipe, "training.seq_len=48"});
  return small_engine(small_config(overrides).config);
}

std::int64_t calls(const Engine& engine, std::string_view op) {
  const auto& totals = engine.executor().totals();
  const auto found = totals.find(op);
  return found == totals.end() ? 0 : found->second.calls;
}

std::size_t activations(const Engine& engine) {
  const auto peak = engine.plan().at_peak();
  std::size_t bytes = 0;
  for (const MemoryClass each : {MemoryClass::activations, MemoryClass::fp8_codes}) {
    if (const auto found = peak.find(each); found != peak.end()) bytes += found->second;
  }
  return bytes;
}

class Saving : public testing::TestWithParam<const char*> {
 protected:
  void expect_same_bits(const std::vector<std::string>& overrides) const {
    Engine plain = engine_with({}, GetParam());
    Engine other = engine_with(overrides, GetParam());
    EXPECT_EQ(train(plain), train(other)) << fmt::format("{}", fmt::join(overrides, " "));
    EXPECT_EQ(other.measured_peak(), other.plan().arena_bytes) << "the plan is exact";
  }
};

TEST_P(Saving, InputsInBf16) {
  expect_same_bits({"precision.saved_inputs=bf16"});
}

TEST_P(Saving, WeightCodesPerUse) {
  expect_same_bits({"precision.weight_codes=per_use"});
  expect_same_bits({"precision.weight_codes=per_use", "precision.fp8_format=ocp", "precision.saved_inputs=bf16"});
}

TEST_P(Saving, RecomputeOfEachOp) {
  for (const char* op : {"norm", "qkv", "attention", "gate_up", "swiglu"}) {
    expect_same_bits({"training.recompute=selective", fmt::format("training.recompute_ops=[\"{}\"]", op)});
  }
}

TEST_P(Saving, RecomputeOfEverything) {
  expect_same_bits({"training.recompute=selective"});
  expect_same_bits({"training.recompute=full"});
  expect_same_bits({"training.recompute=full", "precision.saved_inputs=bf16", "precision.weight_codes=per_use"});
  expect_same_bits({"training.recompute=full", "runtime.threads=1"});
}

TEST_P(Saving, TheHeadToo) {
  if (std::string_view(GetParam()) == "bf16") return;
  Engine plain = engine_with({"precision.head=fp8"}, GetParam());
  Engine other =
      engine_with({"precision.head=fp8", "precision.saved_inputs=bf16", "training.recompute=full"}, GetParam());
  EXPECT_EQ(train(plain), train(other));
}

INSTANTIATE_TEST_SUITE_P(Recipes, Saving, testing::Values("bf16", "tensorwise", "rowwise", "rowwise_hp_wgrad"),
                         [](const auto& each) { return std::string(each.param); });

TEST(SavingMemory, CodesTakeLessThanBf16WhereWgradReadsCodes) {
  for (const char* recipe : {"tensorwise", "rowwise"}) {
    EXPECT_LT(activations(engine_with({}, recipe)), activations(engine_with({"precision.saved_inputs=bf16"}, recipe)))
        << recipe;
  }
}

TEST(SavingMemory, RecomputeTakesLessTheMoreItMakesAgain) {
  for (const char* recipe : {"bf16", "rowwise"}) {
    const auto bytes = [&](const char* recompute) {
      return activations(engine_with({fmt::format("training.recompute={}", recompute)}, recipe));
    };
    EXPECT_LT(bytes("selective"), bytes("none")) << recipe;
    EXPECT_LT(bytes("full"), bytes("selective")) << recipe;
  }
}

TEST(SavingWork, RecomputeMeasuresNothingAgain) {
  for (const char* recipe : {"tensorwise", "rowwise", "rowwise_hp_wgrad"}) {
    Engine plain = engine_with({}, recipe);
    Engine full = engine_with({"training.recompute=full"}, recipe);
    for (Engine* engine : {&plain, &full}) {
      engine->executor().reset_totals();
      (void)engine->compute_gradients();
    }
    for (const std::string_view op : {ops::Maxima::name, ops::QuantizeRows::name}) {
      EXPECT_EQ(calls(plain, op), calls(full, op)) << recipe << " " << op;
    }
    // Three of a block's four forward products, in each of two blocks.
    EXPECT_EQ(calls(full, ops::Gemm::name), calls(plain, ops::Gemm::name) + 6) << recipe;
    EXPECT_EQ(calls(full, ops::AttentionForward::name), 2 * calls(plain, ops::AttentionForward::name)) << recipe;
  }
}

TEST(SavingWork, WeightsAreCastOncePerStepWhateverItsMicroBatches) {
  const auto casts_in_a_step = [](int accumulate, const char* weight_codes) {
    Engine engine = engine_with({fmt::format("training.accumulate={}", accumulate),
                                 fmt::format("precision.weight_codes={}", weight_codes), "precision.saved_inputs=bf16"},
                                "rowwise");
    (void)train(engine, 1);
    engine.executor().reset_totals();
    (void)train(engine, 1);
    // Each micro-batch casts the four inputs and gradients of two blocks to their transposed codes.
    EXPECT_EQ(calls(engine, ops::Maxima::name), 0) << "the optimizer has measured the weights";
    return calls(engine, ops::Cast::name) - accumulate * 16;
  };
  EXPECT_EQ(casts_in_a_step(1, "cached"), 8) << "both layouts of eight weights at once";
  EXPECT_EQ(casts_in_a_step(4, "cached"), 8);
  EXPECT_EQ(casts_in_a_step(1, "per_use"), 16) << "one layout at each use";
  EXPECT_EQ(casts_in_a_step(4, "per_use"), 64) << "under maxima of the step, which are measured once";
}

TEST(SavingOptions, AnUnknownOpIsNamed) {
  const Config config = small_config({"training.recompute_ops=[\"norms\"]"}).config;
  try {
    (void)saving_options(config);
    FAIL() << "norms is no op";
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find("\"norms\""), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace octet::test
