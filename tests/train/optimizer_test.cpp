// The optimizer's choices: parameters and moments in fp32 or bf16, parameter groups, accumulated micro-batches.
#include <gtest/gtest.h>

#include <cmath>

#include "train/parameter_groups.h"
#include "train/small_engine.h"

namespace octet::test {
namespace {

double loss_after(Engine& engine, int steps) {
  for (int step = 1; step <= steps; ++step) {
    const StepOutcome outcome = engine.compute_gradients();
    engine.update(step, 3e-3, outcome.grad_norm);
  }
  return engine.compute_gradients().loss;
}

TEST(OptimizerStates, EveryPairLearnsAlike) {
  Engine reference = small_engine(small_config({"precision.recipe=rowwise"}).config);
  const double start = reference.compute_gradients().loss;
  const double expected = loss_after(reference, 40);
  ASSERT_LT(expected, start - 1);
  for (const char* parameters : {"fp32", "bf16"}) {
    for (const char* moments : {"fp32", "bf16"}) {
      Engine engine =
          small_engine(small_config({"precision.recipe=rowwise", fmt::format("optimizer.parameters={}", parameters),
                                     fmt::format("optimizer.moments={}", moments)})
                           .config);
      // Measured: within 2 % of the loss that is left.
      EXPECT_NEAR(loss_after(engine, 40) / expected, 1, 0.05) << parameters << " " << moments;
    }
  }
}

TEST(OptimizerStates, GradientsInBf16LearnAlike) {
  const auto loss_with = [](const char* gradients) {
    Engine engine = small_engine(
        small_config({"precision.recipe=rowwise", fmt::format("optimizer.gradients={}", gradients)}).config);
    return loss_after(engine, 40);
  };
  EXPECT_NEAR(loss_with("bf16") / loss_with("fp32"), 1, 0.05);
}

TEST(OptimizerStates, TakeTheMemoryThatTheyPromise) {
  const auto bytes = [](const char* parameters, const char* moments) {
    Engine engine = small_engine(
        small_config({fmt::format("optimizer.parameters={}", parameters), fmt::format("optimizer.moments={}", moments)})
            .config);
    std::size_t total = 0;
    for (const Slab& slab : engine.model().parameters().slabs()) {
      total += slab.weights().bytes() + slab.first_moment().bytes() + slab.second_moment().bytes();
      if (slab.has_master()) total += slab.master().bytes();
    }
    return static_cast<double>(total) / static_cast<double>(engine.model().parameters().count());
  };
  EXPECT_NEAR(bytes("fp32", "fp32"), 14, 0.5);
  EXPECT_NEAR(bytes("fp32", "bf16"), 10, 0.5);
  EXPECT_NEAR(bytes("bf16", "fp32"), 10, 0.5);
  EXPECT_NEAR(bytes("bf16", "bf16"), 6, 0.5);
}

TEST(OptimizerStates, StochasticRoundingRepeatsWithTheSeedAndStepAlone) {
  const auto weights = [](const char* seed, const char* threads) {
    Engine engine =
        small_engine(small_config({"optimizer.parameters=bf16", "optimizer.moments=bf16",
                                   fmt::format("training.seed={}", seed), fmt::format("runtime.threads={}", threads)})
                         .config);
    (void)loss_after(engine, 3);
    const Tensor& values = engine.model().parameters().slabs()[1].weights();
    std::vector<std::uint16_t> bits;
    for (std::int64_t i = 0; i < values.numel(); ++i) bits.push_back(values.ptr<bf16>()[i].bits);
    return bits;
  };
  EXPECT_EQ(weights("1", "1"), weights("1", "2"));
  EXPECT_NE(weights("1", "1"), weights("2", "1")) << "the same initial weights, other roundings";
}

TEST(OptimizerStates, UpdatesBelowHalfAnUlpMoveABf16Weight) {
  Engine engine = small_engine(small_config({"optimizer.parameters=bf16", "optimizer.weight_decay=0"}).config);
  const Slab& slab = engine.model().parameters().slabs()[1];
  const std::int64_t count = slab.parameters()[0].numel();
  bf16* weights = slab.weights().ptr<bf16>();
  std::fill_n(weights, count, to_bf16(1.0F));
  engine.weights_changed();
  for (int step = 1; step <= 10; ++step) {
    const StepOutcome outcome = engine.compute_gradients();
    std::fill_n(slab.gradient(0).ptr<float>(), count, 1.0F);  // AdamW's update is then the learning rate itself
    engine.update(step, 1e-4, outcome.grad_norm);
  }
  double mean = 0;
  for (std::int64_t i = 0; i < count; ++i)
    mean += static_cast<double>(to_float(weights[i])) / static_cast<double>(count);
  // One ulp below 1 is 2^-8 = 0.0039; ten steps of 1e-4 are a quarter of it.
  EXPECT_NEAR(1 - mean, 1e-3, 2e-4);
}

// ---- groups ---------------------------------------------------------------------------------------------------------

const ParameterGroup kCommon{.weight_decay = 0.1, .lr_scale = 1};

/// The group of a parameter of the small model.
ParameterGroup group_of(const std::vector<std::string>& rules, const std::string& name) {
  const Config config = small_config().config;
  const auto backend = make_backend(config);
  const auto model = make_model(config, *backend);
  const auto groups = assign_parameter_groups(model->parameters(), rules, kCommon);
  for (std::size_t slab = 0; slab < groups.size(); ++slab) {
    const auto& parameters = model->parameters().slabs()[slab].parameters();
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      if (parameters[i].name == name) return groups[slab][i];
    }
  }
  throw Failure("the small model has no {}", name);
}

TEST(ParameterGroups, TheFirstRuleThatMatchesDecides) {
  const std::vector<std::string> rules{"*norm.weight: weight_decay=0", "layers.1.*: lr_scale=0.5",
                                       "layers.*: weight_decay=0.2, lr_scale=2"};
  EXPECT_EQ(group_of(rules, "norm.weight").weight_decay, 0);
  EXPECT_EQ(group_of(rules, "norm.weight").lr_scale, 1);
  EXPECT_EQ(group_of(rules, "layers.1.ffn_norm.weight").lr_scale, 1) << "a norm first, a layer second";
  EXPECT_EQ(group_of(rules, "layers.1.attention.wo.weight").lr_scale, 0.5);
  EXPECT_EQ(group_of(rules, "layers.1.attention.wo.weight").weight_decay, 0.1) << "what a rule leaves out is common";
  EXPECT_EQ(group_of(rules, "layers.0.attention.wo.weight").weight_decay, 0.2);
  EXPECT_EQ(group_of(rules, "output.weight").weight_decay, 0.1);
}

TEST(ParameterGroups, ByDefaultNormsAloneDoNotDecay) {
  const std::vector<std::string> rules = Config{}.optimizer.groups;
  EXPECT_EQ(group_of(rules, "layers.0.attention_norm.weight").weight_decay, 0);
  EXPECT_EQ(group_of(rules, "tok_embeddings.weight").weight_decay, 0.1);
}

TEST(ParameterGroups, MistakesAreNamed) {
  for (const char* rule :
       {"", "*", "*:", ": lr_scale=1", "*: momentum=1", "*: lr_scale=-1", "*: lr_scale=nan", "*: lr_scale=1e999",
        "*: lr_scale=1, lr_scale=2", "*: weight_decay", "nothing.like.this: lr_scale=2", "*: lr_scale=0.5x"}) {
    EXPECT_THROW((void)group_of({rule}, "norm.weight"), UserError) << rule;
  }
  EXPECT_THROW((void)group_of({"*: lr_scale=1", "norm.weight: lr_scale=2"}, "norm.weight"), UserError)
      << "a rule that never decides";
}

TEST(ParameterGroups, ReachTheUpdate) {
  const auto moved = [](const std::vector<std::string>& overrides) {
    Engine engine = small_engine(small_config(overrides).config);
    const auto before = std::vector<float>(master_of(engine, "layers.1.attention.wo.weight").begin(),
                                           master_of(engine, "layers.1.attention.wo.weight").end());
    (void)engine.compute_gradients();
    engine.update(1, 1e-3, 1.0);
    double sum = 0;
    const auto after = master_of(engine, "layers.1.attention.wo.weight");
    for (std::size_t i = 0; i < before.size(); ++i) sum += std::abs(static_cast<double>(after[i] - before[i]));
    return sum;
  };
  const std::string decays = "optimizer.weight_decay=0";
  EXPECT_NEAR(moved({decays, R"(optimizer.groups=["*.wo.weight: lr_scale=0.25"])"}) / moved({decays}), 0.25, 1e-3);
  EXPECT_EQ(moved({R"(optimizer.groups=["*.wo.weight: lr_scale=0"])"}), 0);
}

// ---- accumulation ---------------------------------------------------------------------------------------------------

// N micro-batches against one batch of N: sums of other row counts, and in FP8 recipes other column scales of wgrad,
// which spans fewer tokens. Row scales are those of single tokens either way.
TEST(Accumulation, EqualsTheWholeBatch) {
  for (const char* recipe : {"bf16", "rowwise_hp_wgrad", "rowwise"}) {
    for (const char* weight_codes : {"cached", "per_use"}) {
      const auto run = [&](int batch, int accumulate) {
        Engine engine = small_engine(
            small_config({fmt::format("precision.recipe={}", recipe), fmt::format("training.batch_size={}", batch),
                          fmt::format("training.accumulate={}", accumulate),
                          fmt::format("precision.weight_codes={}", weight_codes)})
                .config);
        StepOutcome last;
        for (int step = 1; step <= 5; ++step) {
          last = engine.compute_gradients();
          engine.update(step, 1e-3, last.grad_norm);
        }
        return last;
      };
      const StepOutcome whole = run(8, 1);
      const bool exact_wgrad = std::string_view(recipe) != "rowwise";
      for (const int parts : {2, 4, 8}) {
        const StepOutcome accumulated = run(8 / parts, parts);
        EXPECT_NEAR(accumulated.loss / whole.loss, 1, exact_wgrad ? 2e-5 : 2e-4) << recipe << " " << parts;
        EXPECT_NEAR(accumulated.grad_norm / whole.grad_norm, 1, exact_wgrad ? 1e-3 : 5e-3) << recipe << " " << parts;
      }
    }
  }
}

}  // namespace
}  // namespace octet::test
