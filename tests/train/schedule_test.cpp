// Learning rates against closed forms.
#include "train/schedule.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

namespace octet {
namespace {

constexpr double kPeak = 2e-3;

/// 10 steps of warm-up and 100 after them.
Config config_of(Config::Decay decay, double min_lr_ratio = 0, double decay_fraction = 1) {
  Config config;
  config.training.steps = 110;
  config.optimizer.lr = kPeak;
  config.schedule = {10, decay, decay_fraction, min_lr_ratio};
  return config;
}

/// The rate as a share of the peak.
double share(const Config& config, std::int64_t step) {
  return learning_rate(config, step) / kPeak;
}

class EveryDecay : public testing::TestWithParam<Config::Decay> {};
INSTANTIATE_TEST_SUITE_P(Schedule, EveryDecay,
                         testing::Values(Config::Decay::constant, Config::Decay::linear, Config::Decay::cosine,
                                         Config::Decay::sqrt),
                         [](const auto& decay) { return std::string(config_name(decay.param)); });

TEST_P(EveryDecay, WarmsUpLinearlyToThePeak) {
  const Config config = config_of(GetParam());
  for (std::int64_t step = 1; step <= 10; ++step) {
    EXPECT_DOUBLE_EQ(share(config, step), static_cast<double>(step) / 10);
  }
}

TEST_P(EveryDecay, EndsAtTheLowestRate) {
  const double lowest = GetParam() == Config::Decay::constant ? 1.0 : 0.25;
  EXPECT_NEAR(share(config_of(GetParam(), 0.25), 110), lowest, 1e-12);
}

TEST_P(EveryDecay, NeverRisesAfterWarmUp) {
  const Config config = config_of(GetParam(), 0.1, 0.7);
  for (std::int64_t step = 10; step < 110; ++step) EXPECT_LE(share(config, step + 1), share(config, step)) << step;
}

TEST_P(EveryDecay, StaysAtThePeakUntilItsFractionOfTheEnd) {
  const Config config = config_of(GetParam(), 0, 0.2);  // steps 91 to 110
  for (const std::int64_t step : {10, 11, 50, 90}) EXPECT_DOUBLE_EQ(share(config, step), 1.0) << step;
  if (GetParam() == Config::Decay::constant) return;
  EXPECT_LT(share(config, 91), 1.0);
}

TEST(Schedule, ClosedForms) {
  for (std::int64_t step = 11; step <= 110; ++step) {
    const double t = static_cast<double>(step - 10) / 100;
    EXPECT_DOUBLE_EQ(share(config_of(Config::Decay::constant), step), 1.0);
    EXPECT_NEAR(share(config_of(Config::Decay::linear), step), 1 - t, 1e-12);
    EXPECT_NEAR(share(config_of(Config::Decay::cosine), step), std::pow(std::cos(std::numbers::pi / 2 * t), 2), 1e-12);
    EXPECT_NEAR(share(config_of(Config::Decay::sqrt), step), 1 - std::sqrt(t), 1e-12);
  }
}

TEST(Schedule, LowestRateIsAShareOfThePeak) {
  EXPECT_NEAR(share(config_of(Config::Decay::linear, 0.1), 60), 0.1 + 0.9 * 0.5, 1e-12);
  EXPECT_NEAR(share(config_of(Config::Decay::sqrt, 0.1), 35), 0.1 + 0.9 * 0.5, 1e-12);
}

TEST(Schedule, DecaysWithinItsFraction) {
  EXPECT_NEAR(share(config_of(Config::Decay::linear, 0, 0.2), 100), 0.5, 1e-12);
  EXPECT_NEAR(share(config_of(Config::Decay::cosine, 0, 0.2), 100), 0.5, 1e-12);
}

TEST(Schedule, WithoutWarmUpTheFirstStepDecays) {
  Config config = config_of(Config::Decay::linear);
  config.training.steps = 100;
  config.schedule.warmup_steps = 0;
  EXPECT_NEAR(share(config, 1), 0.99, 1e-12);
  EXPECT_NEAR(share(config, 100), 0.0, 1e-12);
}

TEST(Schedule, WarmUpMayTakeEveryStep) {
  Config config = config_of(Config::Decay::cosine);
  config.schedule.warmup_steps = 110;
  EXPECT_DOUBLE_EQ(share(config, 55), 0.5);
  EXPECT_DOUBLE_EQ(share(config, 110), 1.0);
}

}  // namespace
}  // namespace octet
