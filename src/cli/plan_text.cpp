#include "cli/plan_text.h"

#include <fmt/format.h>

#include <array>
#include <cctype>
#include <cmath>
#include <string_view>
#include <vector>

#include "cli/memory_text.h"
#include "ops/gpu/verified_hardware.h"

namespace octet::cli {
namespace {

/// A table row for layers [first, last] that share everything but their number.
struct Row {
  LayerChoice choice;
  std::string prefix, suffix;
  std::int64_t first = -1;
  std::int64_t last = -1;

  [[nodiscard]] std::string layer() const {
    if (first < 0) return choice.layer;
    return first == last ? fmt::format("{}{}{}", prefix, first, suffix)
                         : fmt::format("{}{}-{}{}", prefix, first, last, suffix);
  }
};

Row split(const LayerChoice& choice) {
  Row row{choice, {}, {}};
  const std::string& name = choice.layer;
  const std::size_t begin = name.find_first_of("0123456789");
  if (!name.starts_with("layers.") || begin == std::string::npos) return row;
  std::size_t end = begin;
  while (end < name.size() && std::isdigit(static_cast<unsigned char>(name[end])) != 0) ++end;
  row.prefix = name.substr(0, begin);
  row.suffix = name.substr(end);
  row.first = row.last = std::stoll(name.substr(begin, end - begin));
  return row;
}

bool continues(const Row& row, const Row& next) {
  const LayerChoice& a = row.choice;
  const LayerChoice& b = next.choice;
  return row.first >= 0 && next.first == row.last + 1 && row.suffix == next.suffix && a.m == b.m && a.n == b.n &&
         a.k == b.k && a.precision == b.precision && a.reason == b.reason;
}

std::vector<Row> join(const std::vector<LayerChoice>& table) {
  std::vector<Row> rows;
  for (const LayerChoice& choice : table) {
    Row next = split(choice);
    bool joined = false;
    for (Row& row : rows) {
      if (!continues(row, next)) continue;
      row.last = next.last;
      joined = true;
      break;
    }
    if (!joined) rows.push_back(std::move(next));
  }
  return rows;
}

std::string device_text(const ops::Backend& backend, const std::string& device) {
  const std::string notice = ops::unverified_notice(backend.name(), backend.device().arch(), device);
  return fmt::format("device      {}: {}\n{}", backend.name(), backend.device().description(),
                     notice.empty() ? "" : "unverified  " + notice + "\n");
}

std::string model_text(const Engine& engine, std::int64_t seq_len) {
  const Model& model = engine.model();
  return fmt::format(
      "model       {} parameters, {}\n"
      "            {} FLOPs per token, {} tokens per step\n",
      count_text(static_cast<double>(model.parameters().count())), model.shape_text(),
      count_text(model.flops_per_token(seq_len)), engine.tokens_per_step());
}

std::string precision_text(const PrecisionPlan& precision) {
  const std::vector<Row> rows = join(precision.table());
  std::size_t width = 5;
  for (const Row& row : rows) width = std::max(width, row.layer().size());
  std::string text = fmt::format("precision   recipe {}, {} of {} layers in FP8\n", precision.options().recipe->name,
                                 precision.layers_in_fp8(), precision.table().size());
  text += fmt::format("  {:<8} {:<24} {:<24} {}\n", "product", "left", "right", "accumulation");
  for (const ProductChoice& c : precision.products()) {
    text += fmt::format("  {:<8} {:<24} {:<24} {}\n", c.product, c.left, c.right, fp8::name(c.accumulation));
  }
  text += fmt::format("  {:<{}}  {:>7} {:>7} {:>7}  {:<28} {}\n", "layer", width, "M", "N", "K", "precision", "reason");
  for (const Row& row : rows) {
    const LayerChoice& c = row.choice;
    text += fmt::format("  {:<{}}  {:>7} {:>7} {:>7}  {:<28} {}\n", row.layer(), width, c.m, c.n, c.k, c.precision,
                        c.reason);
  }
  return text;
}

}  // namespace

std::string bytes_text(double bytes) {
  constexpr std::array<std::string_view, 5> units{"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  while (bytes >= 1024 && unit + 1 < units.size()) {
    bytes /= 1024;
    ++unit;
  }
  return fmt::format("{:.{}f} {}", bytes, unit == 0 ? 0 : 2, units[unit]);
}

std::string count_text(double count) {
  if (count >= 1e15) return fmt::format("{:.2f} P", count / 1e15);
  if (count >= 1e12) return fmt::format("{:.2f} T", count / 1e12);
  if (count >= 1e9) return fmt::format("{:.2f} B", count / 1e9);
  if (count >= 1e6) return fmt::format("{:.2f} M", count / 1e6);
  return fmt::format("{:.0f}", count);
}

std::string duration_text(double seconds) {
  const std::int64_t whole = std::llround(seconds);
  if (whole >= 3600) return fmt::format("{} h {:02} m", whole / 3600, whole / 60 % 60);
  if (whole >= 60) return fmt::format("{} m {:02} s", whole / 60, whole % 60);
  return fmt::format("{} s", whole);
}

std::string plan_text(const Engine& engine, const Config& config, PlanDetail detail) {
  std::string text = device_text(engine.backend(), config.runtime.device) +
                     model_text(engine, config.training.seq_len) + precision_text(engine.model().precision()) +
                     memory_text(engine, config);
  if (detail == PlanDetail::full) {
    const PlannedRun run = planned_run(engine);
    text += choices_text(config, weigh_choices(config, run)) + optimizer_text(engine, config) +
            cards_text(config, run.keeps_gradients);
  }
  return text;
}

}  // namespace octet::cli
