// octet checkpoint: what a run's checkpoints are, and whether they are what they say.
#include <fmt/format.h>

#include <fstream>

#include "cli/cli_fixture.h"
#include "io/files.h"

namespace octet::test {
namespace {

class CheckpointCommand : public CliTest {
 protected:
  void SetUp() override {
    CliTest::SetUp();
    succeed(train("run",
                  {"--set", "training.steps=4", "--set", "checkpoint.interval=2", "--set", "validation.interval=2"}));
  }

  void damage(const std::string& checkpoint, const std::string& file) const {
    std::string bytes = read_file(path("run/checkpoints/" + checkpoint + "/" + file));
    bytes.back() ^= 4;
    write("run/checkpoints/" + checkpoint + "/" + file, bytes);
  }
};

TEST_F(CheckpointCommand, LsListsThem) {
  std::filesystem::create_directory(path("run/checkpoints/step-00000009.partial"));
  for (const char* directory : {"run", "run/checkpoints"}) {
    const auto list = json_of({"checkpoint", "ls", directory, "--json"});
    ASSERT_EQ(list.size(), 3U);
    EXPECT_EQ(list.at(0).at("step"), 2);
    EXPECT_EQ(list.at(1).at("step"), 4);
    EXPECT_EQ(list.at(1).at("val_loss"), run_json("run").at("result").at("val_loss"));
    EXPECT_EQ(list.at(1).at("parameters"), run_json("run").at("model").at("parameters"));
    EXPECT_EQ(list.at(1).at("dtype"), "F32");
    EXPECT_EQ(list.at(2).at("whole"), false);
  }
  const std::string text = succeed({"checkpoint", "ls", "run"});
  for (const char* part : {"validation loss", "whole", "partial", "F32"}) EXPECT_TRUE(contains(text, part)) << text;
}

TEST_F(CheckpointCommand, VerifyFindsThemGood) {
  const std::string text = succeed({"checkpoint", "verify", "run"});
  EXPECT_TRUE(contains(text, "run/checkpoints/step-00000002: ")) << text;
  EXPECT_TRUE(contains(text, ": good\n")) << text;
  EXPECT_EQ(json_of({"checkpoint", "verify", "run", "--json"}).size(), 2U);
}

TEST_F(CheckpointCommand, VerifyNamesWhatIsDamagedAndGoesOn) {
  damage("step-00000002", "model.safetensors");
  damage("step-00000002", "state.json");
  const Outcome outcome = octet({"checkpoint", "verify", "run"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_TRUE(contains(outcome.out, "model.safetensors: tensor \"norm.weight\" does not match its checksum"));
  EXPECT_TRUE(contains(outcome.out, "state.json is damaged"));
  EXPECT_TRUE(contains(outcome.out, "step-00000004: ")) << "verification goes on";
  EXPECT_TRUE(contains(outcome.out, ": good\n"));
  const auto json = nlohmann::json::parse(octet({"checkpoint", "verify", "run", "--json"}).out);
  EXPECT_EQ(json.at(0).at("faults").size(), 2U);
  EXPECT_EQ(json.at(1).at("good"), true);
}

TEST_F(CheckpointCommand, PlacesWithoutCheckpointsAreMistakes) {
  std::filesystem::create_directories(path("foreign/checkpoints/epoch=3"));
  write("foreign/checkpoints/last.ckpt", "of another program");
  for (const char* command : {"ls", "verify"}) {
    refuses({"checkpoint", command, "nowhere"}, {"there is no nowhere"});
    refuses({"checkpoint", command, "foreign"}, {"foreign holds no checkpoints", "name the directory of a run"});
    refuses({"checkpoint", command, "train.tok"}, {"train.tok is a file"});
  }
  refuses({"checkpoint"}, {"subcommand"});
  refuses({"checkpoint", "verfy", "run"}, {"unknown command verfy; did you mean verify?"});
}

TEST_F(CheckpointCommand, TheBestOneStays) {
  const auto steps = [](const char* count, std::vector<std::string> more) {
    std::vector<std::string> options = {"--set", fmt::format("training.steps={}", count),
                                        "--set", "checkpoint.interval=1",
                                        "--set", "checkpoint.keep=1",
                                        "--set", "checkpoint.keep_best=1",
                                        "--set", "validation.interval=1"};
    options.insert(options.end(), more.begin(), more.end());
    return options;
  };
  succeed(train("best", steps("3", {})));
  // From here on weights are thrown about: far worse than what was learnt, whatever machine rounds.
  succeed(train("best", steps("6", {"--resume", "--set", "optimizer.lr=10", "--set", "optimizer.clip_norm=0"})));
  std::vector<double> losses;
  std::ifstream lines(path("best/metrics.jsonl"));
  for (std::string line; std::getline(lines, line);) {
    losses.push_back(nlohmann::json::parse(line).at("val_loss").get<double>());
  }
  ASSERT_EQ(losses.size(), 6U);
  const auto best = std::ranges::min_element(losses) - losses.begin() + 1;
  ASSERT_LE(best, 3) << "so high a learning rate makes it worse";
  const auto list = json_of({"checkpoint", "ls", "best", "--json"});
  ASSERT_EQ(list.size(), 2U);
  EXPECT_EQ(list.at(0).at("step"), best);
  EXPECT_EQ(list.at(1).at("step"), 6);
}

}  // namespace
}  // namespace octet::test
