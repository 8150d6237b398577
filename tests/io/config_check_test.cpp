// Values that contradict each other.
#include <gtest/gtest.h>

#include "io/config.h"
#include "io/config_samples.h"
#include "io/scratch.h"

namespace octet {
namespace {

std::string error_of(const std::vector<std::string>& overrides) {
  return user_error([&] { (void)parse_config(minimal_config, "run.toml", overrides); });
}

TEST(ConfigCheck, HeadsDivide) {
  EXPECT_EQ(error_of({"model.n_heads=3"}),
            "model.n_heads = 3 (--set) does not divide model.dim = 64 (run.toml:3); change one of them");
  EXPECT_TRUE(contains(error_of({"model.n_kv_heads=3"}), "model.n_kv_heads = 3 (--set) does not divide"));
  EXPECT_TRUE(contains(error_of({"model.n_kv_heads=8"}), "model.n_kv_heads = 8 (--set) does not divide"));
}

TEST(ConfigCheck, SumsOverMicroBatchesAreFp32) {
  const std::string error = error_of({"optimizer.gradients=bf16", "training.accumulate=4"});
  EXPECT_TRUE(contains(error, "optimizer.gradients = \"bf16\" (--set)")) << error;
  EXPECT_TRUE(contains(error, "training.accumulate = 4 (--set)")) << error;
  EXPECT_TRUE(contains(error, "set optimizer.gradients = \"fp32\"")) << error;
  const std::vector<std::string> one{"optimizer.gradients=bf16", "training.accumulate=1"};
  EXPECT_NO_THROW((void)parse_config(minimal_config, "run.toml", one));
}

TEST(ConfigCheck, HeadsAreEven) {
  EXPECT_TRUE(contains(error_of({"model.dim=60"}), "model.dim = 60 (--set) and model.n_heads = 4 (run.toml:5)"));
}

TEST(ConfigCheck, WarmUpEndsWithinTheRun) {
  EXPECT_TRUE(contains(error_of({"schedule.warmup_steps=11"}),
                       "schedule.warmup_steps = 11 (--set) exceeds training.steps = 10 (run.toml:9)"));
  const std::vector<std::string> whole_run = {"schedule.warmup_steps=10"};
  EXPECT_EQ(parse_config(minimal_config, "run.toml", whole_run).config.schedule.warmup_steps, 10);
}

TEST(ConfigCheck, RopeScalingHasABand) {
  EXPECT_TRUE(contains(error_of({"model.rope_scaling.factor=8", "model.rope_scaling.low_freq_factor=4"}),
                       "low_freq_factor = 4 (--set) is not below model.rope_scaling.high_freq_factor = 4 (default)"));
  // Without scaling its other keys say nothing.
  const std::vector<std::string> unused = {"model.rope_scaling.low_freq_factor=4"};
  EXPECT_FALSE(parse_config(minimal_config, "run.toml", unused).config.model.rope_scaling.enabled());
}

TEST(ConfigCheck, AShadowFallsOnSomeStep) {
  EXPECT_TRUE(contains(error_of({"precision.shadow=bf16"}),
                       "precision.shadow_interval = 100 (default) exceeds training.steps = 10 (run.toml:9), so that no "
                       "step is watched"));
  const std::vector<std::string> last_step = {"precision.shadow=bf16", "precision.shadow_interval=10"};
  EXPECT_EQ(parse_config(minimal_config, "run.toml", last_step).config.precision.shadow_interval, 10);
}

TEST(ConfigCheck, TheBestCheckpointsHaveAValidationLoss) {
  EXPECT_TRUE(
      contains(error_of({"checkpoint.keep_best=1"}),
               "checkpoint.keep_best = 1 (--set) needs validation losses, but validation.interval = 0 (default)"));
  const std::vector<std::string> validated = {"checkpoint.keep_best=1", "validation.interval=4",
                                              "data.validation=v.tok"};
  std::vector<std::string> missed = validated;
  missed.emplace_back("checkpoint.interval=6");
  EXPECT_TRUE(
      contains(error_of(missed), "checkpoint.interval = 6 (--set) is no multiple of validation.interval = 4 (--set)"));
  std::vector<std::string> met = validated;
  met.emplace_back("checkpoint.interval=8");
  EXPECT_EQ(parse_config(minimal_config, "run.toml", met).config.checkpoint.keep_best, 1);
}

TEST(ConfigCheck, ValidationNeedsData) {
  EXPECT_TRUE(contains(error_of({"validation.interval=5"}), "data.validation is empty"));
}

}  // namespace
}  // namespace octet
