// The loop as its listener sees it: order of events, interruptions, steps left out.
#include "train/trainer.h"

#include <gtest/gtest.h>

#include <csignal>

#include "data/shard_writer.h"
#include "io/scratch.h"
#include "train/small_engine.h"

namespace octet::test {
namespace {

using Events = std::vector<std::string>;

class Recorder final : public TrainListener {
 public:
  void on_start(const Engine&, std::int64_t first_step, std::int64_t last_step) override {
    events.push_back(fmt::format("start {} {}", first_step, last_step));
  }
  void on_step(const StepRecord& record, double) override {
    events.push_back(fmt::format("step {}{}", record.step, record.val_loss ? " validated" : ""));
  }
  void on_checkpoint(const std::filesystem::path&, std::int64_t step) override {
    events.push_back(fmt::format("checkpoint {}", step));
  }
  void on_watch(const io::WatchedStep& watched) override { events.push_back(fmt::format("watched {}", watched.step)); }
  void on_skip(std::int64_t step, const std::string& first) override {
    EXPECT_FALSE(first.empty());
    events.push_back(fmt::format("skip {}", step));
  }

  Events events;
};

class TrainerTest : public testing::Test {
 protected:
  TrainerTest() {
    ShardWriter shard(data_, 256);
    std::vector<std::int32_t> tokens(1000);
    std::ranges::generate(tokens, [n = 0]() mutable { return n = (n * 37 + 11) % 256; });
    shard.append(tokens);
    shard.finish();
  }

  /// Trains in the test's directory; a signal is pending once `signal_after` events were heard.
  TrainOutcome train(std::vector<std::string> overrides, Resume resume = Resume::never,
                     std::size_t signal_after = 999) {
    overrides.push_back("data.train=" + data_.string());
    overrides.push_back("data.validation=" + data_.string());
    Trainer trainer({small_config(overrides), scratch_.path() / "run", resume, {"test"}, false}, recorder_,
                    [&] { return recorder_.events.size() >= signal_after ? SIGTERM : 0; });
    return trainer.train();
  }

  ScratchDirectory scratch_;
  std::filesystem::path data_ = scratch_.path() / "data.tok";
  Recorder recorder_;
};

TEST_F(TrainerTest, TellsItsListenerInOrder) {
  const TrainOutcome outcome = train({"checkpoint.interval=3", "validation.interval=2"});
  EXPECT_EQ(recorder_.events, (Events{"start 1 4", "step 1", "step 2 validated", "step 3", "checkpoint 3",
                                      "step 4 validated", "checkpoint 4"}));
  EXPECT_TRUE(outcome.finished);
  EXPECT_EQ(outcome.steps_done, 4);
  EXPECT_TRUE(outcome.result.val_loss.has_value());
}

TEST_F(TrainerTest, ASignalEndsItAfterTheStepWithACheckpoint) {
  const TrainOutcome outcome = train({}, Resume::never, 3);
  EXPECT_EQ(recorder_.events, (Events{"start 1 4", "step 1", "step 2", "checkpoint 2"}));
  EXPECT_FALSE(outcome.finished);
  EXPECT_EQ(outcome.signal, SIGTERM);
  EXPECT_EQ(outcome.steps_done, 2);
  recorder_.events.clear();
  EXPECT_TRUE(train({}, Resume::must).finished);
  EXPECT_EQ(recorder_.events, (Events{"start 3 4", "step 3", "step 4 validated", "checkpoint 4"}));
}

TEST_F(TrainerTest, NonFiniteStepsAreLeftOutAndTheRunGoesOn) {
  const TrainOutcome outcome = train({"optimizer.lr=1e30", "training.on_nan=skip"});
  EXPECT_EQ(recorder_.events, (Events{"start 1 4", "step 1", "skip 2", "step 2", "skip 3", "step 3", "skip 4",
                                      "step 4 validated", "checkpoint 4"}));
  EXPECT_TRUE(outcome.finished);
  EXPECT_NEAR(outcome.result.train_loss, 5.55, 0.2);  // of the one step that counts
}

TEST_F(TrainerTest, NonFiniteStepsAreAFailureUnlessSkipped) {
  EXPECT_THROW((void)train({"optimizer.lr=1e30"}), Failure);
  EXPECT_EQ(recorder_.events, (Events{"start 1 4", "step 1"}));
}

}  // namespace
}  // namespace octet::test
