#include "train/compare.h"

#include <algorithm>

#include "core/error.h"
#include "core/ulp.h"
#include "io/text.h"
#include "train/recorder.h"

namespace octet {
namespace {

namespace fs = std::filesystem;

/// When in a step each thing is computed.
enum class Stage { loss, gradients, grad_norm, weights, val_loss };

Stage stage_of_metric(std::string_view metric) {
  if (metric == "loss") return Stage::loss;
  return metric == "grad_norm" ? Stage::grad_norm : Stage::val_loss;
}

Stage stage_of_tensor(std::string_view tensor) {
  return tensor.starts_with(kGradientPrefix) ? Stage::gradients : Stage::weights;
}

bool comes_before(const MetricDifference& metric, const TensorDifference& tensor) {
  return std::pair(metric.step, stage_of_metric(metric.metric)) <
         std::pair(tensor.step, stage_of_tensor(tensor.tensor));
}

bool differs(const MetricDifference& pair, std::uint64_t tolerance_ulp) {
  if (tolerance_ulp == 0) return pair.ulp_f64() != 0;
  const std::uint64_t ulp = pair.ulp_f32();
  return ulp > tolerance_ulp || ulp == kNoUlpDistance;
}

/// The figures of one step that both runs have, in the order in which they are computed.
std::vector<MetricDifference> pairs_of(const io::StepMetrics& left, const io::StepMetrics& right) {
  std::vector<MetricDifference> pairs = {{left.step, "loss", left.loss, right.loss},
                                         {left.step, "grad_norm", left.grad_norm, right.grad_norm}};
  if (left.val_loss && right.val_loss) pairs.push_back({left.step, "val_loss", *left.val_loss, *right.val_loss});
  return pairs;
}

MetricsComparison compare_metrics(const io::RunRecord& left, const io::RunRecord& right, std::uint64_t tolerance_ulp) {
  MetricsComparison result;
  auto other = right.metrics.begin();
  for (const io::StepMetrics& step : left.metrics) {
    while (other != right.metrics.end() && other->step < step.step) ++other;
    if (other == right.metrics.end()) break;
    if (other->step != step.step) continue;
    ++result.common_steps;
    const std::vector<MetricDifference> pairs = pairs_of(step, *other);
    const auto found = std::ranges::find_if(pairs, [&](const auto& pair) { return differs(pair, tolerance_ulp); });
    if (found == pairs.end()) continue;
    ++result.differing_steps;
    if (!result.first) result.first = *found;
  }
  return result;
}

constexpr std::string_view kAbsent = "(absent)";

/// Keys of either list whose values differ, in the order of the left one; a key of one side alone is absent in the
/// other.
std::vector<FactDifference> differing_facts(const std::vector<std::pair<std::string, std::string>>& left,
                                            const std::vector<std::pair<std::string, std::string>>& right) {
  const auto value_in = [](const auto& facts, const std::string& key) {
    const auto found = std::ranges::find_if(facts, [&](const auto& fact) { return fact.first == key; });
    return found == facts.end() ? std::nullopt : std::optional(found->second);
  };
  std::vector<FactDifference> differences;
  for (const auto& [key, value] : left) {
    const auto other = value_in(right, key);
    if (other != value) differences.push_back({key, value, other.value_or(std::string(kAbsent))});
  }
  for (const auto& [key, value] : right) {
    if (!value_in(left, key)) differences.push_back({key, std::string(kAbsent), value});
  }
  return differences;
}

using Facts = std::vector<std::pair<std::string, std::string>>;

Facts config_facts(const io::RunRecord& run) {
  Facts facts;
  for (const io::ConfigValue& value : run.config) facts.emplace_back(value.key, value.value);
  return facts;
}

Facts origin_facts(const io::RunRecord& run) {
  Facts facts = {{"commit", run.commit},
                 {"binary_hash", run.binary_hash},
                 {"machine.cpu", run.machine.cpu},
                 {"machine.isa", run.machine.isa},
                 {"machine.cores", std::to_string(run.machine.cores)}};
  for (const io::Library& library : run.libraries) facts.emplace_back("libraries." + library.name, library.version);
  return facts;
}

bool has_key(const std::vector<FactDifference>& differences, std::string_view prefix) {
  return std::ranges::any_of(differences, [&](const auto& difference) { return difference.key.starts_with(prefix); });
}

void explain(RunComparison& comparison) {
  std::vector<std::string>& notes = comparison.notes;
  if (has_key(comparison.config, "training.seed")) {
    notes.emplace_back("training.seed differs: the runs begin with other weights");
  }
  if (has_key(comparison.config, "data.seed")) {
    notes.emplace_back("data.seed differs: the runs see their data in another order");
  }
  const io::StepMetrics& left = comparison.left.metrics.back();
  const io::StepMetrics& right = comparison.right.metrics.back();
  if (left.step != right.step) {
    notes.push_back(fmt::format("the left run has come to step {}, the right one to step {}: common steps are compared",
                                left.step, right.step));
  }
}

void require_common_steps(const RunComparison& comparison) {
  if (comparison.metrics.common_steps > 0) return;
  throw UserError("{} and {} have no step in common: compare runs that have both trained from step 1",
                  printable(comparison.left.directory.string()), printable(comparison.right.directory.string()));
}

}  // namespace

std::uint64_t MetricDifference::ulp_f32() const {
  return ulp_distance(static_cast<float>(left), static_cast<float>(right));
}

std::uint64_t MetricDifference::ulp_f64() const {
  return ulp_distance(left, right);
}

RunComparison::Place RunComparison::first_difference() const {
  check(!same(), "runs that are the same have no first difference");
  Place place;
  if (records.first) place = {records.first->step, records.first->tensor};
  if (metrics.first && (!records.first || comes_before(*metrics.first, *records.first))) {
    place = {metrics.first->step, std::string(metrics.first->metric)};
  }
  return place;
}

RunComparison compare_run_directories(const fs::path& left, const fs::path& right, std::uint64_t tolerance_ulp) {
  RunComparison comparison;
  comparison.left = io::read_run(left);
  comparison.right = io::read_run(right);
  comparison.config = differing_facts(config_facts(comparison.left), config_facts(comparison.right));
  comparison.origins = differing_facts(origin_facts(comparison.left), origin_facts(comparison.right));
  comparison.metrics = compare_metrics(comparison.left, comparison.right, tolerance_ulp);
  require_common_steps(comparison);
  explain(comparison);
  if (comparison.left.parameters != comparison.right.parameters) {
    comparison.notes.push_back(
        fmt::format("the runs train different models, of {} and {} parameters: gradients and weights are not compared",
                    comparison.left.parameters, comparison.right.parameters));
    return comparison;
  }
  comparison.records = compare_records(left, right, tolerance_ulp, comparison.notes);
  return comparison;
}

}  // namespace octet
