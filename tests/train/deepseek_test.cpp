// Training DeepSeek-V3: what waits for backward and how a step is cut changes no bit, the plan is exact, biases move as
// the load says, and a resumed run goes on as if it had never stopped.
#include <gtest/gtest.h>

#include "data/shard_writer.h"
#include "io/files.h"
#include "io/scratch.h"
#include "ops/reference/routing.h"
#include "train/plan_choices.h"
#include "train/planning_backend.h"
#include "train/small_deepseek_run.h"
#include "train/small_run.h"
#include "train/trained.h"
#include "train/trainer.h"

namespace octet::test {
namespace {

Engine engine_with(std::vector<std::string> overrides, const std::string& recipe) {
  overrides.insert(overrides.begin(), "precision.recipe=" + recipe);
  return small_engine(small_deepseek_config(overrides).config);
}

/// Of all layers, one after another.
std::vector<float> biases_of(const Engine& engine) {
  std::vector<float> biases;
  for (const TrainedState& state : engine.model().parameters().states()) {
    const ops::HostBytes bytes(engine.backend().device(), state.values.tensor());
    const auto values = bytes.as<float>();
    biases.insert(biases.end(), values.begin(), values.end());
  }
  return biases;
}

class DeepSeekSaving : public testing::TestWithParam<const char*> {
 protected:
  void expect_same_bits(const std::vector<std::string>& overrides, const std::vector<std::string>& base = {}) const {
    std::vector<std::string> both = base;
    both.insert(both.end(), overrides.begin(), overrides.end());
    Engine plain = engine_with(base, GetParam());
    Engine other = engine_with(both, GetParam());
    const std::string what = fmt::format("{}", fmt::join(both, " "));
    EXPECT_EQ(train(plain), train(other)) << what;
    EXPECT_EQ(biases_of(plain), biases_of(other)) << what;
    EXPECT_EQ(other.measured_peak(), other.plan().arena_bytes) << "the plan is exact";
  }
};

TEST_P(DeepSeekSaving, InputsAndWeightCodes) {
  expect_same_bits({"precision.saved_inputs=bf16"});
  expect_same_bits({"precision.weight_codes=per_use"});
}

TEST_P(DeepSeekSaving, RecomputeOfEachOp) {
  for (const char* op : {"norm", "qkv", "attention", "gate_up", "swiglu"}) {
    expect_same_bits({"training.recompute=selective", fmt::format("training.recompute_ops=[\"{}\"]", op)});
  }
}

TEST_P(DeepSeekSaving, RecomputeOfEverything) {
  expect_same_bits({"training.recompute=full"});
  expect_same_bits({"training.recompute=full", "precision.saved_inputs=bf16", "precision.weight_codes=per_use"});
  expect_same_bits({"training.recompute=full", "runtime.threads=1"});
  expect_same_bits({"training.recompute=full"}, {"model.moe.shared_experts=0", "model.mla.q_lora_rank=0"});
  expect_same_bits({"training.recompute=full"}, {"training.accumulate=2"});
  expect_same_bits({"training.recompute=full"}, {"model.mtp.depth=2", "model.moe.balance_weight=0.1"});
  expect_same_bits({"training.recompute=full"}, {"precision.experts_wgrad=bf16"});
  expect_same_bits({"training.recompute=full"}, {"precision.experts_forward=bf16", "precision.experts_dgrad=bf16"});
}

INSTANTIATE_TEST_SUITE_P(Recipes, DeepSeekSaving, testing::Values("bf16", "rowwise"),
                         [](const auto& each) { return std::string(each.param); });

TEST(DeepSeekPlan, RecomputeTakesLess) {
  const auto bytes = [](const char* recompute) {
    return engine_with({fmt::format("training.recompute={}", recompute)}, "rowwise").plan().arena_bytes;
  };
  EXPECT_LT(bytes("full"), bytes("none"));
}

TEST(DeepSeekPlan, RecomputeRoutesAndMeasuresNothingAgain) {
  Engine plain = engine_with({}, "rowwise");
  Engine full = engine_with({"training.recompute=full"}, "rowwise");
  const auto calls = [](Engine& engine, std::string_view op) {
    engine.executor().reset_totals();
    (void)engine.compute_gradients();
    return engine.executor().totals().at(op).calls;
  };
  for (const std::string_view op : {ops::Route::name, ops::GroupTokens::name, ops::QuantizeRows::name}) {
    EXPECT_EQ(calls(plain, op), calls(full, op)) << op;
  }
  EXPECT_EQ(calls(full, ops::AttentionForward::name), 2 * calls(plain, ops::AttentionForward::name));
}

struct Published {
  const char* config;
  double parameters, active;  // in units of 10^9; active ones multiply each token
};

/// As the papers give them: V2-Lite 15.7 B of which 2.4 B are active, V2 236 B and 21 B, V3 671 B and 37 B.
TEST(DeepSeekPlan, PublishedShapesHaveTheirParameters) {
  const auto backend = make_planning_backend(PlannedMemory::device);
  for (const Published& published : {Published{"16b", 15.7, 2.4}, {"236b", 236, 21}, {"671b", 671, 37}}) {
    const Config config = load_config(fmt::format("configs/deepseek_v3_{}.toml", published.config)).config;
    const auto count = static_cast<double>(make_model(config, *backend)->parameters().count());
    EXPECT_NEAR(count / 1e9, published.parameters, 0.005 * published.parameters) << published.config;
    const auto active = static_cast<double>(deepseek_config(config).matmul_parameters());
    EXPECT_NEAR(active / 1e9, published.active, 0.05 * published.active) << published.config;
  }
}

TEST(DeepSeekPlan, TheLargestIsPlanned) {
  const Config config = load_config("configs/deepseek_v3_671b.toml").config;
  const Engine engine = plan_without_workspace(config, {PlannedMemory::device, false});
  // Masters and moments in fp32, weights in bf16 and two layouts of codes, at 16 bytes a parameter.
  EXPECT_GT(static_cast<double>(engine.plan().arena_bytes), 671e9 * 16);
}

// ---- bias of the experts --------------------------------------------------------------------------------------------

/// Rows of each expert in the one layer that has them.
std::vector<std::int64_t> load_of(const Engine& engine) {
  const auto loads = engine.model().expert_loads(engine.backend().device());
  EXPECT_EQ(loads.size(), 1);
  return loads.front();
}

TEST(ExpertBias, MovesOncePerStepAgainstTheLoad) {
  for (const char* recompute : {"none", "full"}) {
    Engine engine = engine_with({"training.accumulate=2", fmt::format("training.recompute={}", recompute)}, "rowwise");
    ops::reference::Vector expected(4);
    for (int step = 1; step <= 3; ++step) {
      const StepOutcome outcome = engine.compute_gradients();
      const std::vector<std::int64_t> load = load_of(engine);
      ASSERT_EQ(load.size(), 4);
      // Two micro-batches of 32 tokens with two experts each, whatever backward makes again.
      EXPECT_EQ(load[0] + load[1] + load[2] + load[3], 128) << recompute;
      EXPECT_EQ(outcome.worst_expert_load, static_cast<double>(*std::ranges::max_element(load)) / 32) << recompute;
      expected = ops::reference::balance_bias(expected, load, 0.125);
      engine.update(step, 1e-3, outcome.grad_norm);
      const std::vector<float> biases = biases_of(engine);
      for (std::size_t e = 0; e < 4; ++e) EXPECT_NEAR(biases[e], expected[e], 1e-6) << recompute << " step " << step;
    }
  }
}

TEST(ExpertBias, IsTheSameHoweverAStepIsCut) {
  Engine whole = engine_with({"training.batch_size=4"}, "bf16");
  Engine parts = engine_with({"training.batch_size=2", "training.accumulate=2"}, "bf16");
  for (Engine* engine : {&whole, &parts}) {
    const StepOutcome outcome = engine->compute_gradients();
    engine->update(1, 1e-3, outcome.grad_norm);
  }
  EXPECT_EQ(biases_of(whole), biases_of(parts));
}

TEST(ExpertBias, AStepThatIsLeftOutDoesNotCount) {
  Engine engine = engine_with({}, "bf16");
  (void)engine.compute_gradients();
  engine.discard();
  const std::vector<float> zeros(4);
  EXPECT_EQ(biases_of(engine), zeros);
  (void)engine.compute_gradients();
  const std::vector<std::int64_t> load = load_of(engine);
  EXPECT_EQ(load[0] + load[1] + load[2] + load[3], 64) << "of the second attempt alone";
}

TEST(ExpertBias, ThereIsNoneWithoutARate) {
  const Engine engine = engine_with({"model.moe.bias_rate=0"}, "bf16");
  EXPECT_TRUE(engine.model().parameters().states().empty());
}

// ---- runs -----------------------------------------------------------------------------------------------------------

class DeepSeekRuns : public SmallRuns {
 protected:
  [[nodiscard]] TrainRequest request(std::string_view run, std::vector<std::string> overrides = {}) const {
    TrainRequest wanted = SmallRuns::request(run);
    const Config& small = wanted.loaded.config;
    overrides.push_back("data.train=" + small.data.train.front());
    overrides.push_back("data.validation=" + small.data.validation.front());
    overrides.push_back("precision.recipe=rowwise");
    wanted.loaded = small_deepseek_config(overrides);
    return wanted;
  }
};

TEST_F(DeepSeekRuns, AResumedOneGivesTheSameBits) {
  (void)train(request("whole"));
  (void)train(request("parts", {"training.steps=2", "schedule.decay=constant"}));
  TrainRequest rest = request("parts", {"schedule.decay=constant"});
  rest.resume = Resume::must;
  (void)train(std::move(rest));
  (void)train(request("constant", {"schedule.decay=constant"}));
  const auto file = [this](const char* run, const char* name) {
    return read_file(path(run) / "checkpoints" / "step-00000004" / name);
  };
  for (const char* name : {"model.safetensors", "optimizer.safetensors"}) {
    EXPECT_TRUE(file("parts", name) == file("constant", name)) << name;
    EXPECT_FALSE(file("parts", name) == file("whole", name)) << name << ": the schedules differ";
  }
  EXPECT_NE(file("parts", "model.safetensors").find("layers.1.moe.gate.expert_bias"), std::string::npos);
  EXPECT_NE(file("parts", "model.safetensors").find("layers.1.moe.experts.3.w2.weight"), std::string::npos);
  const std::string metrics = read_file(path("parts") / "metrics.jsonl");
  EXPECT_NE(metrics.find("\"worst_expert_load\":"), std::string::npos);
}

TEST_F(DeepSeekRuns, OtherLossesAreTold) {
  (void)train(request("run", {"model.mtp.depth=1", "model.moe.balance_weight=0.01"}));
  const std::string metrics = read_file(path("run") / "metrics.jsonl");
  EXPECT_NE(metrics.find("\"mtp_loss\":"), std::string::npos) << metrics;
  EXPECT_NE(metrics.find("\"balance_loss\":"), std::string::npos) << metrics;
}

TEST_F(DeepSeekRuns, WhatTheFamilyLacksIsRefusedByName) {
  const std::string shadow = user_error([&] {
    (void)train(request("shadow", {"precision.shadow=bf16", "precision.shadow_interval=1"}));
  });
  EXPECT_TRUE(contains(shadow, "precision.shadow = \"bf16\" is not there yet for model.family = \"deepseek_v3\""));
}

}  // namespace
}  // namespace octet::test
