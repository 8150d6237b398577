// The files of a run: never over another's, lines that a resumed run takes back.
#include "train/run_directory.h"

#include <gtest/gtest.h>

#include "io/scratch.h"

namespace octet::test {
namespace {

namespace fs = std::filesystem;

io::StepMetrics metrics_of(std::int64_t step) {
  io::StepMetrics metrics;
  metrics.step = step;
  metrics.loss = 1.0 / static_cast<double>(step);
  return metrics;
}

class RunDirectoryTest : public testing::Test {
 protected:
  [[nodiscard]] std::vector<std::int64_t> steps() const {
    std::vector<std::int64_t> found;
    std::ifstream lines(run_ / "metrics.jsonl");
    for (std::string line; std::getline(lines, line);) found.push_back(nlohmann::json::parse(line).at("step"));
    return found;
  }

  ScratchDirectory scratch_;
  fs::path run_ = scratch_.path() / "runs" / "first";
};

using Steps = std::vector<std::int64_t>;

TEST_F(RunDirectoryTest, AppendsALineAStep) {
  RunDirectory directory = RunDirectory::create(run_);
  EXPECT_EQ(directory.first_step(), 1);
  directory.append(metrics_of(1));
  EXPECT_EQ(steps(), (Steps{1}));  // without waiting for the end
  directory.append(metrics_of(2));
  EXPECT_EQ(steps(), (Steps{1, 2}));
}

TEST_F(RunDirectoryTest, CreateTakesNoRunOver) {
  (void)RunDirectory::create(run_);
  RunDirectory::write_run(run_, {{"status", "finished"}});
  EXPECT_TRUE(RunDirectory::holds_run(run_));
  const std::string message = user_error([&] { (void)RunDirectory::create(run_); });
  EXPECT_TRUE(contains(message, run_.string() + " already holds a run"));
  EXPECT_TRUE(contains(message, "--resume"));
  EXPECT_TRUE(contains(read_file(run_ / "run.json"), "finished"));
}

TEST_F(RunDirectoryTest, CreateTakesNothingElseOver) {
  EXPECT_FALSE(RunDirectory::holds_run(scratch_.path()));
  scratch_.write("letter.txt", "dear");
  EXPECT_TRUE(
      contains(user_error([&] { (void)RunDirectory::create(scratch_.path()); }), "is not empty and holds no run"));
}

TEST_F(RunDirectoryTest, ResumeDropsStepsThatAreRunAgain) {
  {
    RunDirectory directory = RunDirectory::create(run_);
    for (std::int64_t step = 1; step <= 5; ++step) directory.append(metrics_of(step));
  }
  RunDirectory directory = RunDirectory::resume(run_, 3);
  EXPECT_EQ(directory.first_step(), 4);
  EXPECT_EQ(steps(), (Steps{1, 2, 3}));
  directory.append(metrics_of(4));
  EXPECT_EQ(steps(), (Steps{1, 2, 3, 4}));
}

TEST_F(RunDirectoryTest, ResumeDropsALineCutShort) {
  RunDirectory::create(run_).append(metrics_of(1));
  std::ofstream(run_ / "metrics.jsonl", std::ios::app) << R"({"step":2,"lo)";
  (void)RunDirectory::resume(run_, 2);
  EXPECT_EQ(steps(), (Steps{1}));
}

TEST_F(RunDirectoryTest, ResumeFromNothingKeepsNothing) {
  RunDirectory::create(run_).append(metrics_of(1));
  (void)RunDirectory::resume(run_, 0);
  EXPECT_EQ(steps(), Steps{});
}

}  // namespace
}  // namespace octet::test
