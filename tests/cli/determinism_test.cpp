// The same bits whatever must not matter: the run, threads, when weights are cast; and nearly the same in
// micro-batches.
#include "cli/cli_fixture.h"

namespace octet::test {
namespace {

using Determinism = CliTest;

TEST_F(Determinism, RunsRepeatThemselves) {
  succeed(train("a"));
  succeed(train("b"));
  EXPECT_EQ(trajectory("a"), trajectory("b"));
  succeed(train("c", set("training.seed=2")));
  EXPECT_NE(trajectory("a"), trajectory("c"));
}

TEST_F(Determinism, ThreadsDoNotMatter) {
  for (const char* recipe : {"bf16", "tensorwise", "rowwise"}) {
    const auto with_threads = [&](const std::string& count) {
      const std::string run = recipe + count;
      succeed(train(run, {"--recipe", recipe, "--set", "runtime.threads=" + count}));
      return trajectory(run);
    };
    const Words one = with_threads("1");
    EXPECT_EQ(with_threads("2"), one) << recipe;
    EXPECT_EQ(with_threads("3"), one) << recipe;
  }
}

TEST_F(Determinism, WeightCodesMadePerUseAreTheCachedOnes) {
  for (const char* recipe : {"tensorwise", "rowwise", "rowwise_hp_wgrad"}) {
    const std::string cached = std::string(recipe) + "_cached";
    succeed(train(cached, {"--recipe", recipe}));
    succeed(train(recipe, {"--recipe", recipe, "--set", "precision.weight_codes=per_use"}));
    EXPECT_EQ(trajectory(recipe), trajectory(cached));
    EXPECT_LT(run_json(recipe).at("memory").at("planned_bytes"), run_json(cached).at("memory").at("planned_bytes"));
  }
}

/// In bf16 only the order of the gradient's fp32 sums differs. A forgotten 1 / accumulate would double the norm.
TEST_F(Determinism, AccumulatedMicroBatchesAreOneBatch) {
  const auto with_batch = [&](const std::string& batch, const std::string& accumulate) {
    succeed(train(batch, {"--recipe", "bf16", "--set", "training.batch_size=" + batch, "--set",
                          "training.accumulate=" + accumulate}));
    return trajectory(batch);
  };
  const Words whole = with_batch("4", "1");
  const Words parts = with_batch("2", "2");
  ASSERT_EQ(whole.size(), parts.size());
  for (std::size_t i = 0; i < whole.size(); ++i) {
    const auto a = nlohmann::json::parse(whole[i]);
    const auto b = nlohmann::json::parse(parts[i]);
    for (const char* what : {"loss", "grad_norm"}) {
      const double expected = a.at(what).get<double>();
      EXPECT_NEAR(b.at(what).get<double>(), expected, 5e-4 * expected) << what << " of step " << i + 1;
    }
  }
}

}  // namespace
}  // namespace octet::test
