// The router of a mixture of experts: which experts a token takes and how much each counts, in fp32, and how the routed
// rows are grouped by expert.
//
// Logits are fp32 sums of products of the bf16 input and the bf16 gate. Their gradient is rounded to bf16 once, as
// every layer's output gradient is, before its products with the gate and the input. Routing is never made again in
// backward: a recompute gives each token the experts that it had, and the load is counted once.
#pragma once

#include <string>

#include "model/deepseek_config.h"
#include "model/model.h"

namespace octet {

/// What the balance loss of a micro-batch needs to know: a step's loss is the mean over its tokens, to which each layer
/// adds the mean over its sequences of balance_weight * sum of f_e P_e (see RouteBackward).
struct BackwardStep {
  BatchShape shape;
  float token_weight = 1;          ///< one over the tokens of the step
  double* balance_loss = nullptr;  ///< [1], added to
};

class Router {
 public:
  /// A forward pass's choice: small, hence kept through any recompute. T tokens, K experts each, M = T K routed rows.
  struct Routing {
    Buffer logits;          // [T, E] f32
    Buffer experts;         // [T, K] i32
    Buffer weights;         // [T, K] f32
    Buffer offsets;         // [1, E + 1] i32
    Buffer padded_offsets;  // [1, E + 1] i32
    Buffer choice_of_row;   // [1, M] i32
    Buffer row_of_choice;   // [T, K] i32

    [[nodiscard]] ops::Groups groups() const {
      return {offsets.ptr<std::int32_t>(), padded_offsets.ptr<std::int32_t>(), offsets.tensor().cols() - 1,
              choice_of_row.tensor().cols()};
    }
  };

  /// Adds the gate [E, D] to `slab`, and the bias that balances its experts, where there is one, to `parameters`.
  Router(const MoeConfig& config, const std::string& name, std::int64_t dim, double init_std, std::int64_t tokens,
         PrecisionPlan& precision, Slab& slab, Parameters& parameters);

  /// Once the slab has memory.
  void allocate(Memory& memory);

  /// Routes x [T, D]. `load` [E]: rows of each expert, added to.
  [[nodiscard]] Routing forward(ops::Executor& run, const Tensor& x, std::int64_t* load) const;
  /// The part of x's gradient [T, D] that comes through the weights [T, K], whose gradient is `dweights`, and of the
  /// balance loss, where there is one; the gate's own is written, or added to with `accumulate`.
  [[nodiscard]] Buffer backward(ops::Executor& run, const Tensor& x, const Tensor& dweights, const Routing& routing,
                                const BackwardStep& step, bool accumulate) const;
  /// Moves the bias against the load, which begins anew.
  void balance(ops::Executor& run, std::int64_t* load) const;

 private:
  [[nodiscard]] const float* bias() const { return state_ == nullptr ? nullptr : state_->values.ptr<float>(); }

  MoeConfig config_;
  std::string name_;
  std::int64_t dim_;
  Slab& slab_;
  std::size_t place_;
  Tensor gate_;                    // [E, D] bf16
  TrainedState* state_ = nullptr;  // the bias [1, E] f32
};

}  // namespace octet
