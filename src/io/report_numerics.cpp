// The numerics watch in the report: for each run the layers of its last watched step, worst first.
#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <optional>

#include "io/report_escape.h"
#include "io/report_sections.h"
#include "io/report_text.h"
#include "io/watch_summary.h"

namespace octet::io {
namespace {

/// A table of more layers is folded.
constexpr std::size_t kLayersInSight = 12;

using Shares = std::optional<CastShares>;

/// Two significant digits, as shares range over many orders of magnitude.
std::string small_percent(const Shares& shares, double CastShares::*which) {
  if (!shares) return std::string(kNotMeasured);
  const double share = (*shares).*which;
  return share == 0 ? "0" : fmt::format("{:.2g} %", 100 * share);
}

std::string layer_row(const LayerNumerics& layer) {
  std::string html = fmt::format("<tr><th scope=\"row\"><code>{}</code></th>", escaped(layer.layer));
  const auto add = [&](const std::string& text) {
    fmt::format_to(std::back_inserter(html), "<td class=\"figure\">{}</td>", text);
  };
  for (const double ratio : {layer.output_sqnr_db, layer.input_gradient_sqnr_db, layer.weight_gradient_sqnr_db}) {
    add(decibels_text(ratio));
  }
  for (const auto which : {&CastShares::saturated, &CastShares::underflowed}) {
    for (const Shares* shares : {&layer.input, &layer.gradient, &layer.weight}) add(small_percent(*shares, which));
  }
  return html + "</tr>\n";
}

std::string layers_table(const WatchedStep& watched) {
  std::string html = "<div class=\"wide\"><table><thead><tr><th scope=\"col\">Layer</th>";
  for (const char* column : {"Output", "Input gradient", "Weight gradient", "Input saturated", "Gradient saturated",
                             "Weight saturated", "Input underflowed", "Gradient underflowed", "Weight underflowed"}) {
    fmt::format_to(std::back_inserter(html), "<th scope=\"col\" class=\"figure\">{}</th>", column);
  }
  html += "</tr></thead><tbody>\n";
  for (const LayerNumerics* layer : worst_first(watched)) html += layer_row(*layer);
  return html + "</tbody></table></div>";
}

}  // namespace

std::string numerics_section(const Comparison& comparison) {
  std::string runs;
  for (const ComparedRun& compared : comparison.runs) {
    if (compared.run->watched.empty()) continue;
    const WatchedStep& last = compared.run->watched.back();
    fmt::format_to(std::back_inserter(runs),
                   "<details{}><summary>{}<span class=\"soft\">step {}: {}; loss {}, in bf16 {}</span></summary>"
                   "{}</details>\n",
                   last.layers.size() > kLayersInSight ? "" : " open=\"\"", escaped(compared.label), grouped(last.step),
                   escaped(watch_summary(last)), decimal(last.loss, 4), decimal(last.loss_bf16, 4), layers_table(last));
  }
  if (runs.empty()) return "";
  return "<section><h2>Numerics watch</h2><p class=\"soft\">The last watched step of each run, computed in bf16 as "
         "well: "
         "ratios of signal to quantization noise, and what casts did to their values. Worst first.</p>\n" +
         runs + "</section>\n";
}

}  // namespace octet::io
