#include "model/precision.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/glob.h"

namespace octet {

LinearPrecision PrecisionPlan::record(std::string_view layer, std::int64_t m, std::int64_t n, std::int64_t k, bool fp8,
                                      std::string reason) {
  const fp8::Recipe& recipe = fp8 ? *options_.recipe : *fp8::find_recipe("bf16");
  const fp8::Format e4m3 = fp8::forward_format(options_.family);
  const fp8::Format e5m2 = fp8::gradient_format(options_.family);
  std::string precision = fp8 ? fmt::format("{} {}", recipe.name, fp8::name(e4m3)) : "bf16";
  table_.push_back({std::string(layer), m, n, k, fp8, std::move(precision), std::move(reason)});
  return {&recipe, options_.faulty_rule.value_or(fp8::ScaleRule::of(e4m3, recipe.power_of_two)),
          fp8::ScaleRule::of(e5m2, recipe.power_of_two)};
}

LinearPrecision PrecisionPlan::decide(std::string_view layer, std::int64_t m, std::int64_t n, std::int64_t k) {
  for (std::size_t i = 0; i < options_.skip.size(); ++i) {
    if (!glob_matches(options_.skip[i], layer)) continue;
    skip_used_[i] = true;
    return record(layer, m, n, k, false, fmt::format("precision.skip \"{}\"", options_.skip[i]));
  }
  const bool own_rule = options_.min_size < 0;
  if (const auto reason = fp8::stays_bf16(*options_.recipe, n, k, !own_rule)) {
    return record(layer, m, n, k, false, std::string(*reason));
  }
  if (!own_rule && std::min(n, k) < options_.min_size) {
    return record(layer, m, n, k, false, fmt::format("N or K below precision.min_size {}", options_.min_size));
  }
  return record(layer, m, n, k, true, own_rule ? "passes the recipe's size rule" : "precision.min_size");
}

LinearPrecision PrecisionPlan::decide_head(std::string_view layer, std::int64_t m, std::int64_t n, std::int64_t k) {
  if (options_.fp8_head) return decide(layer, m, n, k);
  for (std::size_t i = 0; i < options_.skip.size(); ++i) {
    if (glob_matches(options_.skip[i], layer)) skip_used_[i] = true;
  }
  return record(layer, m, n, k, false, "precision.head is bf16");
}

void PrecisionPlan::require_effect() const {
  for (std::size_t i = 0; i < options_.skip.size(); ++i) {
    if (skip_used_[i]) continue;
    throw UserError("precision.skip \"{}\" matches no layer; the layers are called like \"{}\"", options_.skip[i],
                    table_.empty() ? "" : table_.front().layer);
  }
  if (options_.recipe->uses_fp8() && layers_in_fp8() == 0) {
    throw UserError(
        "recipe {} converts no layer: {} stays in bf16 because of \"{}\"; set precision.min_size = 0 to "
        "convert small layers too",
        options_.recipe->name, table_.front().layer, table_.front().reason);
  }
}

std::int64_t PrecisionPlan::layers_in_fp8() const {
  return std::count_if(table_.begin(), table_.end(), [](const LayerChoice& choice) { return choice.fp8; });
}

}  // namespace octet
