#include "model/mixture_of_experts.h"

namespace octet {

MixtureOfExperts::MixtureOfExperts(const DeepSeekConfig& config, const std::string& name, double depth_std,
                                   std::int64_t tokens, PrecisionPlan& precision, const ModelOptions& options,
                                   Slab& slab, Slab& expert_slab, Parameters& parameters)
    : name_(name),
      dim_(config.dim),
      top_k_(config.moe.rule.top_k),
      saving_(options.saving),
      router_(config.moe, name + ".gate", config.dim, config.init_std, tokens, precision, slab, parameters),
      experts_(config.moe, name + ".experts", config.dim, config.init_std, depth_std, tokens, precision, options,
               expert_slab) {
  if (config.moe.shared_experts == 0) return;
  // The input waits in bf16 anyway, for the router and the routed experts.
  shared_.emplace(name + ".shared_experts", config.dim, config.moe.shared_ffn_dim(), config.init_std, depth_std, tokens,
                  SavedInput::bf16, precision, options, slab);
}

void MixtureOfExperts::allocate(Memory& memory) {
  router_.allocate(memory);
  experts_.allocate(memory);
  if (shared_) shared_->allocate(memory);
}

void MixtureOfExperts::measure_weights(ops::Executor& run) const {
  experts_.measure_weights(run);
  if (shared_) shared_->measure_weights(run);
}

void MixtureOfExperts::cast_weights(ops::Executor& run) const {
  experts_.cast_weights(run);
  if (shared_) shared_->cast_weights(run);
}

std::vector<Linear*> MixtureOfExperts::linears() {
  return shared_ ? shared_->linears() : std::vector<Linear*>{};
}

/// out [T, D] = the sum of each token's rows of `routed`, plus what out holds where `added`.
ops::CombineRows MixtureOfExperts::combine(const Tensor& routed, const Router::Routing& routing, const Tensor& out,
                                           bool added) const {
  return {.routed = routed.ptr<bf16>(),
          .row_of_choice = routing.row_of_choice.ptr<std::int32_t>(),
          .base = added ? out.ptr<bf16>() : nullptr,
          .out = out.ptr<bf16>(),
          .rows = out.rows(),
          .top_k = top_k_,
          .dim = dim_,
          .has_base = added};
}

Buffer MixtureOfExperts::forward(ops::Executor& run, Pass pass, std::int64_t* load, Saved& saved) const {
  saved.x = std::move(saved.shared.in.values);
  saved.shared.in.values = Buffer(nullptr, 0, saved.x.tensor());
  const Tensor x = saved.x.tensor();
  saved.routing = router_.forward(run, x, load);
  Buffer delta = shared_
                     ? shared_->forward(run, pass, saved.shared)
                     : run.memory().allocate(name_ + ".delta", DType::bf16, x.rows(), dim_, MemoryClass::activations);
  const Buffer routed = experts_.forward(run, pass, x, saved.routing, saved.experts);
  run(combine(routed.tensor(), saved.routing, delta.tensor(), shared_.has_value()));
  run.observe(name_ + ".output", delta.tensor());
  if (pass == Pass::inference || saving_.recompute.norm) saved.x.reset();
  if (pass == Pass::inference) saved.routing = {};
  return delta;
}

void MixtureOfExperts::make_again(ops::Executor& run, Saved& saved) const {
  if (saving_.recompute.norm) {
    saved.x = std::move(saved.shared.in.values);
    saved.shared.in.values = Buffer(nullptr, 0, saved.x.tensor());
  }
  if (shared_) shared_->make_again(run, saved.shared);
  experts_.make_again(run, saved.x.tensor(), saved.routing, saved.experts);
}

Buffer MixtureOfExperts::backward(ops::Executor& run, const BackwardStep& step, LinearOperand& ddelta, Saved& saved,
                                  bool accumulate) const {
  const Tensor x = saved.x.tensor();
  const Experts::Gradients gradients =
      experts_.backward(run, x, ddelta.values.tensor(), saved.routing, saved.experts, accumulate);
  Buffer dx = router_.backward(run, x, gradients.dweights.tensor(), saved.routing, step, accumulate);
  if (shared_) {
    const Buffer dshared = shared_->backward(run, ddelta, saved.shared, accumulate);
    run(ops::Add{dx.ptr<bf16>(), dshared.ptr<bf16>(), dx.ptr<bf16>(), dx.tensor().numel(), DType::bf16, true});
  }
  run(combine(gradients.dx.tensor(), saved.routing, dx.tensor(), true));
  run.observe(name_ + ".input_gradient", dx.tensor());
  saved = {};
  return dx;
}

}  // namespace octet
