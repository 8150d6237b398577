#include "model/router.h"

namespace octet {

Router::Router(const MoeConfig& config, const std::string& name, std::int64_t dim, double init_std, std::int64_t tokens,
               PrecisionPlan& precision, Slab& slab, Parameters& parameters)
    : config_(config),
      name_(name),
      dim_(dim),
      slab_(slab),
      place_(
          slab.add({name + ".weight", config.rule.experts, dim, 0, {init_std, 0}, GradientWrites::once, false, {}})) {
  precision.keep_bf16(name, tokens, config.rule.experts, dim, "the router computes in fp32");
  if (config.bias_rate > 0) state_ = &parameters.add_state(name + ".expert_bias", config.rule.experts);
}

void Router::allocate(Memory& memory) {
  gate_ = slab_.view(place_).weight;
  if (state_ == nullptr) return;
  state_->values = memory.allocate(state_->name, DType::f32, 1, state_->count, MemoryClass::parameters);
}

Router::Routing Router::forward(ops::Executor& run, const Tensor& x, std::int64_t* load) const {
  const std::int64_t tokens = x.rows();
  const std::int64_t experts = config_.rule.experts;
  const std::int64_t top_k = config_.rule.top_k;
  const auto piece = [&](const char* what, DType dtype, std::int64_t rows, std::int64_t cols) {
    return run.memory().allocate(name_ + "." + what, dtype, rows, cols, MemoryClass::activations);
  };
  Routing routing{
      piece("logits", DType::f32, tokens, experts),        piece("experts", DType::i32, tokens, top_k),
      piece("weights", DType::f32, tokens, top_k),         piece("offsets", DType::i32, 1, experts + 1),
      piece("padded_offsets", DType::i32, 1, experts + 1), piece("choice_of_row", DType::i32, 1, tokens * top_k),
      piece("row_of_choice", DType::i32, tokens, top_k)};
  run(ops::Gemm{.a = {.data = x.ptr<bf16>()},
                .b = {.data = gate_.ptr<bf16>()},
                .d = routing.logits.ptr<float>(),
                .m = tokens,
                .n = experts,
                .k = dim_,
                .d_dtype = DType::f32,
                .accumulate = false,
                .accumulation = ops::Accumulation::full});
  run.observe(name_ + ".logits", routing.logits.tensor());
  run(ops::Route{routing.logits.ptr<float>(), bias(), routing.experts.ptr<std::int32_t>(), routing.weights.ptr<float>(),
                 load, tokens, config_.rule});
  run(ops::GroupTokens{routing.experts.ptr<std::int32_t>(), routing.offsets.ptr<std::int32_t>(),
                       routing.padded_offsets.ptr<std::int32_t>(), routing.choice_of_row.ptr<std::int32_t>(),
                       routing.row_of_choice.ptr<std::int32_t>(), tokens, top_k, experts});
  return routing;
}

Buffer Router::backward(ops::Executor& run, const Tensor& x, const Tensor& dweights, const Routing& routing,
                        const BackwardStep& step, bool accumulate) const {
  Memory& memory = run.memory();
  const std::int64_t tokens = x.rows();
  const std::int64_t experts = config_.rule.experts;
  const float balance_scale = config_.balance_weight * step.token_weight * static_cast<float>(step.shape.seq_len);
  Buffer exact = memory.allocate(name_ + ".dlogits_f32", DType::f32, tokens, experts, MemoryClass::activations);
  run(ops::RouteBackward{routing.logits.ptr<float>(), routing.experts.ptr<std::int32_t>(), dweights.ptr<float>(),
                         exact.ptr<float>(), balance_scale == 0 ? nullptr : step.balance_loss, tokens,
                         step.shape.seq_len, config_.rule, balance_scale});
  Buffer dlogits = memory.allocate(name_ + ".dlogits", DType::bf16, tokens, experts, MemoryClass::activations);
  run(ops::Add{exact.ptr<float>(), nullptr, dlogits.ptr<bf16>(), exact.tensor().numel(), DType::f32, false});
  exact.reset();
  run.observe(name_ + ".logit_gradient", dlogits.tensor());

  ops::Gemm product{.a = {.data = dlogits.ptr<bf16>()},
                    .b = {.data = gate_.ptr<bf16>(), .transposed = true},
                    .d = nullptr,
                    .m = tokens,
                    .n = dim_,
                    .k = experts,
                    .d_dtype = DType::bf16,
                    .accumulate = false,
                    .accumulation = ops::Accumulation::full};
  Buffer dx = memory.allocate(name_ + ".dx", DType::bf16, tokens, dim_, MemoryClass::activations);
  product.d = dx.ptr<bf16>();
  run(product);

  const Tensor gradient = slab_.gradient(place_);
  product.a.transposed = true;
  product.b = {.data = x.ptr<bf16>(), .transposed = true};
  product.d = gradient.raw();
  product.m = experts;
  product.k = tokens;
  product.d_dtype = gradient.dtype();
  product.accumulate = accumulate;
  run(product);
  run.observe(name_ + ".weight_gradient", gradient);
  return dx;
}

void Router::balance(ops::Executor& run, std::int64_t* load) const {
  if (state_ == nullptr) return;
  run(ops::BalanceBias{state_->values.ptr<float>(), load, config_.rule.experts, config_.bias_rate});
}

}  // namespace octet
