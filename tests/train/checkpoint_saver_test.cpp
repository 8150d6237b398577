// Checkpoints written while training goes on: the bytes are those of the step, whatever comes behind it.
#include "train/checkpoint_saver.h"

#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "io/scratch.h"
#include "train/recording_backend.h"
#include "train/small_deepseek_run.h"
#include "train/small_engine.h"

namespace octet::test {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

std::vector<std::byte> bytes_of(const Tensor& tensor) {
  const auto* first = static_cast<const std::byte*>(tensor.raw());
  return {first, first + tensor.bytes()};
}

void take_step(Engine& engine, std::int64_t step) {
  engine.update(step, 1e-2, engine.compute_gradients().grad_norm);
}

class CheckpointSaverTest : public testing::Test {
 protected:
  CheckpointSaverTest() { take_step(engine_, 1); }

  void expect_the_bytes_of_a_save_in_one_go(const Config& config) const {
    expect_the_bytes_of_a_save_in_one_go(config, small_engine(config));
  }
  void expect_the_bytes_of_a_save_in_one_go(const Config& config, Engine engine) const {
    take_step(engine, 1);
    const TrainState state = {1, position_in_data({4, 7}), 2.5};
    save_checkpoint(directory_.path() / "at_once", engine.backend().device(), engine.model().parameters(), config,
                    state);
    CheckpointSaver saver(directory_.path() / "behind", engine, config);
    saver.save(state, false);
    EXPECT_EQ(saver.under_way(), 1);
    for (std::int64_t step = 2; step <= 5; ++step) take_step(engine, step);
    const auto saved = saver.finish();
    ASSERT_TRUE(saved.has_value());
    EXPECT_EQ(saved->step, 1);
    EXPECT_GT(saved->milliseconds, 0);
    for (const std::string_view name : {kModelFile, kOptimizerFile, kStateFile}) {
      EXPECT_TRUE(file("behind", name) == file("at_once", name)) << name;
    }
    EXPECT_FALSE(saver.under_way().has_value());
    EXPECT_FALSE(saver.next().has_value()) << "heard of once";
  }

  [[nodiscard]] std::string file(std::string_view run, std::string_view name) const {
    return read_file(directory_.path() / run / "step-00000001" / name);
  }

  Config config_ = small_config({"precision.recipe=rowwise", "checkpoint.interval=1"}).config;
  Engine engine_ = small_engine(config_);
  ScratchDirectory directory_;
};

TEST_F(CheckpointSaverTest, BehindStepsTheBytesAreThoseOfASaveInOneGo) {
  expect_the_bytes_of_a_save_in_one_go(config_);
}

TEST_F(CheckpointSaverTest, SoAreThoseOfExpertsBiasesAndOfBf16) {
  expect_the_bytes_of_a_save_in_one_go(
      small_deepseek_config({"checkpoint.interval=1", "optimizer.parameters=bf16", "optimizer.moments=bf16"}).config);
}

/// The copy is complete before the next step, whose update is captured and then replayed.
TEST_F(CheckpointSaverTest, SoAreThoseOfADeviceWithMemoryOfItsOwnThatReplaysGraphs) {
  expect_the_bytes_of_a_save_in_one_go(config_, small_engine(config_, make_recording_backend()));
}

TEST_F(CheckpointSaverTest, TheLastSaveIsDoneWhenItReturns) {
  CheckpointSaver saver(directory_.path() / "last", engine_, config_);
  saver.save({1, position_in_data({4, 7})}, true);
  EXPECT_FALSE(saver.under_way().has_value());
  EXPECT_EQ(list_checkpoints(directory_.path() / "last").size(), 1U);
  EXPECT_EQ(saver.next().value().step, 1);
}

/// The copy is held back: the update comes to the first slab and no further, and goes on as slabs are copied.
TEST_F(CheckpointSaverTest, AnUpdateWaitsForTheSlabThatItIsAboutToChange) {
  CheckpointStaging staging(engine_.backend().device(), engine_.model().parameters());
  const Slab& slab = engine_.model().parameters().slabs().front();
  const std::vector<std::byte> before = bytes_of(slab.master());
  staging.begin();
  std::atomic<bool> updated = false;
  std::atomic<bool> waits = false;
  engine_.before_update([&](std::size_t index) {
    waits = true;
    (void)staging.wait_for(index);
  });
  std::thread training([&] {
    take_step(engine_, 2);
    updated = true;
  });
  while (!waits && !updated) std::this_thread::yield();
  std::this_thread::sleep_for(20ms);
  EXPECT_FALSE(updated);
  EXPECT_EQ(bytes_of(slab.master()), before);
  staging.copy();
  training.join();
  EXPECT_NE(bytes_of(slab.master()), before);
  const std::vector<NamedTensor> values = checkpointed_values(engine_.model().parameters());
  const FileTensor first = staging.file_tensors(values).front();
  EXPECT_TRUE(std::ranges::equal(first.bytes, std::span(before).first(first.bytes.size())));
}

TEST_F(CheckpointSaverTest, EverySlabIsAskedForBeforeItChanges) {
  const auto& slabs = engine_.model().parameters().slabs();
  std::vector<std::vector<std::byte>> before;
  for (const Slab& slab : slabs) before.push_back(bytes_of(slab.master()));
  std::vector<std::size_t> asked;
  engine_.before_update([&](std::size_t index) {
    asked.push_back(index);
    for (std::size_t i = index; i < slabs.size(); ++i) EXPECT_EQ(bytes_of(slabs[i].master()), before[i]) << i;
  });
  take_step(engine_, 2);
  std::vector<std::size_t> all = {0};  // what is trained without gradients comes first
  for (std::size_t i = 0; i < slabs.size(); ++i) all.push_back(i);
  EXPECT_EQ(asked, all);
}

TEST_F(CheckpointSaverTest, AnErrorComesOutOfTheNextCallAndTheNextSaveIsGood) {
  const fs::path place = directory_.write("run", "a file where the directory should be");
  CheckpointSaver saver(place, engine_, config_);
  saver.save({1, position_in_data({4, 7})}, false);
  take_step(engine_, 2);
  const std::string message = user_error([&] { (void)saver.finish(); });
  EXPECT_TRUE(contains(message, place.string())) << message;
  EXPECT_TRUE(contains(message, "older checkpoints are untouched")) << message;
  fs::remove(place);
  saver.save({2, position_in_data({4, 7})}, false);
  EXPECT_EQ(saver.finish().value().step, 2);
  EXPECT_EQ(saver.totals().saves, 1);
}

TEST_F(CheckpointSaverTest, ADirectoryThatIsRemovedMeanwhileIsMadeAgain) {
  CheckpointSaver saver(directory_.path() / "run", engine_, config_);
  saver.save({1, position_in_data({4, 7})}, false);
  (void)saver.finish();
  fs::remove_all(directory_.path() / "run");
  saver.save({2, position_in_data({4, 7})}, false);
  EXPECT_EQ(saver.finish().value().step, 2);
  EXPECT_EQ(list_checkpoints(directory_.path() / "run").size(), 1U);
}

TEST_F(CheckpointSaverTest, ASaveUnderWayIsCompletedByWhoStopsEarly) {
  {
    CheckpointSaver saver(directory_.path() / "run", engine_, config_);
    saver.save({1, position_in_data({4, 7})}, false);
  }
  EXPECT_EQ(list_checkpoints(directory_.path() / "run").size(), 1U);
  take_step(engine_, 2);  // and no longer asks the saver
}

}  // namespace
}  // namespace octet::test
