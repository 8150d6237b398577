// Runs that are asked to stop, run out of time or are killed: none loses more than what followed its last checkpoint.
#include <chrono>
#include <csignal>
#include <fstream>
#include <thread>

#include "cli/cli_fixture.h"
#include "io/files.h"
#include "io/safetensors.h"

namespace octet::test {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

class Interruption : public CliTest {
 protected:
  /// Lets a run without end do a few steps, sends `signal`, and looks at what it left.
  void expect_clean_stop(int signal) {
    OctetProcess process(path(""), train("run", set("training.steps=1000000")));
    ASSERT_TRUE(process.wait_until([this] { return metrics_lines("run") >= 2; }));
    process.send(signal);
    const Outcome outcome = process.wait();
    EXPECT_EQ(outcome.exit_code, 128 + signal);
    EXPECT_EQ(outcome.err, "");
    expect_stopped(outcome.out);
  }

  /// The last step in the metrics is the last checkpoint, and the user reads how to go on.
  void expect_stopped(const std::string& out) const {
    const auto step = nlohmann::json::parse(trajectory("run").back()).at("step").get<int>();
    EXPECT_TRUE(contains(out, "stopped after step " + std::to_string(step) + " of 1000000; go on with: octet train "));
    EXPECT_TRUE(contains(out, "--run-dir run --resume"));
    EXPECT_EQ(run_json("run").at("status"), "interrupted");
    ASSERT_EQ(checkpoints("run").size(), 1U);
    const auto state = nlohmann::json::parse(read_file(checkpoints("run").at(0) / "state.json"));
    EXPECT_EQ(state.at("step"), step);
    succeed(train("run", {"--resume", "--set", "training.steps=" + std::to_string(step + 1)}));
  }

  /// Every checkpoint that looks whole is whole.
  void expect_whole_checkpoints(std::string_view run) const {
    for (const fs::path& checkpoint : checkpoints(run)) {
      for (const char* file : {"model.safetensors", "optimizer.safetensors"}) {
        EXPECT_NO_THROW(EXPECT_TRUE(SafetensorsFile::open(checkpoint / file).verify())) << checkpoint;
      }
      EXPECT_TRUE(nlohmann::json::accept(read_file(checkpoint / "state.json"))) << checkpoint;
    }
  }
};

TEST_F(Interruption, SigintFinishesTheStepAndSaves) {
  expect_clean_stop(SIGINT);
}

TEST_F(Interruption, SigtermFinishesTheStepAndSaves) {
  expect_clean_stop(SIGTERM);
}

TEST_F(Interruption, SecondSigintStopsAtOnce) {
  // A step of minutes: only a stop at once ends it in time.
  OctetProcess process(path(""), train("run", set("training.accumulate=20000")));
  ASSERT_TRUE(process.wait_until([this] { return fs::exists(path("run/run.json")); }));
  process.send(SIGINT);
  std::this_thread::sleep_for(50ms);  // two signals at once would be one
  process.send(SIGINT);
  EXPECT_EQ(process.wait().exit_code, 130);
  EXPECT_EQ(metrics_lines("run"), 0U);
  EXPECT_TRUE(checkpoints("run").empty());
  succeed(train("run", {"--resume", "auto"}));  // nothing was saved, so that it begins again
}

TEST_F(Interruption, MaxMinutesSavesAndSucceeds) {
  expect_stopped(succeed(train("run", {"--max-minutes", "0.002", "--set", "training.steps=1000000"})));
}

/// Kills at many moments. With a checkpoint a step, most of the time goes into writing them.
TEST_F(Interruption, KilledRunsGoOnBitForBit) {
  const auto to_step = [](std::string_view run, const std::string& last) {
    return train(run, {"--set", "training.steps=" + last, "--set", "schedule.decay=constant", "--set",
                       "checkpoint.interval=1", "--set", "checkpoint.keep=3", "--resume", "auto"});
  };
  int kills = 0;
  for (const auto delay : {0ms, 1ms, 2ms, 3ms, 5ms, 7ms, 11ms, 13ms, 17ms, 23ms}) {
    const std::size_t before = metrics_lines("parts");  // steps behind the last checkpoint are run again
    OctetProcess process(path(""), to_step("parts", "60"));
    if (!process.wait_until([&] { return metrics_lines("parts") > before; })) break;  // a fast disk: it is done
    std::this_thread::sleep_for(delay);
    process.send(SIGKILL);
    if (process.wait().exit_code == 128 + SIGKILL) ++kills;
    expect_whole_checkpoints("parts");
  }
  EXPECT_GE(kills, 5);
  EXPECT_FALSE(checkpoints("parts").empty()) << "every run was killed before its first checkpoint";
  succeed(to_step("parts", "61"));
  succeed(to_step("whole", "61"));
  EXPECT_EQ(trajectory("parts").size(), 61U);
  EXPECT_EQ(trajectory("parts"), trajectory("whole"));
  EXPECT_EQ(checkpoints("parts").size(), 3U);
  for (const auto& entry : fs::directory_iterator(path("parts/checkpoints"))) {
    EXPECT_NE(entry.path().extension(), ".partial") << "a killed write was left behind";
  }
}

}  // namespace
}  // namespace octet::test
