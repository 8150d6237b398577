// Which layer computes in which precision, and why: decided once, printed and stored by every run.
#pragma once

#include <cstdint>
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
  const fp8::Recipe* recipe = nullptr;  ///< bf16 where the layer is not converted
  fp8::ScaleRule e4m3_rule = fp8::ScaleRule::of(fp8::Format::e4m3fn, true);
  fp8::ScaleRule e5m2_rule = fp8::ScaleRule::of(fp8::Format::e5m2, true);

  [[nodiscard]] bool is_fp8() const { return recipe->uses_fp8(); }
  [[nodiscard]] const fp8::ScaleRule& rule(fp8::Precision precision) const {
    return precision == fp8::Precision::e5m2 ? e5m2_rule : e4m3_rule;
  }
};

struct PrecisionOptions {
  const fp8::Recipe* recipe = nullptr;
  fp8::FormatFamily family = fp8::FormatFamily::ocp;
  std::vector<std::string> skip;  ///< globs of layers that stay in bf16
  std::int64_t min_size = -1;     ///< -1: the recipe's own size rule; else layers with N or K below it stay in bf16
  bool fp8_head = false;
  std::optional<fp8::ScaleRule> faulty_rule = {};  ///< replaces the e4m3 rule; only a demonstration sets it
};

/// One row of the printed table.
struct LayerChoice {
  std::string layer;
  std::int64_t m = 0, n = 0, k = 0;
  bool fp8 = false;
  std::string precision;  ///< "bf16" or "rowwise e4m3fn"
  std::string reason;
};

class PrecisionPlan {
 public:
  explicit PrecisionPlan(PrecisionOptions options) : options_(std::move(options)), skip_used_(options_.skip.size()) {}

  /// Decides for the layer Y [m, n] = X [m, k] W [n, k]^T and adds it to the table.
  [[nodiscard]] LinearPrecision decide(std::string_view layer, std::int64_t m, std::int64_t n, std::int64_t k);
  /// The language-model head: bf16 unless `fp8_head`.
  [[nodiscard]] LinearPrecision decide_head(std::string_view layer, std::int64_t m, std::int64_t n, std::int64_t k);

  /// Throws UserError where a skip pattern matched no layer or an FP8 recipe converted none.
  void require_effect() const;

  [[nodiscard]] const PrecisionOptions& options() const { return options_; }
  [[nodiscard]] const std::vector<LayerChoice>& table() const { return table_; }
  [[nodiscard]] std::int64_t layers_in_fp8() const;

 private:
  LinearPrecision record(std::string_view layer, std::int64_t m, std::int64_t n, std::int64_t k, bool fp8,
                         std::string reason);

  PrecisionOptions options_;
  std::vector<bool> skip_used_;
  std::vector<LayerChoice> table_;
};

}  // namespace octet
