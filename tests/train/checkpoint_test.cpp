// What a checkpoint keeps, which ones are kept, and what a killed or damaged one looks like.
#include "train/checkpoint.h"

#include <gtest/gtest.h>

#include <cmath>
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

  void save(std::int64_t step, std::optional<double> val_loss = {}) const {
    save_checkpoint(directory_.path(), engine_.backend().device(), engine_.model().parameters(), config_,
                    {step, kPosition, val_loss});
  }
  [[nodiscard]] TrainState load(const fs::path& checkpoint, LoadOptimizer optimizer = LoadOptimizer::yes) const {
    return load_checkpoint(checkpoint, engine_.backend().device(), engine_.model().parameters(), config_, optimizer);
  }
  [[nodiscard]] std::vector<std::string> listed() const {
    std::vector<std::string> names;
    for (const fs::path& checkpoint : list_checkpoints(directory_.path())) names.push_back(checkpoint.filename());
    return names;
  }

  const MixState kPosition = position_in_data({4, 7});
  Config config_ = small_config({"precision.recipe=rowwise", "checkpoint.keep=10"}).config;
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

TEST_F(CheckpointTest, KeepsTheNewestMultiplesAndTheBest) {
  config_.checkpoint = {.keep = 2, .keep_every = 4, .keep_best = 1};
  save(1, 3.0);
  save(2, 1.5);
  save(3, 2.0);
  save(4, 2.5);
  save(5);
  save(10, std::nan(""));
  save(11, 1.75);
  EXPECT_EQ(listed(), (Names{"step-00000002", "step-00000004", "step-00000010", "step-00000011"}));
}

/// Three that are old, each a little off; none is removed, and none counts among the two that are kept.
TEST_F(CheckpointTest, RemovesNothingThatItDoesNotUnderstand) {
  config_.checkpoint.keep = 2;
  save(1);
  fs::rename(directory_.path() / "step-00000001", directory_.path() / "step-00000003");  // of another step
  save(4);
  directory_.write("step-00000004/notes.txt", "the good one");
  save(5);
  directory_.write("step-00000005/state.json", "{}");
  for (const std::int64_t step : {6, 7, 8}) save(step);
  EXPECT_EQ(listed(), (Names{"step-00000003", "step-00000004", "step-00000005", "step-00000007", "step-00000008"}));
}

TEST_F(CheckpointTest, TheStateKeepsTheValidationLoss) {
  save(1, 2.125);
  save(2);
  save(3, std::nan(""));
  const auto loss = [&](std::string_view name) {
    return read_checkpoint_state(directory_.path() / name / "state.json").train.val_loss;
  };
  EXPECT_EQ(loss("step-00000001"), 2.125);
  EXPECT_EQ(loss("step-00000002"), std::nullopt);
  EXPECT_TRUE(std::isnan(loss("step-00000003").value()));
}

TEST_F(CheckpointTest, ADeepStateIsRefused) {
  save(2);
  directory_.write("step-00000002/state.json", std::string(100'000, '['));
  EXPECT_TRUE(contains(user_error([&] { (void)load(directory_.path() / "step-00000002"); }), "nested deeper than"));
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
  fs::create_directory(directory_.path() / "mine.partial");  // nobody's but the user's
  EXPECT_EQ(listed(), (Names{"step-00000003"}));
  save(5);
  EXPECT_EQ(listed(), (Names{"step-00000003", "step-00000005"}));
  EXPECT_TRUE(fs::exists(directory_.path() / "mine.partial"));
  EXPECT_EQ(std::distance(fs::directory_iterator(directory_.path()), fs::directory_iterator()), 3);
}

TEST_F(CheckpointTest, ListsNothingElse) {
  EXPECT_TRUE(list_checkpoints(directory_.path() / "nowhere").empty());
  directory_.write("step-00000001", "a file");
  for (const char* name : {"notes", "step-1", "step-00000002x", "step--0000001", "step-99999999999999999999"}) {
    fs::create_directory(directory_.path() / name);
  }
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
