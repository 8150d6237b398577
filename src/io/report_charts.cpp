// Chooses for every chart its series, its scale and the note that goes with it.
#include "io/report_charts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

namespace octet::io {
namespace {

constexpr std::size_t kSmoothedPart = 50;  // a line averages over one fiftieth of the run's recorded steps
constexpr int kColours = 5;
constexpr int kDashes = 4;  // no common factor with kColours: twenty FP8 runs can be told apart

using Quantity = double StepMetrics::*;

std::vector<ChartPoint> recorded(const RunRecord& run, Quantity quantity) {
  std::vector<ChartPoint> points;
  for (const StepMetrics& step : run.metrics) points.push_back({static_cast<double>(step.step), step.*quantity});
  return points;
}

std::vector<ChartPoint> validated(const RunRecord& run) {
  std::vector<ChartPoint> points;
  for (const StepMetrics& step : run.metrics) {
    if (step.val_loss) points.push_back({static_cast<double>(step.step), *step.val_loss});
  }
  return points;
}

/// smoothed() for points without a NaN among them, in place.
void smooth_stretch(std::span<ChartPoint> points, std::size_t reach) {
  std::vector<double> sums{0};  // sums[i] is the sum of the first i values
  for (const ChartPoint& point : points) sums.push_back(sums.back() + point.y);
  for (std::size_t i = 0; i < points.size(); ++i) {
    const std::size_t side = std::min({reach, i, points.size() - 1 - i});
    points[i].y = (sums[i + side + 1] - sums[i - side]) / static_cast<double>(2 * side + 1);
  }
}

class ChartMaker {
 public:
  explicit ChartMaker(const Comparison& comparison) : comparison_(comparison), styles_(run_styles(comparison)) {}

  [[nodiscard]] Chart smoothed_chart(std::string title, std::string y_label, Quantity quantity) const {
    Chart chart = empty_chart(std::move(title), std::move(y_label));
    for (std::size_t i = 0; i < comparison_.runs.size(); ++i) {
      ChartSeries series = empty_series(i);
      series.raw = recorded(*comparison_.runs[i].run, quantity);
      series.points = smoothed(series.raw, series.raw.size() / kSmoothedPart / 2);
      chart.series.push_back(std::move(series));
    }
    return chart;
  }

  [[nodiscard]] Chart plain_chart(std::string title, std::string y_label, Quantity quantity) const {
    Chart chart = empty_chart(std::move(title), std::move(y_label));
    for (std::size_t i = 0; i < comparison_.runs.size(); ++i) {
      ChartSeries series = empty_series(i);
      series.points = recorded(*comparison_.runs[i].run, quantity);
      chart.series.push_back(std::move(series));
    }
    return chart;
  }

  [[nodiscard]] Chart validation_chart() const {
    Chart chart = empty_chart("Validation loss", "nats per token");
    chart.dots = true;
    for (std::size_t i = 0; i < comparison_.runs.size(); ++i) {
      ChartSeries series = empty_series(i);
      series.points = validated(*comparison_.runs[i].run);
      if (!series.points.empty()) chart.series.push_back(std::move(series));
    }
    return chart;
  }

  [[nodiscard]] Chart gap_chart() const {
    Chart chart = empty_chart("Gap to bf16", "validation loss minus the mean of the bf16 runs, nats per token");
    chart.dots = true;
    chart.when_empty = "Nothing to compare: that takes a bf16 run and an FP8 run, validated at the same steps.";
    const std::map<double, Bf16Losses> bf16 = bf16_by_step();
    for (const auto& [step, losses] : bf16) {
      if (losses.runs < 2 || std::isnan(losses.mean)) continue;
      chart.band.push_back({step, losses.low - losses.mean, losses.high - losses.mean});
    }
    chart.band_label = "spread of the bf16 seeds";
    for (std::size_t i = 0; i < comparison_.runs.size(); ++i) {
      if (comparison_.runs[i].role != RunRole::fp8) continue;
      ChartSeries series = empty_series(i);
      for (const ChartPoint& point : validated(*comparison_.runs[i].run)) {
        const auto losses = bf16.find(point.x);
        if (losses != bf16.end()) series.points.push_back({point.x, point.y - losses->second.mean});
      }
      if (!series.points.empty()) chart.series.push_back(std::move(series));
    }
    return chart;
  }

