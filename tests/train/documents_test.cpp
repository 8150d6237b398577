// Where documents begin, from the host to attention: planned where it is wanted alone, brought to each micro-batch, and
// part of replayed steps.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "train/recording_backend.h"
#include "train/small_engine.h"

namespace octet::test {
namespace {

Config config_with(Config::Boundaries boundaries, std::vector<std::string> overrides = {}) {
  overrides.emplace_back("data.validation=validation.tok");  // so that validation is planned
  Config config = small_config(overrides).config;
  config.data.boundaries = boundaries;
  return config;
}

/// Documents of `length` tokens in each row.
void pack(Engine& engine, std::int32_t length) {
  constexpr std::int32_t kSeqLen = 16;
  std::ranges::generate(engine.document_start(), [i = 0, length]() mutable { return i++ % kSeqLen / length * length; });
}

TEST(EngineDocuments, TakeNoMemoryUnlessTheyAreWanted) {
  Engine without = small_engine(config_with(Config::Boundaries::ignored));
  Engine with = small_engine(config_with(Config::Boundaries::attention));
  EXPECT_TRUE(without.document_start().empty());
  EXPECT_EQ(with.document_start().size(), with.inputs().size());
  const auto is_planned = [](const Engine& engine) {
    return std::ranges::count(engine.plan().persistent, "document_start", &PlannedPiece::name);
  };
  EXPECT_EQ(is_planned(without), 0);
  EXPECT_EQ(is_planned(with), 1);
}

TEST(EngineDocuments, OfWholeRowsChangeNoBit) {
  Engine without = small_engine(config_with(Config::Boundaries::ignored));
  Engine with = small_engine(config_with(Config::Boundaries::attention));
  const StepOutcome expected = without.compute_gradients();
  const StepOutcome found = with.compute_gradients();
  EXPECT_EQ(found.loss, expected.loss);
  EXPECT_EQ(found.grad_norm, expected.grad_norm);
  with.discard();
  without.discard();
  EXPECT_EQ(with.validate(), without.validate());
}

TEST(EngineDocuments, ReachTrainingAndValidation) {
  Engine engine = small_engine(config_with(Config::Boundaries::attention));
  const double validated = engine.validate();
  const double whole = engine.compute_gradients().loss;
  pack(engine, 5);
  EXPECT_NE(engine.compute_gradients().loss, whole);
  engine.discard();
  EXPECT_NE(engine.validate(), validated);
}

/// The second micro-batch has what the first of another engine has: its rows have documents of their own.
TEST(EngineDocuments, OfEachMicroBatchAreItsOwn) {
  const auto losses_of = [](std::int32_t first_length, std::int32_t second_length) {
    Engine engine = small_engine(config_with(Config::Boundaries::attention, {"training.accumulate=2"}));
    pack(engine, first_length);
    const auto starts = engine.document_start();
    const std::vector<std::int32_t> first(starts.begin(), starts.begin() + std::ssize(starts) / 2);
    pack(engine, second_length);
    std::ranges::copy(first, starts.begin());
    return engine.compute_gradients().loss;
  };
  const double whole = losses_of(16, 16);
  const double first = losses_of(5, 16) - whole;
  const double second = losses_of(16, 5) - whole;
  EXPECT_NE(first, 0);
  EXPECT_NE(second, 0);
  EXPECT_NEAR(losses_of(5, 5) - whole, first + second, 1e-12) << "losses of micro-batches add up";
}

TEST(EngineDocuments, AreReadAnewByReplayedSteps) {
  for (const char* accumulate : {"training.accumulate=1", "training.accumulate=3"}) {
    std::vector<double> losses[2];
    for (const bool replays : {false, true}) {
      const char* graphs = replays ? "runtime.graphs=auto" : "runtime.graphs=off";
      Engine engine =
          small_engine(config_with(Config::Boundaries::attention, {accumulate, graphs}), make_recording_backend());
      for (std::int32_t step = 1; step <= 5; ++step) {
        pack(engine, 2 * step);
        const StepOutcome outcome = engine.compute_gradients();
        losses[replays ? 1 : 0].push_back(outcome.loss);
        engine.update(step, 1e-2, outcome.grad_norm);
      }
      EXPECT_EQ(engine.captured_step().replayed_steps(), replays ? 3 : 0);
    }
    EXPECT_EQ(losses[1], losses[0]) << accumulate;
  }
}

TEST(EngineDocuments, ThatBreakTheRulesReachNoKernel) {
  Engine engine = small_engine(config_with(Config::Boundaries::attention));
  const auto expect_refused = [&](std::size_t token, std::int32_t start) {
    pack(engine, 4);
    engine.document_start()[token] = start;
    EXPECT_THROW((void)engine.compute_gradients(), Failure) << token << " " << start;
  };
  expect_refused(0, 1);  // behind its token
  expect_refused(5, 6);
  expect_refused(5, -1);
  expect_refused(9, 4);    // before the document of the token before
  expect_refused(17, 16);  // of the row before
  expect_refused(31, std::numeric_limits<std::int32_t>::max());
}

}  // namespace
}  // namespace octet::test
