// Runs on mixes and on marked shards: positions of all sources are saved, and what is resumed goes on as if never
// stopped.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <fstream>

#include "train/loader_record.h"
#include "train/small_run.h"

namespace octet::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class DataRuns : public SmallRuns {
 protected:
  DataRuns() {
    for (int s = 0; s < 3; ++s) {
      ShardWriter shard(path(name(s)), 60, {.tokenizer = 1, .document_end = {}}, {.marked = true});
      std::vector<std::int32_t> tokens(static_cast<std::size_t>(17 * (5 + 4 * s)));
      std::vector<TokenMark> marks;
      std::ranges::generate(tokens, [n = s]() mutable { return n = (n * 37 + 11) % 60; });
      for (std::size_t i = 0; i < tokens.size(); ++i) {
        marks.push_back((i % 7 == 0 ? TokenMark::begins_document : TokenMark::none) |
                        (i % 3 == 0 ? TokenMark::no_target : TokenMark::none));
      }
      shard.append(tokens, marks);
      shard.finish();
    }
  }

  static std::string name(int s) { return "source" + std::to_string(s) + ".tok"; }

  [[nodiscard]] TrainRequest mixed(std::string_view run, Resume resume, std::vector<std::string> overrides) const {
    overrides.emplace_back("training.steps=9");
    TrainRequest wanted = request(run, overrides);
    wanted.loaded.config.data.train = {path(name(0)), path(name(1)), path(name(2))};
    if (wanted.loaded.config.data.mix.empty()) {
      wanted.loaded.config.data.mix = {"*source0*: 0.5", "*source1*: 0.3", "*: 0.2"};
    }
    wanted.loaded.config.data.validation = {path(name(1))};
    wanted.resume = resume;
    return wanted;
  }

  /// Stops after `steps` steps.
  static void train_until(TrainRequest wanted, int steps) {
    struct Counting final : SilentListener {
      void on_step(const io::StepMetrics&, double) override { ++steps; }
      int steps = 0;
    } counting;
    (void)Trainer(std::move(wanted), counting, [&] { return counting.steps >= steps ? SIGTERM : 0; }).train();
  }

  /// The losses of a run's steps, and of its validations, as metrics.jsonl has them.
  [[nodiscard]] std::vector<std::string> losses(std::string_view run) const {
    std::ifstream file(path(run) / "metrics.jsonl");
    std::vector<std::string> found;
    for (std::string line; std::getline(file, line);) {
      const auto step = nlohmann::json::parse(line);
      found.push_back(step.at("loss").dump() + " " + step.value("val_loss", nlohmann::json()).dump());
    }
    return found;
  }
};

TEST_F(DataRuns, ResumeAsIfNeverStopped) {
  (void)train(mixed("whole", Resume::never, {}));
  for (const int stop : {1, 4, 5}) {
    const std::string run = "stopped" + std::to_string(stop);
    train_until(mixed(run, Resume::never, {}), stop);
    (void)train(mixed(run, Resume::must, {}));
    EXPECT_EQ(losses(run), losses("whole")) << "stopped after step " << stop;
  }
  EXPECT_EQ(losses("whole").size(), 9U);
}

TEST_F(DataRuns, AnotherMixIsRefused) {
  train_until(mixed("run", Resume::never, {}), 3);
  TrainRequest other = mixed("run", Resume::must, {});
  other.loaded.config.data.mix[2] = "*: 0.3";
  const auto error_of = [](const TrainRequest& wanted) {
    try {
      (void)train(wanted);
    } catch (const UserError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_THAT(error_of(other), AllOf(HasSubstr("source 3 of data is \"*: 0.2\""), HasSubstr("\"*: 0.3\"")));
  other.loaded.config.data.mix.clear();
  EXPECT_THAT(error_of(other), HasSubstr("3 sources of data, data.mix makes 1"));
  other = mixed("other", Resume::never, {});
  other.loaded.config.data.mix[0] = "*source0*: -1";
  EXPECT_THAT(error_of(other), HasSubstr("must be above 0, is -1"));
  EXPECT_FALSE(std::filesystem::exists(path("other"))) << "refused before there is a run";
}

/// The validation loss is the mean over all targets that count: that of one batch of them all.
TEST_F(DataRuns, ValidationIsAMeanOverTargets) {
  const auto loss_of = [&](std::string_view run, const char* batch, const char* batches) {
    TrainRequest wanted = mixed(run, Resume::never, {"optimizer.lr=1e-30", "schedule.min_lr_ratio=0"});
    wanted.loaded.config.training.steps = 1;
    wanted.loaded.config.training.batch_size = std::stol(batch);
    wanted.loaded.config.validation.batches = std::stol(batches);
    return train(std::move(wanted)).result.val_loss.value();
  };
  EXPECT_NEAR(loss_of("one", "8", "1"), loss_of("many", "1", "8"), 1e-6);
}

TEST_F(DataRuns, DocumentsAreAskedOfShardsThatKnowThem) {
  EXPECT_NO_THROW((void)train(mixed("known", Resume::never, {"data.boundaries=attention"})));
  try {
    (void)train(request("unknown", {"data.boundaries=attention"}));
    ADD_FAILURE() << "bytes have no ends of documents";
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("data.tok: does not say where documents end"), HasSubstr("ignored")));
  }
}

TEST(LoaderRecord, KeepsPositions) {
  const MixState one{{{.rule = {}, .position = {4, 7}}}};
  EXPECT_EQ(describe_position(one), nlohmann::json::parse(R"({"epoch": 4, "next": 7})"));
  EXPECT_EQ(read_position(describe_position(one)), one);
  const MixState mix{{{"a: 1", {4, 7}}, {"b: 2", {0, ~std::uint64_t{0}}}}};
  EXPECT_EQ(read_position(describe_position(mix)), mix);
  const MixState named{{{"a: 1", {4, 7}}}};
  EXPECT_EQ(read_position(describe_position(named)), named);
  for (const char* damaged : {"3", "{}", R"({"epoch": 1})", R"({"sources": [{"epoch": 1, "next": 2}]})",
                              R"({"sources": [3]})", R"({"epoch": "x", "next": 2})"}) {
    EXPECT_THROW((void)read_position(nlohmann::json::parse(damaged)), nlohmann::json::exception) << damaged;
  }
}

}  // namespace
}  // namespace octet::test
