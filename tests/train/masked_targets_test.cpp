// Targets that do not count: losses and gradients are means over those that do, in a step, over its micro-batches, in a
// validation and in a watched step; a step that is replayed from graphs never has any.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <vector>

#include "ops/host_access.h"
#include "train/recording_backend.h"
#include "train/small_engine.h"

namespace octet::test {
namespace {

constexpr std::size_t kRow = 16;  // seq_len of the small model, whose batches have two rows

/// Sums over the targets that count.
struct Sums {
  double loss = 0;
  std::vector<double> gradient;
};

void keep(Engine& engine, const std::vector<std::size_t>& kept) {
  std::vector<std::int32_t> masked(engine.targets().size(), -1);
  for (const std::size_t t : kept) masked[t] = engine.targets()[t];
  std::ranges::copy(masked, engine.targets().begin());
}

/// Of an engine on the same weights and tokens whatever the `overrides`, with the targets `kept` alone.
Sums sums_of(const std::vector<std::string>& overrides, const std::vector<std::size_t>& kept) {
  Engine engine = small_engine(small_config(overrides).config, true);
  keep(engine, kept);
  const auto count = static_cast<double>(kept.size());
  Sums sums{engine.compute_gradients().loss * count, {}};
  for (const Slab& slab : engine.model().parameters().slabs()) {
    for (const Tensor& gradients : slab.gradients()) {
      const ops::HostBytes bytes(engine.backend().device(), gradients);
      for (const float g : bytes.as<float>()) sums.gradient.push_back(count * static_cast<double>(g));
    }
  }
  return sums;
}

double norm(const std::vector<double>& x) {
  return std::sqrt(std::inner_product(x.begin(), x.end(), x.begin(), 0.0));
}

/// How far `whole` is from `a` + `b`, relative to it.
double distance_from_sum(const Sums& whole, const Sums& a, const Sums& b) {
  std::vector<double> difference(whole.gradient.size());
  for (std::size_t i = 0; i < difference.size(); ++i) {
    difference[i] = whole.gradient[i] - a.gradient[i] - b.gradient[i];
  }
  return norm(difference) / norm(whole.gradient);
}

/// Few targets in the one row, many in the other: a mean of means would be far off.
const std::vector<std::size_t> kFew{2, 5};
const std::vector<std::size_t> kMany{16, 17, 19, 20, 22, 23, 24, 25, 27, 28, 30, 31};

std::vector<std::size_t> both() {
  std::vector<std::size_t> all = kFew;
  all.insert(all.end(), kMany.begin(), kMany.end());
  return all;
}

class MaskedTargets : public testing::TestWithParam<std::vector<std::string>> {};
INSTANTIATE_TEST_SUITE_P(Batches, MaskedTargets,
                         testing::Values(std::vector<std::string>{},
                                         std::vector<std::string>{"training.batch_size=1", "training.accumulate=2"}),
                         [](const auto& each) { return "Case" + std::to_string(each.index); });

TEST_P(MaskedTargets, LossesAndGradientsAreMeansOverTheOthers) {
  const Sums few = sums_of(GetParam(), kFew);
  const Sums many = sums_of(GetParam(), kMany);
  const Sums all = sums_of(GetParam(), both());
  EXPECT_NEAR(all.loss, few.loss + many.loss, 1e-9 * all.loss);
  EXPECT_GT(norm(few.gradient), 0.01 * norm(all.gradient));
  EXPECT_LT(distance_from_sum(all, few, many), 0.01) << "gradients are rounded to bf16 on their way";
}

TEST_P(MaskedTargets, AllOfThemMakeAStepWithoutLossOrGradient) {
  const Sums none = sums_of(GetParam(), {});
  EXPECT_EQ(none.loss, 0);
  EXPECT_EQ(norm(none.gradient), 0);
}

TEST(MaskedTargets, CountInValidation) {
  Engine engine = small_engine(small_config({"data.validation=v.tok"}).config);
  const std::vector<std::int32_t> targets(engine.targets().begin(), engine.targets().end());
  const auto sum_of = [&](const std::vector<std::size_t>& kept) {
    std::ranges::copy(targets, engine.targets().begin());
    keep(engine, kept);
    return engine.validate() * static_cast<double>(kept.size());
  };
  EXPECT_NEAR(sum_of(both()), sum_of(kFew) + sum_of(kMany), 1e-9 * sum_of(both()));
  keep(engine, {});
  EXPECT_EQ(engine.validate(), 0);
}

TEST(MaskedTargets, CountInWatchedLosses) {
  const std::vector<std::string> overrides{"training.batch_size=1", "training.accumulate=2", "precision.shadow=bf16",
                                           "precision.shadow_interval=1", "precision.recipe=bf16"};
  Engine engine = small_engine(small_config(overrides).config);
  keep(engine, both());
  (void)engine.compute_watched_gradients();
  const double few = sums_of({"training.batch_size=1", "training.accumulate=2"}, kFew).loss / 2;
  EXPECT_NEAR(engine.watched_losses().bf16, few, 1e-9) << "the first micro-batch is the first row";
  EXPECT_NEAR(engine.watched_losses().recipe, few, 1e-9);
}

/// A graph keeps the scale of its losses: a step in which fewer targets count is run op by op, and those after it are
/// replayed again.
TEST(MaskedTargets, AreNotReplayed) {
  const auto train_masked = [](const char* graphs) {
    const Config config = small_config({std::string("runtime.graphs=") + graphs, "data.validation=v.tok"}).config;
    Engine engine = small_engine(config, make_recording_backend());
    std::vector<double> norms;
    for (int step = 1; step <= 6; ++step) {
      const std::vector<std::int32_t> targets(engine.targets().begin(), engine.targets().end());
      if (step == 1 || step == 4) keep(engine, kFew);
      const StepOutcome outcome = engine.compute_gradients();
      EXPECT_EQ(engine.captured_step().replayed(), std::string_view(graphs) == "auto" && (step == 5 || step == 6));
      norms.push_back(outcome.grad_norm);
      engine.update(step, 1e-2, outcome.grad_norm);
      std::ranges::copy(targets, engine.targets().begin());
    }
    return norms;
  };
  EXPECT_EQ(train_masked("auto"), train_masked("off"));
}

}  // namespace
}  // namespace octet::test
