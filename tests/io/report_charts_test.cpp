// Axes, averages and the drawing of charts.
#include "io/report_charts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "io/report_fixture.h"
#include "io/report_svg.h"

namespace octet::io {
namespace {

using testing::demonstration_record;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::kNaN;
using ::testing::Not;
using testing::run_record;

std::vector<std::string> labels(const Axis& axis) {
  std::vector<std::string> texts;
  for (const Tick& tick : axis.ticks()) texts.push_back(tick.label);
  return texts;
}

TEST(Axis, LabelsRoundValuesWithJustEnoughDigits) {
  EXPECT_THAT(labels(Axis(0, 400, Scale::linear, 0, 1, 5)), ElementsAre("0", "100", "200", "300", "400"));
  EXPECT_THAT(labels(Axis(-0.006, 0.009, Scale::linear, 0, 1, 6)), ElementsAre("-0.005", "0", "0.005"));
  EXPECT_THAT(labels(Axis(0, 25000, Scale::linear, 0, 1, 6)), ElementsAre("0", "5k", "10k", "15k", "20k", "25k"));
  EXPECT_THAT(labels(Axis(0, 4e-5, Scale::linear, 0, 1, 5)),
              ElementsAre("0", "1.0e-05", "2.0e-05", "3.0e-05", "4.0e-05"));
  EXPECT_THAT(labels(Axis(0, 4e30, Scale::linear, 0, 1, 3)), ElementsAre("0", "2.0e+30", "4.0e+30"));
  EXPECT_THAT(labels(Axis(0.4, 3, Scale::logarithmic, 0, 1, 7)), ElementsAre("0.5", "1", "2"));
  EXPECT_THAT(labels(Axis(1e-3, 1e3, Scale::logarithmic, 0, 1, 7)),
              ElementsAre("0.001", "0.01", "0.1", "1", "10", "100", "1000"));
  EXPECT_THAT(labels(Axis(0.53, 0.94, Scale::logarithmic, 0, 1, 5)), ElementsAre("0.6", "0.7", "0.8", "0.9"));
  EXPECT_THAT(labels(Axis(1, 3, Scale::whole, 0, 1, 6)), ElementsAre("1", "2", "3"));
  EXPECT_THAT(labels(Axis(1, 1, Scale::whole, 0, 1, 6)), ElementsAre("1"));
}

TEST(Axis, HasTicksInsideItsRangeOverManyScales) {
  for (double span = 1e-9; span < 1e12; span *= 1.7) {
    for (const Scale scale : {Scale::linear, Scale::logarithmic}) {
      const Axis axis(0.3 * span, 1.3 * span, scale, 0, 100, 6);
      EXPECT_GE(axis.ticks().size(), 2U) << span;
      EXPECT_LE(axis.ticks().size(), 6U) << span;
      for (const Tick& tick : axis.ticks()) {
        EXPECT_GE(axis.position(tick.value), -1e-6) << span;
        EXPECT_LE(axis.position(tick.value), 100 + 1e-6) << span;
      }
    }
  }
}

TEST(Axis, PositionAndValueAreInverse) {
  for (const Scale scale : {Scale::linear, Scale::logarithmic}) {
    const Axis axis(0.5, 50, scale, 200, 10, 6);
    EXPECT_DOUBLE_EQ(axis.position(0.5), 200);
    EXPECT_DOUBLE_EQ(axis.position(50), 10);
    EXPECT_NEAR(axis.value_at(axis.position(7)), 7, 1e-9);
  }
}

TEST(Axis, SpreadsARangeOfOneValue) {
  const Axis axis(3, 3, Scale::linear, 0, 100, 6);
  EXPECT_DOUBLE_EQ(axis.position(3), 50);
  EXPECT_GE(axis.ticks().size(), 2U);
  EXPECT_DOUBLE_EQ(Axis(0, 0, Scale::linear, 0, 100, 6).position(0), 50);
}

std::vector<double> smoothed_values(const std::vector<double>& values, std::size_t reach) {
  std::vector<ChartPoint> points;
  for (const double value : values) points.push_back({static_cast<double>(points.size()), value});
  std::vector<double> result;
  for (const ChartPoint& point : smoothed(points, reach)) result.push_back(point.y);
  return result;
}

TEST(Smoothed, AveragesEvenlyToBothSides) {
  EXPECT_THAT(smoothed_values({3, 0, 6, 0, 9}, 1), ElementsAre(3, 3, 2, 5, 9));
  EXPECT_THAT(smoothed_values({0, 1, 2, 3, 4, 5}, 2), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(smoothed_values({3, 0, 6}, 0), ElementsAre(3, 0, 6));
}

TEST(Smoothed, DoesNotReachAcrossNaN) {
  EXPECT_THAT(smoothed_values({kNaN, 1, 2, 6, kNaN, kNaN, 8, kNaN}, 3),
              ElementsAre(::testing::IsNan(), 1, 3, 6, ::testing::IsNan(), ::testing::IsNan(), 8, ::testing::IsNan()));
}

Chart chart_of(std::vector<ChartPoint> points) {
  Chart chart;
  chart.title = "Loss";
  chart.x_label = "step";
  chart.y_label = "nats";
  chart.series.resize(1);
  chart.series[0].label = "run";
  chart.series[0].points = std::move(points);
  return chart;
}

std::size_t occurrences(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

std::string line_data(const std::string& html) {
  const std::string start = "<path class=\"line \" d=\"";
  const std::size_t begin = html.find(start) + start.size();
  return html.substr(begin, html.find('"', begin) - begin);
}

TEST(Chart, BreaksTheLineAtNaNAndMarksIt) {
  const std::string html = render_chart(chart_of({{1, 5}, {2, 4}, {3, kNaN}, {4, 3}, {5, 2}}));
  EXPECT_EQ(occurrences(line_data(html), "M"), 2U);
  EXPECT_EQ(occurrences(line_data(html), "L"), 2U);
  EXPECT_THAT(html, HasSubstr("run: NaN from step 3 on"));
  EXPECT_THAT(render_chart(chart_of({{1, 5}, {2, 4}})), Not(HasSubstr("NaN")));
}

TEST(Chart, SaysThatNothingWasRecorded) {
  EXPECT_THAT(render_chart(chart_of({})), HasSubstr("Nothing was recorded."));
  EXPECT_THAT(render_chart(chart_of({{1, kNaN}})), HasSubstr("Nothing was recorded."));
}

TEST(Chart, ShowsASinglePoint) {
  EXPECT_THAT(render_chart(chart_of({{1, 2}})), HasSubstr("class=\"dot"));
  EXPECT_THAT(render_chart(chart_of({{1, 2}, {2, 3}})), Not(HasSubstr("class=\"dot")));
}

TEST(Chart, StaysSmallHoweverLongTheRun) {
  std::vector<ChartPoint> points;
  for (int step = 0; step < 200000; ++step) points.push_back({static_cast<double>(step), step % 100 == 50 ? 9.0 : 1.0});
  const std::string html = render_chart(chart_of(points));
  EXPECT_LT(html.size(), 60000U);
  EXPECT_GT(occurrences(line_data(html), "L"), 1000U);  // the peaks are still there
}

TEST(Chart, ASeriesThatDoesNotSetTheRangeLeavesTheOthersReadable) {
  Chart chart = chart_of({{10, 1}, {20, 2}});
  chart.series.push_back(chart.series[0]);
  chart.series[1].points = {{10, 1}, {20, 1e30}};
  chart.series[1].sets_range = false;
  EXPECT_THAT(render_chart(chart), HasSubstr(">1.6</text>"));
  chart.series[1].sets_range = true;
  EXPECT_THAT(render_chart(chart), Not(HasSubstr(">1.6</text>")));
}

TEST(Chart, ALogarithmicScaleDropsWhatIsNotPositive) {
  Chart chart = chart_of({{1, 0}, {2, 1}, {3, 10}});
  chart.scale = Scale::logarithmic;
  const std::string html = render_chart(chart);
  EXPECT_EQ(occurrences(line_data(html), "L"), 1U);
  EXPECT_THAT(html, Not(HasSubstr("inf")));
}

TEST(Chart, ListsTheValuesUnderThePointer) {
  EXPECT_THAT(render_chart(chart_of({{1, 5}, {20, 4.25}})), HasSubstr("<title>step 20\nrun: 4.2500</title>"));
}

TEST(Charts, TheGapIsTakenStepByStepWithTheBandOfTheSeeds) {
  const std::vector<RunRecord> runs{run_record("b1", "bf16", 3.0), run_record("b2", "bf16", 3.2),
                                    run_record("fp8", "rowwise", 3.15), demonstration_record("demo")};
  const std::vector<Chart> charts = make_charts(compare_runs(runs));
  ASSERT_EQ(charts.size(), 6U);
  const Chart& gap = charts[2];
  ASSERT_EQ(gap.series.size(), 1U);  // neither bf16 nor the demonstration
  EXPECT_EQ(gap.series[0].label, "fp8");
  ASSERT_EQ(gap.series[0].points.size(), 2U);
  EXPECT_EQ(gap.series[0].points[0].x, 5);
  EXPECT_NEAR(gap.series[0].points[0].y, 0.05, 1e-12);
  ASSERT_EQ(gap.band.size(), 2U);
  EXPECT_NEAR(gap.band[1].low, -0.1, 1e-12);
  EXPECT_NEAR(gap.band[1].high, 0.1, 1e-12);
}

TEST(Charts, NoGapAtAStepThatABf16RunLacks) {
  std::vector<RunRecord> runs{run_record("b1", "bf16", 3.0), run_record("b2", "bf16", 3.2),
                              run_record("fp8", "rowwise", 3.15)};
  runs[1].metrics[4].val_loss.reset();
  const Chart gap = make_charts(compare_runs(runs))[2];
  ASSERT_EQ(gap.series[0].points.size(), 1U);
  EXPECT_EQ(gap.series[0].points[0].x, 10);
}

TEST(Charts, TwentyFp8RunsAreToldApart) {
  const std::vector<RunRecord> runs(20, run_record("fp8", "rowwise", 3));
  std::vector<std::string> styles = run_styles(compare_runs(runs));
  std::sort(styles.begin(), styles.end());
  EXPECT_EQ(std::unique(styles.begin(), styles.end()), styles.end());
}

}  // namespace
}  // namespace octet::io
