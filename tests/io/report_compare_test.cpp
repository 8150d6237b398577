// Gaps, spreads and the verdicts on them.
#include "io/report_compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "io/report.h"
#include "io/report_fixture.h"

namespace octet::io {
namespace {

using testing::demonstration_record;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kNaN;
using testing::run_record;


std::vector<RunRecord> good_runs() {
  return {run_record("bf16-1", "bf16", 3.000), run_record("bf16-2", "bf16", 3.006), run_record("fp8", "rowwise", 3.010),
          demonstration_record("demo")};
}

TEST(Compare, GapIsTheDistanceToTheMeanOfTheBf16Runs) {
  const std::vector<RunRecord> runs = good_runs();
  const Comparison comparison = compare_runs(runs);
  EXPECT_EQ(comparison.bf16->runs, 2);
  EXPECT_DOUBLE_EQ(comparison.bf16->mean, 3.003);
  EXPECT_NEAR(*comparison.bf16_spread, 0.006, 1e-12);
  EXPECT_NEAR(*comparison.runs[0].gap, -0.003, 1e-12);
  EXPECT_NEAR(*comparison.runs[2].gap, 0.007, 1e-12);
  EXPECT_TRUE(std::isnan(*comparison.runs[3].gap));
}

TEST(Compare, ADemonstrationInBf16IsNoYardstick) {
  std::vector<RunRecord> runs = good_runs();
  runs[3].precision.recipe = "bf16";
  EXPECT_EQ(compare_runs(runs).bf16->runs, 2);
  EXPECT_EQ(role_of(runs[3]), RunRole::demonstration);
}

TEST(Compare, OneBf16RunHasNoSpreadAndNoneLeavesNoGap) {
  std::vector<RunRecord> runs = good_runs();
  runs.erase(runs.begin());
  EXPECT_FALSE(compare_runs(runs).bf16_spread);
  EXPECT_NEAR(*compare_runs(runs).runs[1].gap, 0.004, 1e-12);
  runs.erase(runs.begin());
  EXPECT_FALSE(compare_runs(runs).bf16);
  EXPECT_FALSE(compare_runs(runs).runs[0].gap);
}

TEST(Compare, ANaNAmongTheBf16RunsMakesTheYardstickNaN) {
  for (const std::vector<double>& losses : {std::vector{kNaN, 3.0}, std::vector{3.0, kNaN}}) {
    const auto bf16 = bf16_losses(losses);
    EXPECT_TRUE(std::isnan(bf16->mean) && std::isnan(bf16->low) && std::isnan(bf16->high));
  }
}

TEST(Compare, RunsOfOneNameAreToldApartByDirectory) {
  std::vector<RunRecord> runs{run_record("a", "bf16", 3), run_record("a", "bf16", 3), run_record("b", "bf16", 3)};
  runs[1].directory = "elsewhere/a";
  const Comparison comparison = compare_runs(runs);
  EXPECT_EQ(comparison.runs[0].label, "a (runs/a)");
  EXPECT_EQ(comparison.runs[1].label, "a (elsewhere/a)");
  EXPECT_EQ(comparison.runs[2].label, "b");
}

TEST(Verdicts, GoodRunsHaveNone) {
  EXPECT_THAT(verdicts(good_runs()), IsEmpty());
  EXPECT_THAT(verdicts(std::vector{run_record("alone", "bf16", 3)}), IsEmpty());
}

TEST(Verdicts, AnFp8RecipeMustUseFp8) {
  std::vector<RunRecord> runs = good_runs();
  runs[2].result->fp8_codes_used = 0;
  EXPECT_THAT(verdicts(runs), ElementsAre(HasSubstr("fp8: recipe rowwise quantised nothing")));
  runs[2].precision.layers_fp8 = 0;
  EXPECT_THAT(verdicts(runs), ElementsAre("fp8: recipe rowwise put no layer in FP8"));
}

TEST(Verdicts, ALossMayNotBecomeNaN) {
  std::vector<RunRecord> runs = good_runs();
  runs[0].metrics[3].loss = kNaN;
  runs[1].metrics[4].val_loss = kNaN;
  runs[2].result->train_loss = kNaN;
  EXPECT_THAT(verdicts(runs),
              ElementsAre("bf16-1: the loss became NaN", "bf16-2: the loss became NaN", "fp8: the loss became NaN"));
}

TEST(Verdicts, ANaNGapDoesNotPass) {
  std::vector<RunRecord> runs = good_runs();
  runs[0].result->val_loss = kNaN;
  EXPECT_THAT(verdicts(runs), ElementsAre("bf16-1: the loss became NaN", "fp8: its gap to bf16 is NaN"));
}

TEST(Verdicts, TheGapMayReachButNotExceedTheLimit) {
  std::vector<RunRecord> runs{run_record("bf16", "bf16", 0), run_record("fp8", "rowwise", kLargestGap)};
  EXPECT_THAT(verdicts(runs), IsEmpty());
  runs[1].result->val_loss = std::nextafter(kLargestGap, 1);
  EXPECT_THAT(verdicts(runs), ElementsAre("fp8: validation loss is 0.0200 nats above bf16, more than 0.02"));
  runs[1].result->val_loss = -1;
  EXPECT_THAT(verdicts(runs), IsEmpty());
}

TEST(Verdicts, AGapThatCannotBeComputedDoesNotPass) {
  std::vector<RunRecord> runs{run_record("fp8", "rowwise", 3)};
  EXPECT_THAT(verdicts(runs), ElementsAre(HasSubstr("fp8: its gap cannot be checked: no bf16 run")));
  runs = good_runs();
  runs[2].result->val_loss.reset();
  EXPECT_THAT(verdicts(runs), ElementsAre(HasSubstr("fp8: its gap cannot be checked: it has no validation loss")));
}

TEST(Verdicts, ARunThatDidNotFinishDoesNotPass) {
  std::vector<RunRecord> runs = good_runs();
  runs[2].status = RunStatus::failed;
  runs[2].result.reset();
  runs[3].status = RunStatus::failed;
  EXPECT_THAT(verdicts(runs), ElementsAre("fp8: failed, not finished"));
}

}  // namespace
}  // namespace octet::io
