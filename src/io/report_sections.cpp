// The sections that readers see first: summary, charts, samples, and what it takes to make the runs again.
#include "io/report_sections.h"

#include <fmt/format.h>

#include <cmath>
#include <iterator>

#include "io/report_charts.h"
#include "io/report_escape.h"
#include "io/report_text.h"

namespace octet::io {
namespace {

constexpr int kSummaryColumns = 9;

std::string status_badge(RunStatus status) {
  if (status == RunStatus::finished) return "";
  return fmt::format(" <span class=\"badge{}\">{}</span>", status == RunStatus::failed ? " alarm" : "",
                     to_string(status));
}

void append_figure(std::string& row, std::string_view label, std::string_view figure, bool alarm = false) {
  fmt::format_to(std::back_inserter(row), "<td class=\"figure{}\" data-label=\"{}\">{}</td>",
                 alarm ? " alarm-text" : "", label, escaped(figure));
}

std::string summary_row(const ComparedRun& compared) {
  const RunRecord& run = *compared.run;
  const bool on_purpose = run.demonstration.has_value();
  const std::optional<RunResult>& result = run.result;
  const auto loss = [&](std::optional<double> value) { return decimal(value, 4); };
  std::string row = fmt::format("<tr{}><th scope=\"row\">{}{}{}</th>", on_purpose ? " class=\"open\"" : "",
                                escaped(compared.label), status_badge(run.status),
                                on_purpose ? " <span class=\"badge alarm\">fault shown on purpose</span>" : "");
  const std::string_view format = run.precision.format.empty() ? kNotMeasured : std::string_view(run.precision.format);
  fmt::format_to(std::back_inserter(row), "<td data-label=\"Recipe\">{}</td><td data-label=\"Format\">{}</td>",
                 escaped(run.precision.recipe), escaped(format));
  append_figure(row, "Layers in FP8", fmt::format("{} of {}", run.precision.layers_fp8, run.precision.layers.size()));
  const std::optional<double> train = result ? std::optional(result->train_loss) : std::nullopt;
  const std::optional<double> validation = result ? result->val_loss : std::nullopt;
  append_figure(row, "Train loss", loss(train), train && std::isnan(*train));
  append_figure(row, "Validation loss", loss(validation), validation && std::isnan(*validation));
  append_figure(row, "Gap to bf16", signed_decimal(compared.gap, 4),
                compared.role != RunRole::bf16 && compared.gap && !(*compared.gap <= kLargestGap));
  append_figure(row, "Tokens/s", result ? grouped(result->tokens_per_second) : std::string(kNotMeasured));
  append_figure(row, "ms/step", result ? decimal(result->ms_per_step, 1) : std::string(kNotMeasured));
  return row + "</tr>";
}

std::string demonstration_row(const Demonstration& demonstration) {
  return fmt::format(
      "<tr class=\"remark\"><td colspan=\"{}\"><p>This run trains with the fault <code>{}</code> to show what it does: "
      "<span class=\"alarm-text\">{}</span> of the codes saturate; without saturation {} would be NaN. "
      "Octet refuses it otherwise:</p><blockquote>{}</blockquote></td></tr>",
      kSummaryColumns, escaped(demonstration.fault), percent(demonstration.saturated_share),
      percent(demonstration.nan_share_unsaturated), escaped(demonstration.refused_message));
}

/// What the gaps are to be read against.
std::string yardstick(const Comparison& comparison) {
  if (!comparison.bf16) return "No bf16 run is among the runs, so there is no gap to show.";
  if (!comparison.bf16_spread) {
    return "The gap is the validation loss minus that of the only bf16 run; a second seed would show how much of it is "
           "chance.";
  }
  return fmt::format(
      "The gap is the validation loss minus the mean of {} bf16 runs, {}. These differ among themselves by {} nats.",
      comparison.bf16->runs, decimal(comparison.bf16->mean, 4), decimal(comparison.bf16_spread, 4));
}

std::string provenance(const ComparedRun& compared) {
  const RunRecord& run = *compared.run;
  std::string command;
  for (const std::string& word : run.command_line) command += (command.empty() ? "" : " ") + word;
  std::string rows;
  const auto add = [&](std::string_view term, std::string_view html) {
    fmt::format_to(std::back_inserter(rows), "<dt>{}</dt><dd>{}</dd>", term, html);
  };
  add("Command", "<code>" + escaped(command) + "</code>");
  add("Directory", "<code>" + escaped(run.directory.string()) + "</code>");
  add("Commit", "<code>" + escaped(run.commit) + "</code>");
  add("Binary (xxh3)", "<code>" + escaped(run.binary_hash) + "</code>");
  add("Started", escaped(run.started));
  if (!run.finished.empty()) add("Ended", escaped(run.finished));
  add("Model", fmt::format("{} parameters, {} FLOP per token", grouped(run.parameters), grouped(run.flops_per_token)));
  if (run.result) add("FP8 codes used", grouped(run.result->fp8_codes_used));
  if (run.half_written_lines > 0) add("Metrics", "the last line was cut short and is left out");
  if (run.superseded_lines > 0) {
    add("Resumed", fmt::format("{} recorded steps were gone through again", grouped(run.superseded_lines)));
  }
  return fmt::format("<details><summary>{}<span class=\"soft\">{}</span></summary><dl>{}</dl></details>\n",
                     escaped(compared.label), to_string(run.status), rows);
}

}  // namespace

std::string summary_section(const Comparison& comparison) {
  const std::string spread =
      comparison.bf16_spread ? fmt::format("<small>seed spread {}</small>", decimal(comparison.bf16_spread, 4)) : "";
  std::string html = fmt::format(
      "<section><h2>Summary</h2><div class=\"wide\"><table class=\"cards\"><thead><tr><th scope=\"col\">Run</th>"
      "<th scope=\"col\">Recipe</th><th scope=\"col\">Format</th><th scope=\"col\" class=\"figure\">Layers in FP8</th>"
      "<th scope=\"col\" class=\"figure\">Train loss</th><th scope=\"col\" class=\"figure\">Validation loss</th>"
      "<th scope=\"col\" class=\"figure\">Gap to bf16{}</th><th scope=\"col\" class=\"figure\">Tokens/s</th>"
      "<th scope=\"col\" class=\"figure\">ms/step</th></tr></thead>\n",
      spread);
  for (const ComparedRun& compared : comparison.runs) {
    html += "<tbody>" + summary_row(compared);
    if (compared.run->demonstration) html += demonstration_row(*compared.run->demonstration);
    html += "</tbody>\n";
  }
  return html + fmt::format("</table></div><p class=\"note\">{} Losses are in nats per token.</p></section>\n",
                            yardstick(comparison));
}

std::string charts_section(const Comparison& comparison) {
  std::string html = "<section><h2>Training</h2><div class=\"charts\">\n";
  for (const Chart& chart : make_charts(comparison)) html += render_chart(chart);
  return html + "</div></section>\n";
}

std::string samples_section(const Comparison& comparison) {
  std::string samples;
  for (const ComparedRun& compared : comparison.runs) {
    if (!compared.run->sample) continue;
    fmt::format_to(std::back_inserter(samples), "<div><h3>{}</h3><pre><span class=\"prompt\">{}</span>{}</pre></div>\n",
                   escaped(compared.label), escaped(compared.run->sample->prompt), escaped(compared.run->sample->text));
  }
  if (samples.empty()) return "";
  return "<section><h2>What the models write</h2><p class=\"soft\">The prompt is set in grey.</p><div "
         "class=\"samples\">" +
         samples + "</div></section>\n";
}

std::string provenance_section(const Comparison& comparison) {
  std::string html = "<section><h2>Runs</h2>\n";
  for (const ComparedRun& compared : comparison.runs) html += provenance(compared);
  return html + "</section>\n";
}

}  // namespace octet::io
