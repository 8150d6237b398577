// Which layer computes in which precision, and why: decided once, printed and stored by every run.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fp8/format_family.h"
#include "fp8/recipe.h"
#include "fp8/scale.h"

namespace octet {

/// What one linear layer computes with.
struct LinearPrecision {
  std::shared_ptr<const fp8::Recipe> recipe;  ///< as the plan resolved it; bf16 where the layer is not converted
  fp8::ScaleRule e4m3_rule = fp8::ScaleRule::of(fp8::Format::e4m3fn, true);
  fp8::ScaleRule e5m2_rule = fp8::ScaleRule::of(fp8::Format::e5m2, true);

  [[nodiscard]] bool is_fp8() const { return recipe->uses_fp8(); }
  [[nodiscard]] const fp8::ScaleRule& rule(fp8::Precision precision) const {
    return precision == fp8::Precision::e5m2 ? e5m2_rule : e4m3_rule;
  }
};

/// What replaces a recipe's own choice, product by product. Only products of FP8 operands have one.
struct AccumulationOverrides {
  std::optional<fp8::Accumulation> forward, dgrad, wgrad;
};

/// Products of routed experts that stay in bf16 whatever the recipe says.
struct ExpertsInBf16 {
  bool forward = false, dgrad = false, wgrad = false;
};

struct PrecisionOptions {
  const fp8::Recipe* recipe = nullptr;
  fp8::FormatFamily family = fp8::FormatFamily::ocp;
  std::vector<std::string> skip;  ///< globs of layers that stay in bf16
  std::int64_t min_size = -1;     ///< -1: the recipe's own size rule; else layers with N or K below it stay in bf16
  bool fp8_head = false;
  AccumulationOverrides accumulation = {};
  std::optional<fp8::ScaleRule> faulty_rule = {};  ///< replaces the e4m3 rule; only a demonstration sets it
  ExpertsInBf16 experts_in_bf16 = {};
};

/// One row of the printed table.
struct LayerChoice {
  std::string layer;
  std::int64_t m = 0, n = 0, k = 0;
  bool fp8 = false;
  std::string precision;  ///< "bf16" or "rowwise e4m3fn"
  std::string reason;
};

/// What one of the three products of every converted layer does.
struct ProductChoice {
  std::string_view product;  ///< "forward"
  std::string left, right;   ///< "dY e5m2 one scale"
  fp8::Accumulation accumulation;
};

class PrecisionPlan {
 public:
  explicit PrecisionPlan(PrecisionOptions options);

  /// Decides for the layer Y [m, n] = X [m, k] W [n, k]^T and adds it to the table.
  [[nodiscard]] LinearPrecision decide(std::string_view layer, std::int64_t m, std::int64_t n, std::int64_t k);
  /// The language-model head: bf16 unless `fp8_head`.
  [[nodiscard]] LinearPrecision decide_head(std::string_view layer, std::int64_t m, std::int64_t n, std::int64_t k);

  /// The experts of a layer, each Y [., n] = X [., k] W [n, k]^T for its share of m routed rows: FP8 at any size, as
  /// the recipe's rule is of single layers, unless min_size says otherwise. Throws UserError where the recipe has other
  /// scales than those of rows.
  [[nodiscard]] LinearPrecision decide_experts(std::string_view layer, std::int64_t m, std::int64_t n, std::int64_t k);
  /// A layer that no recipe converts, and why.
  void keep_bf16(std::string_view layer, std::int64_t m, std::int64_t n, std::int64_t k, std::string reason);

  /// Throws UserError where a skip pattern matched no layer, an FP8 recipe converted none, or fast accumulation is
  /// asked of a product that such a recipe computes in bf16.
  void require_effect() const;

  [[nodiscard]] const PrecisionOptions& options() const { return options_; }
  [[nodiscard]] const std::vector<LayerChoice>& table() const { return table_; }
  /// forward, dgrad, wgrad.
  [[nodiscard]] std::array<ProductChoice, 3> products() const;
  [[nodiscard]] std::int64_t layers_in_fp8() const;

 private:
  enum class SizeRule : std::uint8_t { recipe, none };

  [[nodiscard]] LinearPrecision decide(std::string_view layer, std::int64_t m, std::int64_t n, std::int64_t k,
                                       SizeRule rule);
  LinearPrecision record(std::string_view layer, std::int64_t m, std::int64_t n, std::int64_t k, bool fp8,
                         std::string reason);

  PrecisionOptions options_;
  std::shared_ptr<const fp8::Recipe> recipe_;  // options_.recipe with options_.accumulation
  std::shared_ptr<const fp8::Recipe> bf16_recipe_;
  std::vector<bool> skip_used_;
  std::vector<LayerChoice> table_;
};

}  // namespace octet
