// The summary of a set of runs for the terminal and for other programs.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "io/report.h"
#include "io/report_compare.h"
#include "io/report_text.h"

namespace octet::io {
namespace {

constexpr std::size_t kTableWidth = 120;
constexpr std::size_t kColumns = 10;
constexpr std::size_t kTextColumns = 3;  // run, recipe and format stand left, figures right
constexpr std::string_view kColumnGap = "  ";

using TableRow = std::array<std::string, kColumns>;
using Widths = std::array<std::size_t, kColumns>;

TableRow heading() {
  return {"run", "recipe", "format", "FP8", "train loss", "val loss", "gap bf16", "spread", "tokens/s", "ms/step"};
}

TableRow table_row(const ComparedRun& compared, const Comparison& comparison) {
  const RunRecord& run = *compared.run;
  const std::optional<RunResult>& result = run.result;
  const std::string nothing(kNotMeasured);
  return {compared.label,
          run.precision.recipe,
          run.precision.format.empty() ? nothing : run.precision.format,
          fmt::format("{}/{}", run.precision.layers_fp8, run.precision.layers.size()),
          result ? decimal(result->train_loss, 4) : nothing,
          result ? decimal(result->val_loss, 4) : nothing,
          signed_decimal(compared.gap, 4),
          decimal(comparison.bf16_spread, 4),
          result ? grouped(result->tokens_per_second) : nothing,
          result ? decimal(result->ms_per_step, 1) : nothing};
}

/// The widest cell of each column; where the table would not fit, the texts give way in turn, longest first.
Widths column_widths(std::span<const TableRow> rows) {
  constexpr std::size_t narrowest = 6;
  Widths widths{};
  for (const TableRow& row : rows) {
    for (std::size_t i = 0; i < kColumns; ++i) widths[i] = std::max(widths[i], characters(row[i]));
  }
  const auto total = [&] {
    std::size_t sum = kColumnGap.size() * (kColumns - 1);
    for (const std::size_t width : widths) sum += width;
    return sum;
  };
  while (total() > kTableWidth) {
    const auto longest = std::max_element(widths.begin(), widths.begin() + kTextColumns);
    if (*longest <= narrowest) break;
    --*longest;
  }
  return widths;
}

void append_row(std::string& table, const TableRow& row, const Widths& widths) {
  std::string line;
  for (std::size_t i = 0; i < kColumns; ++i) {
    const std::string cell = fitted(row[i], widths[i]);
    const std::string padding(widths[i] - characters(cell), ' ');
    if (i > 0) line += kColumnGap;
    line += i < kTextColumns ? cell + padding : padding + cell;
  }
  line.erase(line.find_last_not_of(' ') + 1);
  table += line + "\n";
}

/// What a reader of the table must know about a run beyond its figures.
std::vector<std::string> remarks(const ComparedRun& compared) {
  const RunRecord& run = *compared.run;
  std::vector<std::string> lines;
  if (run.status != RunStatus::finished) {
    lines.push_back(fmt::format("{}: {}, not finished", compared.label, to_string(run.status)));
  }
  if (run.half_written_lines > 0) {
    lines.push_back(fmt::format("{}: the last metrics line was cut short and is left out", compared.label));
  }
  if (run.demonstration) {
    lines.push_back(fmt::format("{}: a fault shown on purpose ({}), {} of the codes saturated", compared.label,
                                run.demonstration->fault, percent(run.demonstration->saturated_share)));
    lines.push_back(fmt::format("{}: refused otherwise: {}", compared.label, run.demonstration->refused_message));
  }
  return lines;
}

/// Appends `text` broken at spaces into lines of at most kTableWidth characters; a longer word is cut.
void append_wrapped(std::string& table, std::string_view text) {
  std::string line;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string word = fitted(text.substr(0, end), kTableWidth - 2);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!line.empty() && characters(line) + 1 + characters(word) > kTableWidth) {
      table += line + "\n";
      line = "  ";
    } else if (!line.empty()) {
      line += ' ';
    }
    line += word;
  }
  table += line + "\n";
}

using Json = nlohmann::ordered_json;

Json run_json(const ComparedRun& compared) {
  const RunRecord& run = *compared.run;
  Json json{{"name", run.name},
            {"directory", run.directory.string()},
            {"status", to_string(run.status)},
            {"recipe", run.precision.recipe},
            {"format", run.precision.format},
            {"layers_fp8", run.precision.layers_fp8},
            {"layers", run.precision.layers.size()}};
  if (run.result) {
    json["train_loss"] = run.result->train_loss;
    if (run.result->val_loss) json["val_loss"] = *run.result->val_loss;
    json["tokens_per_second"] = run.result->tokens_per_second;
    json["ms_per_step"] = run.result->ms_per_step;
    json["fp8_codes_used"] = run.result->fp8_codes_used;
  }
  if (compared.gap) json["gap_to_bf16"] = *compared.gap;
  if (run.demonstration) {
    json["demonstration"] = {{"fault", run.demonstration->fault},
                             {"saturated_share", run.demonstration->saturated_share},
                             {"nan_share_unsaturated", run.demonstration->nan_share_unsaturated},
                             {"refused_message", run.demonstration->refused_message}};
  }
  return json;
}

}  // namespace

std::string summary_table(std::span<const RunRecord> runs) {
  const Comparison comparison = compare_runs(runs);
  std::vector<TableRow> rows{heading()};
  for (const ComparedRun& compared : comparison.runs) rows.push_back(table_row(compared, comparison));
  const Widths widths = column_widths(rows);
  std::string table;
  for (const TableRow& row : rows) append_row(table, row, widths);
  for (const ComparedRun& compared : comparison.runs) {
    for (const std::string& remark : remarks(compared)) append_wrapped(table, remark);
  }
  return table;
}

std::string summary_json(std::span<const RunRecord> runs) {
  const Comparison comparison = compare_runs(runs);
  Json json;
  if (comparison.bf16) json["bf16"] = {{"runs", comparison.bf16->runs}, {"mean_val_loss", comparison.bf16->mean}};
  if (comparison.bf16_spread) json["bf16"]["spread"] = *comparison.bf16_spread;
  json["runs"] = Json::array();
  for (const ComparedRun& compared : comparison.runs) json["runs"].push_back(run_json(compared));
  json["problems"] = verdicts(comparison);
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace octet::io
