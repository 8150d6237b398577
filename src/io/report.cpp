// Puts the HTML report together: what the runs say in one sentence, whether the checks hold, then the sections.
#include "io/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <string_view>

#include "io/report_compare.h"
#include "io/report_escape.h"
#include "io/report_sections.h"
#include "io/report_style.h"
#include "io/report_text.h"

namespace octet::io {
namespace {

/// A run's distance from bf16, in nats of validation loss.
struct LabelledGap {
  std::string_view label;
  double gap = 0;
};

/// The gap of the FP8 run that is furthest from zero; none where no gap is known. A NaN gap is further than any other.
std::optional<LabelledGap> furthest_from_bf16(const Comparison& comparison) {
  std::optional<LabelledGap> furthest;
  for (const ComparedRun& compared : comparison.runs) {
    if (compared.role != RunRole::fp8 || !compared.gap) continue;
    const double gap = *compared.gap;
    if (!furthest || !(std::abs(gap) <= std::abs(furthest->gap))) furthest = LabelledGap{compared.label, gap};
    if (std::isnan(gap)) break;
  }
  return furthest;
}

std::string count_of_runs(std::size_t runs) {
  return runs == 1 ? "1 run" : fmt::format("{} runs", runs);
}

std::string headline(const Comparison& comparison, const std::vector<std::string>& problems) {
  const std::optional<LabelledGap> furthest = furthest_from_bf16(comparison);
  if (!problems.empty()) return "These runs do not pass their checks";
  if (!furthest) return "Training report on " + count_of_runs(comparison.runs.size());
  return fmt::format("FP8 ends within {:.4f} nats of bf16", std::abs(furthest->gap));
}

std::string lead(const Comparison& comparison) {
  const std::optional<LabelledGap> furthest = furthest_from_bf16(comparison);
  if (!furthest || std::isnan(furthest->gap)) return "";
  std::string text = fmt::format("Of the FP8 runs, {} ends furthest from bf16, at {} nats of validation loss.",
                                 furthest->label, signed_decimal(furthest->gap, 4));
  if (comparison.bf16_spread) {
    text += fmt::format(" The bf16 seeds lie {} nats apart.", decimal(comparison.bf16_spread, 4));
  }
  return fmt::format("<p class=\"lead\">{}</p>", escaped(text));
}

std::string verdict_box(const std::vector<std::string>& problems) {
  if (problems.empty()) {
    return fmt::format(
        "<div class=\"verdict\"><p>All checks hold: every run finished, no loss became NaN, every FP8 recipe "
        "quantised, "
        "and no FP8 run but a fault shown on purpose ends more than {} nats above bf16.</p></div>\n",
        kLargestGap);
  }
  std::string html = "<div class=\"verdict bad\"><ul>";
  for (const std::string& problem : problems) html += "<li>" + escaped(problem) + "</li>";
  return html + "</ul></div>\n";
}

}  // namespace

std::string render_report(std::span<const RunRecord> runs) {
  const Comparison comparison = compare_runs(runs);
  const std::vector<std::string> problems = verdicts(comparison);
  const std::string title = headline(comparison, problems);
  // The policy forbids scripts and anything from outside: should escaping ever fail, nothing would run.
  std::string html = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><title>{0} – Octet</title>"
      "<style>{1}</style></head>\n<body><main><header><p class=\"over\">Octet training "
      "report</p><h1>{0}</h1>{2}</header>\n",
      title, report_style(), lead(comparison));
  html += verdict_box(problems);
  html += summary_section(comparison);
  html += charts_section(comparison);
  html += precision_section(comparison);
  html += numerics_section(comparison);
  html += memory_section(comparison);
  html += machine_section(comparison);
  html += configuration_section(comparison);
  html += samples_section(comparison);
  html += provenance_section(comparison);
  return html +
         "<footer><p>Written by Octet from run.json, metrics.jsonl and watch.jsonl of each "
         "run.</p></footer></main></body></html>\n";
}

}  // namespace octet::io
