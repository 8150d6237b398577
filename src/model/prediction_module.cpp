#include "model/prediction_module.h"

#include <fmt/format.h>

namespace octet {

PredictionModule::PredictionModule(const DeepSeekConfig& config, std::int64_t depth, std::int64_t tokens,
                                   PrecisionPlan& precision, const ModelOptions& options, Parameters& parameters)
    : name_(fmt::format("mtp.{}", depth)),
      dim_(config.dim),
      slab_(parameters.add_slab(name_)),
      stream_norm_(name_ + ".hnorm", config.dim, config.norm_eps, slab_),
      token_norm_(name_ + ".enorm", config.dim, config.norm_eps, slab_),
      proj_stream_(make_linear(name_ + ".proj_stream", config.dim, config.dim,
                               {tokens, config.init_std, options.saving.inputs}, precision, options, slab_)),
      proj_token_(make_linear(name_ + ".proj_token", config.dim, config.dim,
                              {tokens, config.init_std, options.saving.inputs}, precision, options, slab_)),
      block_(config, name_ + ".block", config.layers + depth, config.is_dense(config.layers + depth), tokens, precision,
             options, parameters) {}

void PredictionModule::allocate(Memory& memory, const SlabStorage& storage) {
  slab_.allocate(memory, storage);
  proj_stream_.allocate(memory);
  proj_token_.allocate(memory);
  block_.allocate(memory, storage);
}

void PredictionModule::measure_weights(ops::Executor& run) const {
  proj_stream_.layer.measure_weight(run);
  proj_token_.layer.measure_weight(run);
  block_.measure_weights(run);
}

void PredictionModule::cast_weights(ops::Executor& run) const {
  proj_stream_.layer.cast_weight(run);
  proj_token_.layer.cast_weight(run);
  block_.cast_weights(run);
}

std::vector<Linear*> PredictionModule::linears() {
  std::vector<Linear*> linears{&proj_stream_.layer, &proj_token_.layer};
  for (Linear* linear : block_.linears()) linears.push_back(linear);
  return linears;
}

Residual PredictionModule::forward(ops::Executor& run, const BatchShape& shape, const float* cos_sin,
                                   const Tensor& stream, Buffer embedded, std::int64_t* load, Saved& saved) const {
  saved.embedded = std::move(embedded);
  Residual in{project(run, stream_norm_, proj_stream_, stream, saved.stream_rstd, saved.stream_in),
              project(run, token_norm_, proj_token_, saved.embedded.tensor(), saved.token_rstd, saved.token_in)};
  return block_.forward(run, shape, cos_sin, std::move(in), load, &saved.block);
}

/// The projection [T, D] of the norm of x.
Buffer PredictionModule::project(ops::Executor& run, const RmsNorm& norm, const SlabLinear& layer, const Tensor& x,
                                 Buffer& rstd, LinearOperand& in) const {
  norm.forward(run, Pass::training, NormRows::of(x), rstd, &layer.layer, InputUse::saved, in);
  Buffer y = run.memory().allocate(layer.layer.name() + ".y", DType::bf16, x.rows(), dim_, MemoryClass::activations);
  layer.layer.forward(run, in, y.tensor(), InputUse::saved);
  return y;
}

PredictionModule::Gradients PredictionModule::backward(ops::Executor& run, const BackwardStep& step,
                                                       const float* cos_sin, ResidualGradient out, const Tensor& stream,
                                                       Saved saved, bool accumulate) const {
  if (!accumulate) slab_.begin_gradients(run);
  const ResidualGradient sum =
      block_.backward(run, step, cos_sin, std::move(out), std::move(saved.block), nullptr, accumulate);
  const Tensor& dy = sum.values.tensor();  // of both projections
  return {project_backward(run, stream_norm_, proj_stream_, dy, stream, saved.stream_rstd, saved.stream_in, accumulate),
          project_backward(run, token_norm_, proj_token_, dy, saved.embedded.tensor(), saved.token_rstd, saved.token_in,
                           accumulate)};
}

Buffer PredictionModule::project_backward(ops::Executor& run, const RmsNorm& norm, const SlabLinear& layer,
                                          const Tensor& dy, const Tensor& x, const Buffer& rstd, LinearOperand& in,
                                          bool accumulate) const {
  const auto piece = [&](const char* what) {
    return run.memory().allocate(layer.layer.name() + what, DType::bf16, x.rows(), dim_, MemoryClass::activations);
  };
  LinearOperand gradient{.values = Buffer(nullptr, 0, dy)};
  layer.layer.cast_gradient(run, gradient);
  const Buffer dnormed = piece(".dnormed");
  layer.layer.backward(run, in, gradient, dnormed.tensor(), layer.gradient(), accumulate);
  Buffer dx = piece(".dx");
  norm.backward(run, dnormed.tensor(), NormRows::of(x), rstd, NormRows::of(dx.tensor()));
  return dx;
}

}  // namespace octet
