#include "model/precision.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/glob.h"

namespace octet {
namespace {

bool reads_fp8(const fp8::Gemm& gemm) {
  return gemm.left.precision != fp8::Precision::bf16;
}

fp8::Recipe resolved(fp8::Recipe recipe, const AccumulationOverrides& overrides) {
  const auto resolve = [](fp8::Gemm& gemm, std::optional<fp8::Accumulation> accumulation) {
    if (reads_fp8(gemm)) gemm.accumulation = accumulation.value_or(gemm.accumulation);
  };
  resolve(recipe.forward, overrides.forward);
  resolve(recipe.dgrad, overrides.dgrad);
  resolve(recipe.wgrad, overrides.wgrad);
  return recipe;
}

std::string describe(std::string_view matrix, const fp8::Operand& operand, fp8::FormatFamily family) {
  const std::optional<fp8::Format> format = fp8::format_of(operand.precision, family);
  if (!format) return fmt::format("{} bf16", matrix);
  return fmt::format("{} {} {}", matrix, fp8::name(*format),
                     operand.scale_axis == fp8::ScaleAxis::row ? "row scales" : "one scale");
}

/// bf16 products sum in fp32 on every device: there is nothing to make faster.
void require_fp8(std::string_view product, std::optional<fp8::Accumulation> asked, const fp8::Gemm& gemm,
                 std::string_view recipe) {
  if (asked != fp8::Accumulation::fast || reads_fp8(gemm)) return;
  throw UserError(
      "precision.accumulation_{0} = \"fast\" has no effect: recipe {1} computes {0} in bf16, whose sums are always "
      "full; set it to \"recipe\"",
      product, recipe);
}

}  // namespace

PrecisionPlan::PrecisionPlan(PrecisionOptions options)
    : options_(std::move(options)),
      recipe_(std::make_shared<const fp8::Recipe>(resolved(*options_.recipe, options_.accumulation))),
      bf16_recipe_(std::make_shared<const fp8::Recipe>(*fp8::find_recipe("bf16"))),
      skip_used_(options_.skip.size()) {}

LinearPrecision PrecisionPlan::record(std::string_view layer, std::int64_t m, std::int64_t n, std::int64_t k, bool fp8,
                                      std::string reason) {
  const std::shared_ptr<const fp8::Recipe>& recipe = fp8 ? recipe_ : bf16_recipe_;
  const fp8::Format e4m3 = fp8::forward_format(options_.family);
  const fp8::Format e5m2 = fp8::gradient_format(options_.family);
  std::string precision = fp8 ? fmt::format("{} {}", recipe->name, fp8::name(e4m3)) : "bf16";
  table_.push_back({std::string(layer), m, n, k, fp8, std::move(precision), std::move(reason)});
  return {recipe, options_.faulty_rule.value_or(fp8::ScaleRule::of(e4m3, recipe->power_of_two)),
          fp8::ScaleRule::of(e5m2, recipe->power_of_two)};
}

LinearPrecision PrecisionPlan::decide(std::string_view layer, std::int64_t m, std::int64_t n, std::int64_t k) {
  return decide(layer, m, n, k, SizeRule::recipe);
}

LinearPrecision PrecisionPlan::decide(std::string_view layer, std::int64_t m, std::int64_t n, std::int64_t k,
                                      SizeRule rule) {
  for (std::size_t i = 0; i < options_.skip.size(); ++i) {
    if (!glob_matches(options_.skip[i], layer)) continue;
    skip_used_[i] = true;
    return record(layer, m, n, k, false, fmt::format("precision.skip \"{}\"", options_.skip[i]));
  }
  const bool own_rule = options_.min_size < 0;
  const bool any_size = !own_rule || rule == SizeRule::none;
  if (const auto reason = fp8::stays_bf16(*options_.recipe, n, k, any_size)) {
    return record(layer, m, n, k, false, std::string(*reason));
  }
  if (!own_rule && std::min(n, k) < options_.min_size) {
    return record(layer, m, n, k, false, fmt::format("N or K below precision.min_size {}", options_.min_size));
  }
  if (!own_rule) return record(layer, m, n, k, true, "precision.min_size");
  return record(layer, m, n, k, true, any_size ? "experts of any size" : "passes the recipe's size rule");
}

LinearPrecision PrecisionPlan::decide_head(std::string_view layer, std::int64_t m, std::int64_t n, std::int64_t k) {
  if (options_.fp8_head) return decide(layer, m, n, k);
  for (std::size_t i = 0; i < options_.skip.size(); ++i) {
    if (glob_matches(options_.skip[i], layer)) skip_used_[i] = true;
  }
  return record(layer, m, n, k, false, "precision.head is bf16");
}

LinearPrecision PrecisionPlan::decide_experts(std::string_view layer, std::int64_t m, std::int64_t n, std::int64_t k) {
  LinearPrecision precision = decide(layer, m, n, k, SizeRule::none);
  if (!precision.is_fp8()) return precision;
  const ExpertsInBf16& kept = options_.experts_in_bf16;
  auto recipe = std::make_shared<fp8::Recipe>(*precision.recipe);
  LayerChoice& choice = table_.back();
  bool any_fp8 = false;
  const auto settle = [&](fp8::Gemm& product, bool in_bf16, std::string_view name) {
    if (in_bf16 && reads_fp8(product)) {
      product = bf16_recipe_->forward;
      choice.precision += fmt::format(", {} bf16", name);
    }
    if (!reads_fp8(product)) return;
    any_fp8 = true;
    if (product.left.scale_axis == fp8::ScaleAxis::row && product.right.scale_axis == fp8::ScaleAxis::row) return;
    throw UserError(
        "{}: recipe {} has one scale for a whole operand of {}, which the products of experts have not; use recipe "
        "rowwise, precision.experts_{} = \"bf16\", or leave experts in bf16 with precision.skip",
        layer, recipe->name, name, name);
  };
  settle(recipe->forward, kept.forward, "forward");
  settle(recipe->dgrad, kept.dgrad, "dgrad");
  settle(recipe->wgrad, kept.wgrad, "wgrad");
  if (!any_fp8) {
    choice.fp8 = false;
    choice.precision = "bf16";
    choice.reason = "precision.experts_forward, dgrad and wgrad";
  }
  precision.recipe = std::move(recipe);
  return precision;
}

void PrecisionPlan::keep_bf16(std::string_view layer, std::int64_t m, std::int64_t n, std::int64_t k,
                              std::string reason) {
  (void)record(layer, m, n, k, false, std::move(reason));
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
  if (!recipe_->uses_fp8()) return;  // the keys of FP8 may stay where a run with bf16 is compared
  require_fp8("forward", options_.accumulation.forward, recipe_->forward, recipe_->name);
  require_fp8("dgrad", options_.accumulation.dgrad, recipe_->dgrad, recipe_->name);
  require_fp8("wgrad", options_.accumulation.wgrad, recipe_->wgrad, recipe_->name);
}

std::array<ProductChoice, 3> PrecisionPlan::products() const {
  const auto choice = [this](std::string_view product, std::string_view left, std::string_view right,
                             const fp8::Gemm& gemm) {
    return ProductChoice{product, describe(left, gemm.left, options_.family),
                         describe(right, gemm.right, options_.family), gemm.accumulation};
  };
  return {choice("forward", "X", "W", recipe_->forward), choice("dgrad", "dY", "W", recipe_->dgrad),
          choice("wgrad", "dY", "X", recipe_->wgrad)};
}

std::int64_t PrecisionPlan::layers_in_fp8() const {
  return std::count_if(table_.begin(), table_.end(), [](const LayerChoice& choice) { return choice.fp8; });
}

}  // namespace octet
