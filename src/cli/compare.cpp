// octet compare: the first step and the first number in which two runs differ.
#include "train/compare.h"

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "core/ulp.h"
#include "io/text.h"

namespace octet::cli {
namespace {

using nlohmann::ordered_json;

struct CompareOptions {
  std::string left, right;
  std::int64_t tolerance_ulp = 0;
  bool json = false;
};

std::string ulp_text(std::uint64_t ulp, std::string_view format) {
  return ulp == kNoUlpDistance ? "one is NaN or infinite" : fmt::format("{} ulp of {}", ulp, format);
}

std::string run_text(const io::RunRecord& run) {
  return fmt::format("{}: {}, steps {} to {}, commit {}, binary {}\n", printable(run.directory.string()),
                     io::to_string(run.status), run.metrics.front().step, run.metrics.back().step,
                     printable(run.commit), printable(run.binary_hash));
}

std::string facts_text(std::string_view what, const std::vector<FactDifference>& differences) {
  std::string text;
  for (const auto& [key, left, right] : differences) {
    text += fmt::format("{:<11} {}: {} -> {}\n", what, printable(key), printable(left), printable(right));
  }
  return text;
}

std::string metrics_text(const MetricsComparison& metrics) {
  if (!metrics.first) return fmt::format("metrics     the same in all {} common steps\n", metrics.common_steps);
  const MetricDifference& first = *metrics.first;
  return fmt::format("metrics     differ in {} of {} common steps, first in step {}: {} {} -> {} ({}, {})\n",
                     metrics.differing_steps, metrics.common_steps, first.step, first.metric, first.left, first.right,
                     ulp_text(first.ulp_f32(), "fp32"), ulp_text(first.ulp_f64(), "double"));
}

/// The digits that a float needs, not those of the double that holds it.
std::string number_text(double value) {
  return fmt::format("{}", static_cast<float>(value));
}

std::string records_text(const RecordsComparison& records) {
  if (records.common_steps == 0) return {};
  if (!records.first) {
    return fmt::format("records     the same in all {} common steps, {} tensors\n", records.common_steps,
                       records.compared_tensors);
  }
  const TensorDifference& first = *records.first;
  std::string text =
      fmt::format("records     differ first in step {}, in {} of its tensors: {} [row {}, column {}] {} -> {} ({})\n",
                  first.step, first.differing_tensors, printable(first.tensor), first.row, first.column,
                  number_text(first.left), number_text(first.right), ulp_text(first.ulp, file_dtype_name(first.dtype)));
  text += fmt::format("            {} of its {} elements differ", first.differing_elements, first.elements);
  if (first.largest_relative) text += fmt::format(", by {:.3g} of their size at most", *first.largest_relative);
  return text + "\n";
}

std::string comparison_text(const RunComparison& comparison) {
  std::string text = "left        " + run_text(comparison.left) + "right       " + run_text(comparison.right) +
                     facts_text("config", comparison.config) + facts_text("origin", comparison.origins);
  for (const std::string& note : comparison.notes) text += fmt::format("note        {}\n", note);
  text += metrics_text(comparison.metrics) + records_text(comparison.records);
  if (comparison.same()) return text + "result      the same\n";
  const auto [step, what] = comparison.first_difference();
  return text + fmt::format("result      different from step {} on: {}\n", step, printable(what));
}

ordered_json ulp_json(std::uint64_t ulp) {
  return ulp == kNoUlpDistance ? ordered_json(nullptr) : ordered_json(ulp);
}

ordered_json run_json(const io::RunRecord& run) {
  return {{"directory", run.directory.string()},
          {"status", io::to_string(run.status)},
          {"first_step", run.metrics.front().step},
          {"last_step", run.metrics.back().step},
          {"commit", run.commit},
          {"binary_hash", run.binary_hash}};
}

ordered_json facts_json(const std::vector<FactDifference>& differences) {
  ordered_json list = ordered_json::array();
  for (const auto& [key, left, right] : differences) list.push_back({{"key", key}, {"left", left}, {"right", right}});
  return list;
}

ordered_json metrics_json(const MetricsComparison& metrics) {
  ordered_json json = {{"common_steps", metrics.common_steps}, {"differing_steps", metrics.differing_steps}};
  if (metrics.first) {
    const MetricDifference& first = *metrics.first;
    json["first"] = {{"step", first.step},
                     {"metric", first.metric},
                     {"left", io::number_or_null(first.left)},
                     {"right", io::number_or_null(first.right)},
                     {"ulp_f32", ulp_json(first.ulp_f32())},
                     {"ulp_f64", ulp_json(first.ulp_f64())}};
  }
  return json;
}

ordered_json records_json(const RecordsComparison& records) {
  ordered_json json = {{"common_steps", records.common_steps}, {"compared_tensors", records.compared_tensors}};
  if (records.first) {
    const TensorDifference& first = *records.first;
    json["first"] = {
        {"step", first.step},
        {"tensor", first.tensor},
        {"dtype", file_dtype_name(first.dtype)},
        {"row", first.row},
        {"column", first.column},
        {"left", io::number_or_null(first.left)},
        {"right", io::number_or_null(first.right)},
        {"ulp", ulp_json(first.ulp)},
        {"differing_elements", first.differing_elements},
        {"elements", first.elements},
        {"largest_relative", first.largest_relative ? ordered_json(*first.largest_relative) : ordered_json(nullptr)},
        {"differing_tensors", first.differing_tensors}};
  }
  return json;
}

ordered_json comparison_json(const RunComparison& comparison) {
  ordered_json json = {{"same", comparison.same()},
                       {"left", run_json(comparison.left)},
                       {"right", run_json(comparison.right)},
                       {"config", facts_json(comparison.config)},
                       {"origins", facts_json(comparison.origins)},
                       {"notes", comparison.notes},
                       {"metrics", metrics_json(comparison.metrics)},
                       {"records", records_json(comparison.records)}};
  if (!comparison.same()) {
    const auto [step, what] = comparison.first_difference();
    json["first_difference"] = {{"step", step}, {"what", what}};
  }
  return json;
}

void compare(const CompareOptions& options, Session& session) {
  const RunComparison comparison =
      compare_run_directories(options.left, options.right, static_cast<std::uint64_t>(options.tolerance_ulp));
  fmt::print("{}", options.json ? comparison_json(comparison).dump(2) + "\n" : comparison_text(comparison));
  if (!comparison.same()) session.exit_code = kExitDifferent;
}

}  // namespace

void add_compare(CLI::App& app, Session& session) {
  const auto options = std::make_shared<CompareOptions>();
  CLI::App* command = app.add_subcommand("compare", "Find the first step and number in which two runs differ");
  command->add_option("left", options->left, "Directory of a run")->required()->type_name("RUN_DIR");
  command->add_option("right", options->right, "Directory of the other")->required()->type_name("RUN_DIR");
  command
      ->add_option("--tolerance-ulp", options->tolerance_ulp,
                   "Let numbers pass that lie at most so many ulp apart (default 0: the same bits)")
      ->check(CLI::NonNegativeNumber);
  command->add_flag("--json", options->json, "Print JSON");
  command->callback([options, &session] { compare(*options, session); });
}

}  // namespace octet::cli
