// A SwiGLU feed-forward network: the dense layers' and, in a mixture of experts, the one that every token takes.
#pragma once

#include <string>
#include <vector>

#include "model/slab_linear.h"

namespace octet {

class FeedForward {
 public:
  /// What backward reads of a forward pass, or makes again. T tokens.
  struct Saved {
    LinearOperand in;         // [T, D]: into w13
    Buffer gate_up;           // [T, 2F] bf16
    LinearOperand activated;  // [T, F]: into w2
  };

  /// Adds its parameters to `slab`. `saved_input`: in which form the input waits for wgrad. `depth_std`: standard
  /// deviation of weights that write into the residual stream.
  FeedForward(const std::string& name, std::int64_t dim, std::int64_t ffn_dim, double init_std, double depth_std,
              std::int64_t tokens, SavedInput saved_input, PrecisionPlan& precision, const ModelOptions& options,
              Slab& slab);

  /// Once the slab has memory.
  void allocate(Memory& memory);
  void measure_weights(ops::Executor& run) const;
  void cast_weights(ops::Executor& run) const;

  /// The layer that reads the input, and what becomes of that.
  [[nodiscard]] const Linear& first() const { return w13_.layer; }
  [[nodiscard]] InputUse first_use(Pass pass) const;
  /// The layer that the result comes from.
  [[nodiscard]] const Linear& last() const { return w2_.layer; }

  /// The delta [T, D] from saved.in.
  [[nodiscard]] Buffer forward(ops::Executor& run, Pass pass, Saved& saved) const;
  /// What forward dropped, in its order, once saved.in has its values again.
  void make_again(ops::Executor& run, Saved& saved) const;
  /// The gradient of the input [T, D] from that of the delta.
  [[nodiscard]] Buffer backward(ops::Executor& run, LinearOperand& ddelta, Saved& saved, bool accumulate) const;

  /// In the order of the precision table.
  [[nodiscard]] std::vector<Linear*> linears() { return {&w13_.layer, &w2_.layer}; }

 private:
  void project_gate_up(ops::Executor& run, Pass pass, Saved& saved) const;
  void activate(ops::Executor& run, Pass pass, Saved& saved) const;
  [[nodiscard]] InputUse activated_use(Pass pass) const;
  [[nodiscard]] Buffer activation(Memory& memory, std::string_view what, std::int64_t tokens, std::int64_t cols) const;

  std::string name_;
  std::int64_t dim_, ffn_dim_;
  Saving saving_;
  SlabLinear w13_, w2_;
};

}  // namespace octet
