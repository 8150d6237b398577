// The summary for the terminal and as JSON, and the figures in them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "io/report.h"
#include "io/report_fixture.h"
#include "io/report_text.h"

namespace octet::io {
namespace {

using testing::demonstration_record;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Le;
using ::testing::Not;
using ::testing::ResultOf;
using testing::run_record;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST(SummaryTable, AlignsItsColumns) {
  const std::vector<RunRecord> runs{run_record("bf16-1", "bf16", 3.0), run_record("bf16-2", "bf16", 3.006),
                                    run_record("rowwise-ocp", "rowwise", 3.0104)};
  EXPECT_THAT(
      lines_of(summary_table(runs)),
      ElementsAre("run          recipe   format  FP8  train loss  val loss  gap bf16  spread  tokens/s  ms/step",
                  "bf16-1       bf16     –       0/2      2.9000    3.0000   -0.0030  0.0060     9,000    110.2",
                  "bf16-2       bf16     –       0/2      2.9000    3.0060   +0.0030  0.0060     9,000    110.2",
                  "rowwise-ocp  rowwise  e4m3fn  1/2      2.9000    3.0104   +0.0074  0.0060     9,000    110.2"));
}

TEST(SummaryTable, SaysWhatADemonstrationShows) {
  const std::string table = summary_table(std::vector{demonstration_record("demo")});
  EXPECT_THAT(table, HasSubstr("NaN"));
  EXPECT_THAT(table, HasSubstr("demo: a fault shown on purpose (fnuz_max_448), 31.4 % of the codes saturated\n"));
  EXPECT_THAT(table, HasSubstr("demo: refused otherwise: 448 does not fit e4m3fnuz, whose largest value is 240\n"));
}

TEST(SummaryTable, FitsTheTerminalWhateverTheNames) {
  RunRecord run = demonstration_record(std::string(200, 'n'));
  run.precision.recipe = std::string(90, 'r');
  run.precision.format = std::string(50, 'f');
  run.status = RunStatus::failed;
  run.demonstration->refused_message =
      std::string(300, 'm') + " and then " + std::string(90, 'x') + " words in the end";
  const std::vector<std::string> lines = lines_of(summary_table(std::vector{run}));
  EXPECT_THAT(lines, Each(ResultOf([](const std::string& line) { return characters(line); }, Le(120U))));
  EXPECT_EQ(characters(lines[1]), 120U);
  EXPECT_THAT(lines.back(), HasSubstr("words in the end"));
}

TEST(SummaryTable, KeepsControlCharactersFromTheTerminal) {
  RunRecord run = demonstration_record("a\x1b[2J");
  run.demonstration->refused_message = "b\x1b]0;c\x07";
  EXPECT_THAT(summary_table(std::vector{run}), Not(::testing::AnyOf(HasSubstr("\x1b"), HasSubstr("\x07"))));
}

TEST(SummaryTable, ShowsWhatIsNotKnownOfARunInProgress) {
  RunRecord run = run_record("now", "bf16", 3);
  run.status = RunStatus::running;
  run.result.reset();
  run.half_written_lines = 1;
  EXPECT_THAT(lines_of(summary_table(std::vector{run})),
              ElementsAre(HasSubstr("run"), HasSubstr("–         –         –       –         –        –"),
                          "now: running, not finished", HasSubstr("now: the last metrics line was cut short")));
}

TEST(SummaryJson, HoldsRunsYardstickAndProblems) {
  std::vector<RunRecord> runs{run_record("bf16-1", "bf16", 3.0), run_record("bf16-2", "bf16", 3.5),
                              run_record("fp8", "rowwise", 4.0), demonstration_record("demo")};
  runs[1].status = RunStatus::running;
  const nlohmann::json json = nlohmann::json::parse(summary_json(runs));
  EXPECT_EQ(json["bf16"], (nlohmann::json{{"runs", 2}, {"mean_val_loss", 3.25}, {"spread", 0.5}}));
  ASSERT_EQ(json["runs"].size(), 4U);
  EXPECT_EQ(json["runs"][1]["status"], "running");
  EXPECT_EQ(json["runs"][2]["gap_to_bf16"], 0.75);
  EXPECT_EQ(json["runs"][2]["fp8_codes_used"], 200);
  EXPECT_FALSE(json["runs"][2].contains("demonstration"));
  EXPECT_TRUE(json["runs"][3]["val_loss"].is_null());
  EXPECT_EQ(json["runs"][3]["demonstration"]["saturated_share"], 0.314);
  EXPECT_EQ(json["problems"].size(), 2U);
}

TEST(SummaryJson, LeavesOutWhatWasNotMeasured) {
  RunRecord run = run_record("a", "rowwise", 3);
  run.result->val_loss.reset();
  const nlohmann::json json = nlohmann::json::parse(summary_json(std::vector{run}));
  EXPECT_FALSE(json.contains("bf16"));
  EXPECT_FALSE(json["runs"][0].contains("val_loss"));
  EXPECT_FALSE(json["runs"][0].contains("gap_to_bf16"));
}

TEST(ReportText, WritesFiguresAsPeopleReadThem) {
  EXPECT_EQ(grouped(std::int64_t{0}), "0");
  EXPECT_EQ(grouped(std::int64_t{999}), "999");
  EXPECT_EQ(grouped(std::int64_t{1000}), "1,000");
  EXPECT_EQ(grouped(std::int64_t{-123456}), "-123,456");
  EXPECT_EQ(grouped(1234567.6), "1,234,568");
  EXPECT_EQ(grouped(1e300), "1.000e+300");
  EXPECT_EQ(bytes(1023), "1023 B");
  EXPECT_EQ(bytes(1024), "1.00 KiB");
  EXPECT_EQ(bytes(std::int64_t{16} << 30), "16.0 GiB");
  EXPECT_EQ(bytes(std::numeric_limits<std::int64_t>::max()), "8.00 EiB");
  EXPECT_EQ(decimal(std::numeric_limits<double>::infinity(), 2), "∞");
  EXPECT_EQ(signed_decimal(std::nullopt, 2), kNotMeasured);
  EXPECT_EQ(fitted("größer", 4), "grö…");
  EXPECT_EQ(fitted("größer", 6), "größer");
}

}  // namespace
}  // namespace octet::io