 private:
  [[nodiscard]] static Chart empty_chart(std::string title, std::string y_label) {
    Chart chart;
    chart.title = std::move(title);
    chart.x_label = "step";
    chart.y_label = std::move(y_label);
    return chart;
  }

  [[nodiscard]] ChartSeries empty_series(std::size_t run) const {
    const ComparedRun& compared = comparison_.runs[run];
    ChartSeries series;
    series.label = compared.label;
    series.style = styles_[run];
    series.sets_range = compared.role != RunRole::demonstration;
    return series;
  }

  /// Only steps at which every bf16 run was validated, lest the mean jump where one of them ends.
  [[nodiscard]] std::map<double, Bf16Losses> bf16_by_step() const {
    std::map<double, std::vector<double>> losses;
    std::size_t runs = 0;
    for (const ComparedRun& compared : comparison_.runs) {
      if (compared.role != RunRole::bf16) continue;
      ++runs;
      for (const ChartPoint& point : validated(*compared.run)) losses[point.x].push_back(point.y);
    }
    std::map<double, Bf16Losses> by_step;
    for (const auto& [step, values] : losses) {
      const std::optional<Bf16Losses> of_all = values.size() == runs ? bf16_losses(values) : std::nullopt;
      if (of_all) by_step.emplace(step, *of_all);
    }
    return by_step;
  }

  const Comparison& comparison_;
  std::vector<std::string> styles_;
};

}  // namespace

std::vector<Chart> make_charts(const Comparison& comparison) {
  const ChartMaker maker(comparison);
  const bool demonstrated =
      std::any_of(comparison.runs.begin(), comparison.runs.end(),
                  [](const ComparedRun& compared) { return compared.role == RunRole::demonstration; });
  std::vector<Chart> charts;
  const auto add = [&](Chart chart, std::string note) -> Chart& {
    chart.note = std::move(note);
    return charts.emplace_back(std::move(chart));
  };
  add(maker.smoothed_chart("Training loss", "nats per token", &StepMetrics::loss),
      fmt::format("Averaged over {} % of the run; recorded values lie faint behind.{}", 100 / kSmoothedPart,
                  demonstrated ? " A demonstration may leave the frame." : ""));
  add(maker.validation_chart(), "");
  add(maker.gap_chart(), "Below zero is better than bf16. Demonstrations are left out.");
  Chart& norm = add(maker.smoothed_chart("Gradient norm", "before clipping, logarithmic", &StepMetrics::grad_norm), "");
  norm.scale = Scale::logarithmic;
  Chart& speed = add(maker.smoothed_chart("Throughput", "tokens per second", &StepMetrics::tokens_per_second), "");
  speed.from_zero = true;
  speed.digits = 0;
  Chart& rate = add(maker.plain_chart("Learning rate", "per step", &StepMetrics::learning_rate), "");
  rate.from_zero = true;
  rate.digits = 6;
  return charts;
}

std::vector<std::string> run_styles(const Comparison& comparison) {
  std::vector<std::string> styles;
  int bf16 = 0;
  int fp8 = 0;
  for (const ComparedRun& compared : comparison.runs) {
    switch (compared.role) {
      case RunRole::bf16:
        styles.push_back(fmt::format("bf16 dash{}", bf16++ % kDashes));
        break;
      case RunRole::fp8:
        styles.push_back(fmt::format("fp8-{} dash{}", fp8 % kColours, fp8 % kDashes));
        ++fp8;
        break;
      case RunRole::demonstration:
        styles.emplace_back("demonstration dotted");
        break;
    }
  }
  return styles;
}

std::vector<ChartPoint> smoothed(std::span<const ChartPoint> points, std::size_t reach) {
  const auto is_nan = [](const ChartPoint& point) { return std::isnan(point.y); };
  std::vector<ChartPoint> result(points.begin(), points.end());
  for (auto begin = result.begin(); begin != result.end();) {
    const auto end = std::find_if(begin, result.end(), is_nan);
    smooth_stretch({begin, end}, reach);
    begin = std::find_if_not(end, result.end(), is_nan);
  }
  return result;
}

}  // namespace octet::io
