// The same linear layer of every expert, Y_e = X_e W_e^T for the routed rows of each: its weights, their codes, and its
// three products. As a Linear's, what each product reads follows from the recipe: codes with a scale for each row, or
// bf16.
#pragma once

#include <string>
#include <vector>

#include "model/model.h"

namespace octet {

class GroupedLinear {
 public:
  /// Adds the weight [E n, k] to `slab`. `parts`: the names of an expert's rows, behind "NAME.e.", from the first on.
  /// `routed` rows of a micro-batch. Throws UserError for a recipe whose scales are not of rows.
  GroupedLinear(const std::string& name, std::int64_t experts, std::int64_t n, std::int64_t k, std::int64_t routed,
                double standard_deviation, const std::vector<ParameterPart>& parts, PrecisionPlan& precision,
                const ModelOptions& options, Slab& slab);

  /// Once the slab has memory: binds the weight, and takes memory for cached codes.
  void allocate(Memory& memory);
  void measure_weight(ops::Executor& run) const;
  void cast_weight(ops::Executor& run) const;

  // Whether a product reads codes.
  [[nodiscard]] bool forward_in_fp8() const;
  [[nodiscard]] bool dgrad_in_fp8() const;
  [[nodiscard]] bool wgrad_in_fp8() const;
  /// How values are scaled and encoded.
  [[nodiscard]] const fp8::ScaleRule& rule() const { return precision_.e4m3_rule; }

  /// y [M, n] of x [M, k]; dx [M, k] of dy [M, n]: codes with scales [M], or bf16, as the product reads them.
  void forward(ops::Executor& run, const ops::GemmOperand& x, const ops::Groups& groups, const Tensor& y) const;
  void dgrad(ops::Executor& run, const ops::GemmOperand& dy, const ops::Groups& groups, const Tensor& dx) const;
  /// dW [E, n, k] of dy and x: transposed codes, or bf16 rows marked transposed. Written, or added to.
  void wgrad(ops::Executor& run, const ops::GemmOperand& dy, const ops::GemmOperand& x, const ops::Groups& groups,
             bool accumulate) const;

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::int64_t n() const { return n_; }
  [[nodiscard]] std::int64_t k() const { return k_; }

 private:
  [[nodiscard]] Codes make_codes(Memory& memory, std::string_view what, std::int64_t outer,
                                 std::int64_t contraction) const;
  void cast_into(ops::Executor& run, const Codes* forward, const Codes* dgrad) const;
  void product(ops::Executor& run, const ops::GemmOperand& a, const Codes& cached, bool transposed,
               const ops::Groups& groups, const Tensor& d, std::int64_t k, fp8::Accumulation accumulation) const;

  std::string name_;
  std::int64_t experts_, n_, k_;
  LinearPrecision precision_;
  WeightCodes weight_codes_;
  Slab& slab_;
  std::size_t place_;
  ParameterView weight_;
  Codes forward_codes_;  // of W [E, n, k], a scale for each row
  Codes dgrad_codes_;    // of W^T [E, k, n]
};

}  // namespace octet
