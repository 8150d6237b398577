// What a checkpoint keeps, which ones are kept, and what a killed or damaged one looks like.
#include "train/checkpoint.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "io/files.h"
#include "io/safetensors.h"
#include "io/scratch.h"
#include "train/small_engine.h"

namespace octet::test {
namespace {

namespace fs = std::filesystem;

std::vector<float> copy_of(const Tensor& tensor) {
  const float* first = tensor.ptr<float>();
  return {first, first + tensor.numel()};
}

class CheckpointTest : public testing::Test {
 protected:
  CheckpointTest() { take_steps(engine_); }

  static void take_steps(Engine& engine) {
    for (std::int64_t step = 1; step <= 2; ++step) {
      engine.update(step, 1e-2, engine.compute_gradients().grad_norm);
    }
  }

  void save(std::int64_t step, std::int64_t keep = 10) const {
    save_checkpoint(directory_.path(), engine_.backend().device(), engine_.model().parameters(), config_,
                    {step, kPosition}, keep);
  }
  [[nodiscard]] TrainState load(const fs::path& checkpoint, LoadOptimizer optimizer = LoadOptimizer::yes) const {
    return load_checkpoint(checkpoint, engine_.backend().device(), engine_.model().parameters(), config_, optimizer);
  }
  [[nodiscard]] std::vector<std::string> listed() const {
    std::vector<std::string> names;
    for (const fs::path& checkpoint : list_checkpoints(directory_.path())) names.push_back(checkpoint.filename());
    return names;
  }

  const MixState kPosition{{{.rule = {}, .position = {4, 7}}}};
  Config config_ = small_config({"precision.recipe=rowwise"}).config;
  Engine engine_ = small_engine(config_);
  ScratchDirectory directory_;
};

using Names = std::vector<std::string>;

TEST_F(CheckpointTest, RoundTripIsBitwise) {
  save(2);
  Engine other = small_engine(config_);
  const auto checkpoint = list_checkpoints(directory_.path()).at(0);
  const TrainState state =
      load_checkpoint(checkpoint, other.backend().device(), other.model().parameters(), config_, LoadOptimizer::yes);
  EXPECT_EQ(state.step, 2);
  EXPECT_EQ(state.loader, kPosition);
  const auto& saved = engine_.model().parameters().slabs();
  const auto& loaded = other.model().parameters().slabs();
  for (std::size_t i = 0; i < saved.size(); ++i) {
    EXPECT_EQ(copy_of(loaded[i].master()), copy_of(saved[i].master())) << saved[i].name();
    EXPECT_EQ(copy_of(loaded[i].first_moment()), copy_of(saved[i].first_moment())) << saved[i].name();
    EXPECT_EQ(copy_of(loaded[i].second_moment()), copy_of(saved[i].second_moment())) << saved[i].name();
  }
}

TEST_F(CheckpointTest, KeepsTheNewest) {
  for (const std::int64_t step : {1, 2, 3, 10}) save(step, 2);
  EXPECT_EQ(listed(), (Names{"step-00000003", "step-00000010"}));
}

TEST_F(CheckpointTest, SavingAStepAgainReplacesIt) {
  save(3);
  take_steps(engine_);
  const auto changed = copy_of(engine_.model().parameters().slabs().front().master());
  save(3);
  EXPECT_EQ(listed(), (Names{"step-00000003"}));
  EXPECT_EQ(std::distance(fs::directory_iterator(directory_.path()), fs::directory_iterator()), 1);
  engine_.model().parameters().initialize(engine_.backend().device(), 2);
  (void)load(list_checkpoints(directory_.path()).at(0));
  EXPECT_EQ(copy_of(engine_.model().parameters().slabs().front().master()), changed);
}

TEST_F(CheckpointTest, PartialOnesAreNeverListedAndGoWithTheNextSave) {
  save(3);
  fs::create_directory(directory_.path() / "step-00000004.partial");
  directory_.write("step-00000004.partial/model.safetensors", "half");
  fs::create_directory(directory_.path() / "step-00000002.replaced.partial");
  EXPECT_EQ(listed(), (Names{"step-00000003"}));
  save(5);
  EXPECT_EQ(listed(), (Names{"step-00000003", "step-00000005"}));
  EXPECT_EQ(std::distance(fs::directory_iterator(directory_.path()), fs::directory_iterator()), 2);
}

TEST_F(CheckpointTest, ListsNothingElse) {
  EXPECT_TRUE(list_checkpoints(directory_.path() / "nowhere").empty());
  directory_.write("step-00000001", "a file");
  fs::create_directory(directory_.path() / "notes");
  EXPECT_TRUE(listed().empty());
}

TEST_F(CheckpointTest, EveryFlippedByteOfTheStateIsNoticed) {
  save(2);
  const fs::path checkpoint = list_checkpoints(directory_.path()).at(0);
  const std::string state = read_file(checkpoint / "state.json");
  for (std::size_t i = 0; i + 1 < state.size(); ++i) {  // the last is a line end
    std::string damaged = state;
    damaged[i] ^= 1;
    std::ofstream(checkpoint / "state.json") << damaged;
    const std::string message = user_error([&] { (void)load(checkpoint); });
    EXPECT_TRUE(contains(message, (checkpoint / "state.json").string())) << "byte " << i;
  }
}

TEST_F(CheckpointTest, WeightsAloneNeedNoOptimizer) {
  save(2);
  const fs::path checkpoint = list_checkpoints(directory_.path()).at(0);
  fs::remove(checkpoint / "optimizer.safetensors");
  EXPECT_EQ(load(checkpoint, LoadOptimizer::no).step, 2);
  EXPECT_TRUE(contains(user_error([&] { (void)load(checkpoint); }), "optimizer.safetensors"));
}

TEST_F(CheckpointTest, AnotherModelIsNamedByItsDifferences) {
  save(2);
  config_.model.norm_eps = 1e-3;
  config_.model.rope_scaling.factor = 2;
  const std::string message = user_error([&] { (void)load(list_checkpoints(directory_.path()).at(0)); });
  EXPECT_TRUE(contains(message, "norm_eps is 1e-05 in the checkpoint and 0.001 here"));
  EXPECT_TRUE(contains(message, "rope_scaling.factor is 1.0 in the checkpoint and 2.0 here"));
}

TEST_F(CheckpointTest, AModelSavedBeforeAKeyWasThereHasItsDefault) {
  save(2);
  const fs::path checkpoint = list_checkpoints(directory_.path()).at(0);
  auto state = nlohmann::json::parse(read_file(checkpoint / "state.json"));
  EXPECT_EQ(state["model"].erase("head_dim"), 1);
  state.erase("checksum");
  const std::string text = state.dump();
  state["checksum"] = fmt::format("{:016x}", checksum(std::as_bytes(std::span(text))));
  std::ofstream(checkpoint / "state.json") << state.dump();
  EXPECT_EQ(load(checkpoint).step, 2);
  config_.model.own_head_dim = 32;
  EXPECT_TRUE(contains(user_error([&] { (void)load(checkpoint); }), "head_dim is 0 in the checkpoint and 32 here"));
}

}  // namespace
}  // namespace octet::test
