// A disk that fills up while a run writes its checkpoints or records: the last good checkpoint stays, loads, and the
// run goes on.
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>

#include <algorithm>
#include <csignal>

#include "cli/cli_fixture.h"

namespace octet::test {
namespace {

/// No file of the process may grow beyond 100 kB.
void small_files() {
  std::signal(SIGXFSZ, SIG_IGN);
  const rlimit limit{100'000, 100'000};
  ::setrlimit(RLIMIT_FSIZE, &limit);
}

class FullDisk : public CliTest {
 protected:
  /// The run stopped with a user's mistake while it saved step `failed`; step `good` is its newest checkpoint.
  void expect_stopped(const Outcome& outcome, const std::string& reason, const std::string& failed,
                      const std::string& good) const {
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_TRUE(outcome.err.starts_with("octet: cannot write ")) << outcome.err;
    for (const std::string& part :
         {failed, reason, std::string("free some space"), std::string("checkpoints are untouched")}) {
      EXPECT_TRUE(contains(outcome.err, part));
    }
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    ASSERT_FALSE(checkpoints("disk/run").empty());
    EXPECT_EQ(checkpoints("disk/run").back().filename(), good);
    EXPECT_FALSE(std::filesystem::exists(path("disk/run/checkpoints/" + failed + ".partial")));
    EXPECT_EQ(run_json("disk/run").at("status"), "failed");
    succeed({"generate", "disk/run", "--prompt", "a", "--tokens", "1"});
  }
};

TEST_F(FullDisk, FileSizeLimit) {
  succeed(train("disk/run", set("training.steps=2")));
  const Words go_on = train("disk/run", {"--resume", "--set", "training.steps=4"});
  expect_stopped(octet(go_on, small_files), "File too large", "step-00000004", "step-00000002");
  succeed(go_on);
  EXPECT_EQ(checkpoints("disk/run").back().filename(), "step-00000004");
}

/// The thread that writes behind the steps finds the disk full; the run hears of it before a later step.
TEST_F(FullDisk, FileSizeLimitBehindTheSteps) {
  succeed(train("disk/run", set("training.steps=2")));
  const Words go_on = train("disk/run", {"--resume", "--set", "training.steps=1000", "--set", "checkpoint.interval=3"});
  expect_stopped(octet(go_on, small_files), "File too large", "step-00000003", "step-00000002");
  EXPECT_LT(metrics_lines("disk/run"), 1000U);
}

TEST_F(FullDisk, RecordsThatDoNotFit) {
  succeed(train("disk/run", set("training.steps=2")));
  const Words go_on = train("disk/run", {"--resume", "--set", "training.steps=4"});
  expect_stopped(octet(join({go_on, {"--record", "all"}}), small_files), "File too large",
                 "records/step-000003.safetensors", "step-00000002");
  EXPECT_TRUE(std::filesystem::is_empty(path("disk/run/records")));
  succeed(go_on);
}

TEST_F(FullDisk, SmallFileSystem) {
  // In a name space of this process's own, so that the mount ends with it.
  static const bool own_mounts =
      ::unshare(CLONE_NEWNS) == 0 && ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
  std::filesystem::create_directory(path("disk"));
  const std::string disk = path("disk").string();
  if (!own_mounts || ::mount("none", disk.c_str(), "tmpfs", 0, "size=4m") != 0) {
    GTEST_SKIP() << "this user may not mount a small file system";
  }
  const Words saving = {"--set", "checkpoint.interval=1", "--set", "checkpoint.keep=6"};  // 1.5 MiB each
  expect_stopped(octet(train("disk/run", saving)), "No space left", "step-00000003", "step-00000002");
  EXPECT_EQ(::mount("none", disk.c_str(), "tmpfs", MS_REMOUNT, "size=16m"), 0);
  succeed(train("disk/run", join({saving, {"--resume"}})));
  EXPECT_EQ(checkpoints("disk/run").size(), 6U);
  EXPECT_EQ(::umount(disk.c_str()), 0);
}

}  // namespace
}  // namespace octet::test
