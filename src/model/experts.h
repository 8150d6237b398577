// The routed experts of a mixture: SwiGLU networks, each on the rows that the router gave it, in grouped products.
//
// Nothing but the input, the maxima of its routed columns and gate_up waits for backward: what wgrad reads, codes or
// bf16, is made there of what it was made of in forward. A token's input is one row of x however many experts it has.
#pragma once

#include <string>

#include "model/grouped_linear.h"
#include "model/router.h"

namespace octet {

class Experts {
 public:
  /// What backward reads of a forward pass beside its input and routing.
  struct Saved {
    Buffer gate_up;         // [M, 2F] bf16
    Buffer in_amax;         // [E, D] bf16: of the columns of each group's rows of x; only where wgrad reads codes
    Buffer activated_amax;  // [E, F] bf16
  };

  /// The gradients that leave by the input's side.
  struct Gradients {
    Buffer dx;        // [M, D] bf16: of the routed rows of x
    Buffer dweights;  // [T, K] f32: of the router's weights
  };

  /// Adds its parameters to `slab`, a slab of the experts' own. `depth_std`: standard deviation of weights that write
  /// into the residual stream.
  Experts(const MoeConfig& config, const std::string& name, std::int64_t dim, double init_std, double depth_std,
          std::int64_t tokens, PrecisionPlan& precision, const ModelOptions& options, Slab& slab);

  /// Once the slab has memory.
  void allocate(Memory& memory);
  void measure_weights(ops::Executor& run) const;
  void cast_weights(ops::Executor& run) const;

  /// Weighted outputs [M, D] of the routed rows of x [T, D].
  [[nodiscard]] Buffer forward(ops::Executor& run, Pass pass, const Tensor& x, const Router::Routing& routing,
                               Saved& saved) const;
  /// What forward dropped.
  void make_again(ops::Executor& run, const Tensor& x, const Router::Routing& routing, Saved& saved) const;
  /// From the gradient of the sum over each token's outputs, dout [T, D].
  [[nodiscard]] Gradients backward(ops::Executor& run, const Tensor& x, const Tensor& dout,
                                   const Router::Routing& routing, Saved& saved, bool accumulate) const;

 private:
  /// Routed rows in the forms that products read them in. Which there are depends on the recipe.
  struct Rows {
    Buffer values;                  // [M, C] bf16
    Buffer codes, code_scales;      // [M, C]; [1, M] f32
    Buffer columns, column_scales;  // [C, Mp]; [E, C] f32
    Buffer amax;                    // [E, C] bf16

    /// For a product that contracts the columns, and for wgrad, which contracts the rows.
    [[nodiscard]] ops::GemmOperand by_rows() const;
    [[nodiscard]] ops::GemmOperand by_columns() const;
  };

  void project_gate_up(ops::Executor& run, Pass pass, const Tensor& x, const Router::Routing& routing,
                       Saved& saved) const;
  [[nodiscard]] Rows activate(ops::Executor& run, Pass pass, const Router::Routing& routing, Saved& saved) const;
  [[nodiscard]] Rows gather_gradient(ops::Executor& run, const Tensor& dout, const Router::Routing& routing) const;
  [[nodiscard]] Rows swiglu_backward(ops::Executor& run, const Tensor& dactivated, const Router::Routing& routing,
                                     Saved& saved, const Tensor& dweights, Rows& activated) const;
  [[nodiscard]] Rows activate_again(ops::Executor& run, const Router::Routing& routing, const Saved& saved) const;
  [[nodiscard]] Rows gather_again(ops::Executor& run, const Tensor& x, const Router::Routing& routing,
                                  const Saved& saved) const;

  // Room for what an op leaves beside its values, named after `reader`, whose operand it is, and what to hand to the
  // op.
  [[nodiscard]] ops::RowCodes expect_codes(Memory& memory, const GroupedLinear& reader, std::string_view what,
                                           const ops::Groups& groups, std::int64_t cols, Rows& rows) const;
  [[nodiscard]] ops::GroupMaxima expect_maxima(Memory& memory, const GroupedLinear& reader, std::string_view what,
                                               std::int64_t cols, Buffer& amax) const;
  [[nodiscard]] ops::GroupCodes expect_columns(Memory& memory, const GroupedLinear& reader, std::string_view what,
                                               const ops::Groups& groups, std::int64_t cols, const Tensor& amax,
                                               Rows& rows) const;
  [[nodiscard]] Buffer routed(Memory& memory, std::string_view what, const Router::Routing& routing,
                              std::int64_t cols) const;

  MoeConfig config_;
  std::string name_;
  std::int64_t dim_;
  Saving saving_;
  GroupedLinear w13_, w2_;
};

}  // namespace octet
