// A resumed run is the run that never stopped, bit for bit.
#include "cli/cli_fixture.h"
#include "io/files.h"

namespace octet::test {
namespace {

/// Two parts make a whole if the schedule does not ask how long the whole is.
const Words kConstant = {"--set", "schedule.decay=constant"};

class ResumedRun : public CliTest {
 protected:
  void SetUp() override {
    CliTest::SetUp();
    succeed(train("whole", kConstant));
    succeed(train("parts", join({kConstant, set("training.steps=3")})));
  }

  /// Goes on with "parts" to step 6 with `options` behind --resume.
  void go_on(const Words& options) const { succeed(train("parts", join({kConstant, options}))); }
};

TEST_F(ResumedRun, IsTheRunThatNeverStopped) {
  go_on({"--resume"});
  EXPECT_EQ(trajectory("parts"), trajectory("whole"));
  EXPECT_TRUE(read_file(checkpoints("parts").back() / "model.safetensors") ==
              read_file(checkpoints("whole").back() / "model.safetensors"));
  EXPECT_TRUE(read_file(checkpoints("parts").back() / "optimizer.safetensors") ==
              read_file(checkpoints("whole").back() / "optimizer.safetensors"));
}

TEST_F(ResumedRun, AutoGoesOnWhereThereIsACheckpoint) {
  go_on({"--resume", "auto"});
  EXPECT_EQ(trajectory("parts"), trajectory("whole"));
}

TEST_F(ResumedRun, ResumeBeforeOtherOptions) {
  go_on({"--resume", "--set", "logging.interval=2"});
  EXPECT_EQ(trajectory("parts"), trajectory("whole"));
}

TEST_F(ResumedRun, ChangedRecipe) {
  go_on({"--resume", "--recipe", "bf16"});
  EXPECT_EQ(run_json("parts").at("precision").at("recipe"), "bf16");
  const Words parts = trajectory("parts");
  const Words whole = trajectory("whole");
  ASSERT_EQ(parts.size(), whole.size());
  EXPECT_EQ(Words(parts.begin(), parts.begin() + 3), Words(whole.begin(), whole.begin() + 3));
  EXPECT_NE(parts.back(), whole.back());
}

TEST_F(ResumedRun, StepsAfterTheCheckpointAreRunAgain) {
  const std::string metrics = read_file(path("parts/metrics.jsonl"));
  write("parts/metrics.jsonl", metrics + R"({"step":4,"loss":9.0})" + "\n" + R"({"step":5,"lo)");
  go_on({"--resume"});
  EXPECT_EQ(trajectory("parts"), trajectory("whole"));
}

TEST_F(ResumedRun, AutoBeginsWhereThereIsNone) {
  succeed(train("fresh", join({kConstant, {"--resume", "auto"}})));
  EXPECT_EQ(trajectory("fresh"), trajectory("whole"));
}

}  // namespace
}  // namespace octet::test
