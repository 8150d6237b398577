// The loop as its listener sees it: order of events, interruptions, steps left out.
#include "train/trainer.h"

#include <gtest/gtest.h>

#include <csignal>

#include "train/small_run.h"

namespace octet::test {
namespace {

using Events = std::vector<std::string>;

class Heard final : public TrainListener {
 public:
  void on_start(const Engine&, std::int64_t first_step, std::int64_t last_step) override {
    events.push_back(fmt::format("start {} {}", first_step, last_step));
  }
  void on_records(const RecordPlan& plan) override { events.push_back(fmt::format("records {}", plan.records)); }
  void on_untuned_products(const std::vector<std::string>& products) override {
    events.push_back(fmt::format("untuned {}", products.size()));
  }
  void on_step(const io::StepMetrics& record, double) override {
    events.push_back(fmt::format("step {}{}", record.step, record.val_loss ? " validated" : ""));
  }
  void on_checkpoint(const std::filesystem::path&, const io::SavedCheckpoint& saved) override {
    EXPECT_LE(saved.stall_milliseconds, saved.milliseconds);
    events.push_back(fmt::format("checkpoint {}", saved.step));
  }
  void on_checkpoint_wait(std::int64_t, std::int64_t) override {}
  void on_watch(const io::WatchedStep& watched) override { events.push_back(fmt::format("watched {}", watched.step)); }
  void on_skip(std::int64_t step, const std::string& first) override {
    EXPECT_FALSE(first.empty());
    events.push_back(fmt::format("skip {}", step));
  }

  Events events;
};

class TrainerTest : public SmallRuns {
 protected:
  /// Trains in one directory; a signal is pending once `signal_after` events were heard.
  TrainOutcome train(const std::vector<std::string>& overrides, Resume resume = Resume::never,
                     std::size_t signal_after = 999) {
    TrainRequest wanted = request("run", overrides);
    wanted.resume = resume;
    return train(std::move(wanted), signal_after);
  }
  TrainOutcome train(TrainRequest wanted, std::size_t signal_after = 999) {
    Trainer trainer(std::move(wanted), heard_,
                    [=, this] { return heard_.events.size() >= signal_after ? SIGTERM : 0; });
    return trainer.train();
  }

  Heard heard_;
};

TEST_F(TrainerTest, TellsItsListenerInOrder) {
  const TrainOutcome outcome =
      train({"checkpoint.interval=3", "checkpoint.asynchronous=false", "validation.interval=2"});
  EXPECT_EQ(heard_.events, (Events{"start 1 4", "step 1", "step 2 validated", "step 3", "checkpoint 3",
                                   "step 4 validated", "checkpoint 4"}));
  EXPECT_TRUE(outcome.finished);
  EXPECT_EQ(outcome.steps_done, 4);
  EXPECT_TRUE(outcome.result.val_loss.has_value());
}

/// When a checkpoint is whole is the disk's matter; that each is heard of once, in their order, is not.
TEST_F(TrainerTest, SavesBehindItsSteps) {
  const TrainOutcome outcome = train({"checkpoint.interval=1", "checkpoint.keep=4", "training.steps=4"});
  Events checkpoints;
  std::ranges::copy_if(heard_.events, std::back_inserter(checkpoints),
                       [](const std::string& event) { return event.starts_with("checkpoint"); });
  EXPECT_EQ(checkpoints, (Events{"checkpoint 1", "checkpoint 2", "checkpoint 3", "checkpoint 4"}));
  EXPECT_EQ(outcome.result.saves.saves, 4);
  EXPECT_LE(outcome.result.saves.stall_milliseconds, outcome.result.saves.milliseconds);
  EXPECT_EQ(list_checkpoints(path("run") / "checkpoints").size(), 4U);
  std::vector<std::int64_t> recorded;  // the last has no line behind it, nor has the third if the last waits for it
  for (const io::StepMetrics& step : io::read_run(path("run")).metrics) {
    if (step.checkpoint) recorded.push_back(step.checkpoint->step);
  }
  recorded.resize(std::min<std::size_t>(recorded.size(), 2));
  EXPECT_EQ(recorded, (std::vector<std::int64_t>{1, 2}));
}

TEST_F(TrainerTest, ASignalEndsItAfterTheStepWithACheckpoint) {
  const TrainOutcome outcome = train({}, Resume::never, 3);
  EXPECT_EQ(heard_.events, (Events{"start 1 4", "step 1", "step 2", "checkpoint 2"}));
  EXPECT_FALSE(outcome.finished);
  EXPECT_EQ(outcome.signal, SIGTERM);
  EXPECT_EQ(outcome.steps_done, 2);
  heard_.events.clear();
  EXPECT_TRUE(train({}, Resume::must).finished);
  EXPECT_EQ(heard_.events, (Events{"start 3 4", "step 3", "step 4 validated", "checkpoint 4"}));
}

TEST_F(TrainerTest, NonFiniteStepsAreLeftOutAndTheRunGoesOn) {
  const TrainOutcome outcome = train({"optimizer.lr=1e30", "training.on_nan=skip"});
  EXPECT_EQ(heard_.events, (Events{"start 1 4", "step 1", "skip 2", "step 2", "skip 3", "step 3", "skip 4",
                                   "step 4 validated", "checkpoint 4"}));
  EXPECT_TRUE(outcome.finished);
  EXPECT_NEAR(outcome.result.train_loss, 5.55, 0.2);  // of the one step that counts
}

TEST_F(TrainerTest, NonFiniteStepsAreAFailureUnlessSkipped) {
  EXPECT_THROW((void)train({"optimizer.lr=1e30"}), Failure);
  EXPECT_EQ(heard_.events, (Events{"start 1 4", "step 1"}));
}

TEST_F(TrainerTest, SaysWhatItWillRecord) {
  TrainRequest wanted = request("run");
  wanted.record = {true, true, 2};
  (void)train(std::move(wanted));
  ASSERT_GE(heard_.events.size(), 2U);
  EXPECT_EQ(heard_.events[1], "records 2");
}

TEST_F(TrainerTest, AProfileCutShortHoldsTheStepsThatRan) {
  TrainRequest wanted = request("run");
  wanted.profile = StepRange{2, 4};
  (void)train(std::move(wanted), 3);  // start, step 1, step 2
  const std::string profile = read_file(path("run") / "profile.json");
  EXPECT_TRUE(contains(profile, "step 2"));
  EXPECT_EQ(profile.find("step 3"), std::string::npos);
}

TEST_F(TrainerTest, AProfileOfThePastIsRefusedUnlessItWasMade) {
  const auto go_on = [&](StepRange steps) {
    TrainRequest wanted = request("run", {"training.steps=" + std::to_string(6)});
    wanted.resume = Resume::must;
    wanted.profile = steps;
    (void)train(std::move(wanted));
  };
  (void)train({"training.steps=3"});
  EXPECT_TRUE(contains(user_error([&] { go_on({1, 3}); }), "--profile ends at step 3, but the run goes on at step 4"));
  (void)train({"training.steps=4"}, Resume::must);
  const std::filesystem::path file = path("run") / "profile.json";
  std::ofstream(file) << "made before";
  go_on({1, 3});
  EXPECT_EQ(read_file(file), "made before");
}

}  // namespace
}  // namespace octet::test
