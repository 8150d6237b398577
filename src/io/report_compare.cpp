// Gap arithmetic and the verdicts drawn from it.
#include "io/report_compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "io/report.h"

namespace octet::io {
namespace {

std::vector<double> final_bf16_losses(std::span<const RunRecord> runs) {
  std::vector<double> losses;
  for (const RunRecord& run : runs) {
    if (role_of(run) == RunRole::bf16 && run.result && run.result->val_loss) losses.push_back(*run.result->val_loss);
  }
  return losses;
}

bool any_nan_loss(const RunRecord& run) {
  const auto is_nan = [](const std::optional<double>& loss) { return loss && std::isnan(*loss); };
  if (run.result && (std::isnan(run.result->train_loss) || is_nan(run.result->val_loss))) return true;
  return std::any_of(run.metrics.begin(), run.metrics.end(),
                     [&](const StepMetrics& step) { return std::isnan(step.loss) || is_nan(step.val_loss); });
}

void judge_fp8(const ComparedRun& compared, std::vector<std::string>& problems) {
  const RunRecord& run = *compared.run;
  if (run.precision.layers_fp8 == 0) {
    problems.push_back(fmt::format("{}: recipe {} put no layer in FP8", compared.label, run.precision.recipe));
  } else if (run.result && run.result->fp8_codes_used == 0) {
    problems.push_back(fmt::format("{}: recipe {} quantised nothing: no FP8 code was used in {} layers", compared.label,
                                   run.precision.recipe, run.precision.layers_fp8));
  }
  if (!run.result) return;  // an unfinished run has its own verdict
  if (!compared.gap) {
    problems.push_back(fmt::format(
        "{}: its gap cannot be checked: {}", compared.label,
        run.result->val_loss ? "no bf16 run with a validation loss is among the runs" : "it has no validation loss"));
  } else if (std::isnan(*compared.gap)) {
    problems.push_back(fmt::format("{}: its gap to bf16 is NaN", compared.label));
  } else if (*compared.gap > kLargestGap) {
    problems.push_back(fmt::format("{}: validation loss is {:.4f} nats above bf16, more than {}", compared.label,
                                   *compared.gap, kLargestGap));
  }
}

}  // namespace

RunRole role_of(const RunRecord& run) {
  if (run.demonstration) return RunRole::demonstration;
  return run.precision.recipe == "bf16" ? RunRole::bf16 : RunRole::fp8;
}

std::optional<Bf16Losses> bf16_losses(std::span<const double> losses) {
  if (losses.empty()) return std::nullopt;
  if (std::any_of(losses.begin(), losses.end(), [](double loss) { return std::isnan(loss); })) {
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    return Bf16Losses{static_cast<int>(losses.size()), nan, nan, nan};
  }
  double sum = 0;
  for (const double loss : losses) sum += loss;
  const auto [low, high] = std::minmax_element(losses.begin(), losses.end());
  return Bf16Losses{static_cast<int>(losses.size()), sum / static_cast<double>(losses.size()), *low, *high};
}

Comparison compare_runs(std::span<const RunRecord> runs) {
  Comparison comparison;
  comparison.bf16 = bf16_losses(final_bf16_losses(runs));
  if (comparison.bf16 && comparison.bf16->runs >= 2) {
    comparison.bf16_spread = comparison.bf16->high - comparison.bf16->low;
  }
  std::map<std::string, int> bearers;
  for (const RunRecord& run : runs) ++bearers[run.name];
  for (const RunRecord& run : runs) {
    ComparedRun compared{.run = &run, .role = role_of(run), .label = run.name, .gap = {}};
    if (bearers[run.name] > 1) compared.label += fmt::format(" ({})", run.directory.string());
    if (comparison.bf16 && run.result && run.result->val_loss) {
      compared.gap = *run.result->val_loss - comparison.bf16->mean;
    }
    comparison.runs.push_back(std::move(compared));
  }
  return comparison;
}

std::vector<std::string> verdicts(const Comparison& comparison) {
  std::vector<std::string> problems;
  for (const ComparedRun& compared : comparison.runs) {
    if (compared.role == RunRole::demonstration) continue;
    if (compared.run->status != RunStatus::finished) {
      problems.push_back(fmt::format("{}: {}, not finished", compared.label, to_string(compared.run->status)));
    }
    if (any_nan_loss(*compared.run)) problems.push_back(fmt::format("{}: the loss became NaN", compared.label));
    if (compared.role == RunRole::fp8) judge_fp8(compared, problems);
  }
  return problems;
}

std::vector<std::string> verdicts(std::span<const RunRecord> runs) {
  return verdicts(compare_runs(runs));
}

}  // namespace octet::io
