// The sections that readers look things up in: precision by layer, memory, machine, configuration.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "io/report_escape.h"
#include "io/report_sections.h"
#include "io/report_text.h"

namespace octet::io {
namespace {

/// The heading of a table that sets the runs side by side.
std::string run_columns(const Comparison& comparison, std::string_view corner, std::string_view style) {
  std::string html = fmt::format("<thead><tr><th scope=\"col\">{}</th>", corner);
  for (const ComparedRun& compared : comparison.runs) {
    fmt::format_to(std::back_inserter(html), "<th scope=\"col\" class=\"run {}\">{}</th>", style,
                   escaped(compared.label));
  }
  return html + "</tr></thead>";
}

std::string precision_table(const PrecisionPlan& plan) {
  std::string html =
      "<div class=\"wide\"><table><thead><tr><th scope=\"col\">Layer</th><th scope=\"col\" class=\"figure\">m</th>"
      "<th scope=\"col\" class=\"figure\">n</th><th scope=\"col\" class=\"figure\">k</th>"
      "<th scope=\"col\">Precision</th><th scope=\"col\">Reason</th></tr></thead><tbody>\n";
  for (const LayerPrecision& layer : plan.layers) {
    fmt::format_to(std::back_inserter(html),
                   "<tr><th scope=\"row\"><code>{}</code></th><td class=\"figure\">{}</td><td class=\"figure\">{}</td>"
                   "<td class=\"figure\">{}</td><td class=\"term\">{}</td><td class=\"phrase\">{}</td></tr>\n",
                   escaped(layer.layer), grouped(layer.m), grouped(layer.n), grouped(layer.k), escaped(layer.precision),
                   escaped(layer.reason));
  }
  return html + "</tbody></table></div>";
}

std::vector<std::string> memory_categories(const Comparison& comparison) {
  std::vector<std::string> names;
  for (const ComparedRun& compared : comparison.runs) {
    for (const MemoryCategory& category : compared.run->memory.categories) {
      if (std::find(names.begin(), names.end(), category.name) == names.end()) names.push_back(category.name);
    }
  }
  return names;
}

std::optional<std::int64_t> category_bytes(const MemoryUse& memory, const std::string& name) {
  for (const MemoryCategory& category : memory.categories) {
    if (category.name == name) return category.bytes;
  }
  return std::nullopt;
}

template <typename BytesOf>
std::string memory_row(const Comparison& comparison, std::string_view title, const BytesOf& bytes_of) {
  std::string html = fmt::format("<tr><th scope=\"row\">{}</th>", escaped(title));
  for (const ComparedRun& compared : comparison.runs) {
    const std::optional<std::int64_t> value = bytes_of(compared.run->memory);
    fmt::format_to(std::back_inserter(html), "<td class=\"figure\">{}</td>",
                   value ? bytes(*value) : std::string(kNotMeasured));
  }
  return html + "</tr>\n";
}

std::string machine_list(const RunRecord& run) {
  std::string html = fmt::format(
      "<dl><dt>Processor</dt><dd>{}</dd><dt>Cores</dt><dd>{}</dd><dt>Instruction set</dt><dd>{}</dd>"
      "<dt>Memory</dt><dd>{}</dd>",
      escaped(run.machine.cpu), grouped(run.machine.cores), escaped(run.machine.isa), bytes(run.machine.memory_bytes));
  for (const Library& library : run.libraries) {
    fmt::format_to(std::back_inserter(html), "<dt>{}</dt><dd>{}</dd>", escaped(library.name), escaped(library.version));
  }
  return html + "</dl>\n";
}

bool same_place(const RunRecord& a, const RunRecord& b) {
  return a.machine == b.machine && a.libraries == b.libraries;
}

const std::string* config_value(const RunRecord& run, const std::string& key) {
  for (const ConfigValue& value : run.config) {
    if (value.key == key) return &value.value;
  }
  return nullptr;
}

/// Keys that some run lacks or sets to another value, in the order in which they first occur.
std::vector<std::string> differing_keys(const Comparison& comparison) {
  std::vector<std::string> keys;
  for (const ComparedRun& compared : comparison.runs) {
    for (const ConfigValue& entry : compared.run->config) {
      if (std::find(keys.begin(), keys.end(), entry.key) != keys.end()) continue;
      const bool same = std::all_of(comparison.runs.begin(), comparison.runs.end(), [&](const ComparedRun& other) {
        const std::string* found = config_value(*other.run, entry.key);
        return found != nullptr && *found == entry.value;
      });
      if (!same) keys.push_back(entry.key);
    }
  }
  return keys;
}

std::string differences_table(const Comparison& comparison) {
  const std::vector<std::string> keys = differing_keys(comparison);
  if (comparison.runs.size() < 2) return "";
  if (keys.empty()) return "<p>All runs share one configuration.</p>\n";
  std::string html = "<p>The runs differ in these values; all others are the same.</p><div class=\"wide\"><table>" +
                     run_columns(comparison, "Key", "term") + "<tbody>\n";
  for (const std::string& key : keys) {
    html += "<tr><th scope=\"row\"><code>" + escaped(key) + "</code></th>";
    for (const ComparedRun& compared : comparison.runs) {
      const std::string* value = config_value(*compared.run, key);
      html +=
          "<td>" + (value != nullptr ? "<code>" + escaped(*value) + "</code>" : std::string(kNotMeasured)) + "</td>";
    }
    html += "</tr>\n";
  }
  return html + "</tbody></table></div>\n";
}

std::string configuration_table(const RunRecord& run) {
  std::string html =
      "<div class=\"wide\"><table><thead><tr><th scope=\"col\">Key</th><th scope=\"col\">Value</th>"
      "<th scope=\"col\">Set in</th></tr></thead><tbody>\n";
  for (const ConfigValue& value : run.config) {
    const std::string_view origin = value.origin.empty() ? kNotMeasured : std::string_view(value.origin);
    fmt::format_to(
        std::back_inserter(html),
        "<tr><th scope=\"row\"><code>{}</code></th><td><code>{}</code></td><td class=\"soft\">{}</td></tr>\n",
        escaped(value.key), escaped(value.value), escaped(origin));
  }
  return html + "</tbody></table></div>";
}

}  // namespace

std::string precision_section(const Comparison& comparison) {
  std::string html =
      "<section><h2>Precision by layer</h2><p class=\"soft\">An [m, k] input times a [k, n] weight.</p>\n";
  for (const ComparedRun& compared : comparison.runs) {
    const PrecisionPlan& plan = compared.run->precision;
    fmt::format_to(std::back_inserter(html),
                   "<details><summary>{}<span class=\"soft\">{} of {} layers in FP8</span></summary>{}</details>\n",
                   escaped(compared.label), plan.layers_fp8, plan.layers.size(), precision_table(plan));
  }
  return html + "</section>\n";
}

std::string memory_section(const Comparison& comparison) {
  std::string html = "<section><h2>Memory</h2><div class=\"wide\"><table>" +
                     run_columns(comparison, "Planned before step 1", "figure") + "<tbody>\n";
  for (const std::string& name : memory_categories(comparison)) {
    html += memory_row(comparison, name, [&](const MemoryUse& memory) { return category_bytes(memory, name); });
  }
  html += memory_row(comparison, "Total planned",
                     [](const MemoryUse& memory) { return std::optional(memory.planned_bytes); });
  html += memory_row(comparison, "Measured peak", [](const MemoryUse& memory) { return memory.measured_bytes; });
  return html + "</tbody></table></div></section>\n";
}

std::string machine_section(const Comparison& comparison) {
  std::vector<std::pair<const RunRecord*, std::string>> places;  // a run on each, and the runs' labels
  for (const ComparedRun& compared : comparison.runs) {
    const auto known = std::find_if(places.begin(), places.end(),
                                    [&](const auto& place) { return same_place(*place.first, *compared.run); });
    if (known == places.end()) {
      places.emplace_back(compared.run, compared.label);
    } else {
      known->second += ", " + compared.label;
    }
  }
  std::string html = "<section><h2>Machine and libraries</h2>\n";
  for (const auto& [run, labels] : places) {
    if (places.size() > 1) html += "<h3>" + escaped(labels) + "</h3>";
    html += machine_list(*run);
  }
  return html + "</section>\n";
}

std::string configuration_section(const Comparison& comparison) {
  std::string html = "<section><h2>Configuration</h2>\n" + differences_table(comparison);
  for (const ComparedRun& compared : comparison.runs) {
    fmt::format_to(std::back_inserter(html), "<details><summary>{}</summary>{}</details>\n", escaped(compared.label),
                   configuration_table(*compared.run));
  }
  return html + "</section>\n";
}

}  // namespace octet::io
