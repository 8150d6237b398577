// A mixture of experts in the place of a feed-forward network: router, routed experts, and experts that every token
// takes. No token is dropped.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/experts.h"
#include "model/feed_forward.h"
#include "model/router.h"

namespace octet {

class MixtureOfExperts {
 public:
  /// What backward reads of a forward pass, or makes again.
  struct Saved {
    Buffer x;                   // [T, D] bf16: the input
    FeedForward::Saved shared;  // its `in` is a view of x, and what the first layer wants beside it
    Router::Routing routing;
    Experts::Saved experts;
  };

  /// Adds its parameters to `slab`, but those of routed experts to `expert_slab`.
  MixtureOfExperts(const DeepSeekConfig& config, const std::string& name, double depth_std, std::int64_t tokens,
                   PrecisionPlan& precision, const ModelOptions& options, Slab& slab, Slab& expert_slab,
                   Parameters& parameters);

  /// Once the slabs have memory.
  void allocate(Memory& memory);
  void measure_weights(ops::Executor& run) const;
  void cast_weights(ops::Executor& run) const;
  void balance(ops::Executor& run, std::int64_t* load) const { router_.balance(run, load); }

  /// The layers that read the input and that the result comes from beside routed experts; null without shared ones.
  [[nodiscard]] const Linear* first() const { return shared_ ? &shared_->first() : nullptr; }
  [[nodiscard]] const Linear* last() const { return shared_ ? &shared_->last() : nullptr; }
  [[nodiscard]] InputUse first_use(Pass pass) const {
    return input_use(pass, saving_.recompute.norm, saving_.recompute.gate_up);
  }

  /// The delta [T, D] from saved.shared.in, whose values go to saved.x. `load` [E]: as Route leaves it.
  [[nodiscard]] Buffer forward(ops::Executor& run, Pass pass, std::int64_t* load, Saved& saved) const;
  /// What forward dropped, in its order, once saved.shared.in has its values again.
  void make_again(ops::Executor& run, Saved& saved) const;
  /// The gradient of the input [T, D] from that of the delta.
  [[nodiscard]] Buffer backward(ops::Executor& run, const BackwardStep& step, LinearOperand& ddelta, Saved& saved,
                                bool accumulate) const;

  /// In the order of the precision table; those of routed experts are none.
  [[nodiscard]] std::vector<Linear*> linears();

 private:
  [[nodiscard]] ops::CombineRows combine(const Tensor& routed, const Router::Routing& routing, const Tensor& out,
                                         bool added) const;

  std::string name_;
  std::int64_t dim_, top_k_;
  Saving saving_;
  Router router_;
  Experts experts_;
  std::optional<FeedForward> shared_;
};

}  // namespace octet
