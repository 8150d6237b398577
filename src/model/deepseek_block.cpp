#include "model/deepseek_block.h"

#include <fmt/format.h>

#include <cmath>

#include "model/grouped_query_attention.h"
#include "model/latent_attention.h"

namespace octet {
namespace {

/// Matrices that write into the residual stream start smaller the deeper they are (as in TorchTitan).
double depth_std(const DeepSeekConfig& config, std::int64_t index) {
  return config.init_std / std::sqrt(2.0 * static_cast<double>(index + 1));
}

std::unique_ptr<Attention> make_attention(const DeepSeekConfig& config, const std::string& name, double deep,
                                          std::int64_t tokens, PrecisionPlan& precision, const ModelOptions& options,
                                          Slab& slab) {
  if (config.has_latent_attention()) {
    return std::make_unique<LatentAttention>(config, name, deep, tokens, precision, options, slab);
  }
  return std::make_unique<GroupedQueryAttention>(config, name, deep, tokens, precision, options, slab);
}

}  // namespace

DeepSeekBlock::DeepSeekBlock(const DeepSeekConfig& config, const std::string& name, std::int64_t index, bool dense,
                             std::int64_t tokens, PrecisionPlan& precision, const ModelOptions& options,
                             Parameters& parameters)
    : config_(config),
      name_(name),
      saving_(options.saving),
      slab_(parameters.add_slab(name)),
      expert_slab_(dense ? nullptr : &parameters.add_slab(name + ".experts")),
      attention_norm_(name + ".attention_norm", config.dim, config.norm_eps, slab_),
      attention_(
          make_attention(config, name + ".attention", depth_std(config, index), tokens, precision, options, slab_)),
      ffn_norm_(name + ".ffn_norm", config.dim, config.norm_eps, slab_) {
  const double deep = depth_std(config, index);
  if (dense) {
    ffn_.emplace(name + ".feed_forward", config.dim, config.ffn_dim, config.init_std, deep, tokens, saving_.inputs,
                 precision, options, slab_);
  } else {
    moe_.emplace(config, name + ".moe", deep, tokens, precision, options, slab_, *expert_slab_, parameters);
  }
}

void DeepSeekBlock::allocate(Memory& memory, const SlabStorage& storage) {
  slab_.allocate(memory, storage);
  if (expert_slab_ != nullptr) expert_slab_->allocate(memory, storage);
  attention_->allocate(memory);
  if (ffn_) ffn_->allocate(memory);
  if (moe_) moe_->allocate(memory);
}

void DeepSeekBlock::measure_weights(ops::Executor& run) const {
  attention_->measure_weights(run);
  if (ffn_) ffn_->measure_weights(run);
  if (moe_) moe_->measure_weights(run);
}

void DeepSeekBlock::cast_weights(ops::Executor& run) const {
  const auto span = run.layer(name_);
  attention_->cast_weights(run);
  if (ffn_) ffn_->cast_weights(run);
  if (moe_) moe_->cast_weights(run);
}

void DeepSeekBlock::balance(ops::Executor& run, std::int64_t* load) const {
  if (moe_) moe_->balance(run, load);
}

std::vector<Linear*> DeepSeekBlock::linears() {
  std::vector<Linear*> linears = attention_->linears();
  for (Linear* linear : ffn_ ? ffn_->linears() : moe_->linears()) linears.push_back(linear);
  return linears;
}

// ---- forward --------------------------------------------------------------------------------------------------------

Residual DeepSeekBlock::forward(ops::Executor& run, const BatchShape& shape, const float* cos_sin, Residual in,
                                std::int64_t* load, Saved* saved) const {
  const auto span = run.layer(name_);
  const Pass pass = saved != nullptr ? Pass::training : Pass::inference;
  Saved local;
  Saved& keep = saved != nullptr ? *saved : local;
  attention_norm(run, pass, std::move(in), keep);
  Buffer delta = attention_->forward(run, pass, shape, cos_sin, keep.attention);
  ffn_norm(run, pass, std::move(delta), keep);
  delta = ffn_ ? ffn_->forward(run, pass, keep.ffn) : moe_->forward(run, pass, load, keep.moe);
  if (pass == Pass::inference || saving_.recompute.stream) return {std::move(keep.x_mid), std::move(delta)};
  // x_mid stays with the saved activations, and the next block reads it from there through a view that owns nothing.
  return {Buffer(nullptr, 0, keep.x_mid.tensor()), std::move(delta)};
}

Residual DeepSeekBlock::decode(ops::Executor& run, std::int64_t position, const float* cos_sin, Residual in,
                               std::int64_t* load, const KeyValueCache& cache) const {
  const auto span = run.layer(name_);
  Saved step;
  attention_norm(run, Pass::inference, std::move(in), step);
  Buffer delta = attention_->decode(run, position, cos_sin, cache, step.attention);
  ffn_norm(run, Pass::inference, std::move(delta), step);
  delta = ffn_ ? ffn_->forward(run, Pass::inference, step.ffn) : moe_->forward(run, Pass::inference, load, step.moe);
  return {std::move(step.x_mid), std::move(delta)};
}

/// A second pass has no `in`: the stream is in saved.x.
void DeepSeekBlock::attention_norm(ops::Executor& run, Pass pass, Residual in, Saved& saved) const {
  const Linear* reader = &attention_->first();
  const InputUse use = attention_->first_use(pass);
  if (in.delta) {
    saved.x = activation(run.memory(), "x", in.x.tensor().rows());
    attention_norm_.forward(run, pass, in.x.tensor(), in.delta.tensor(), saved.x.tensor(), saved.attention_rstd, reader,
                            use, saved.attention.in);
  } else {
    if (pass != Pass::again) saved.x = std::move(in.x);
    attention_norm_.forward(run, pass, NormRows::of(saved.x.tensor()), saved.attention_rstd, reader, use,
                            saved.attention.in);
  }
}

/// The stream takes attention's delta (none where x_mid is still there) on the way.
void DeepSeekBlock::ffn_norm(ops::Executor& run, Pass pass, Buffer attention_delta, Saved& saved) const {
  const Linear* reader = ffn_ ? &ffn_->first() : moe_->first();
  const InputUse use = ffn_ ? ffn_->first_use(pass) : moe_->first_use(pass);
  LinearOperand& out = ffn_ ? saved.ffn.in : saved.moe.shared.in;
  if (attention_delta) {
    saved.x_mid = activation(run.memory(), "x_mid", saved.x.tensor().rows());
    ffn_norm_.forward(run, pass, saved.x.tensor(), attention_delta.tensor(), saved.x_mid.tensor(), saved.ffn_rstd,
                      reader, use, out);
  } else {
    ffn_norm_.forward(run, pass, NormRows::of(saved.x_mid.tensor()), saved.ffn_rstd, reader, use, out);
  }
  if (pass == Pass::inference) saved.x.reset();
}

/// What forward dropped, in forward's order. Nothing is measured or routed again.
void DeepSeekBlock::make_again(ops::Executor& run, const BatchShape& shape, const float* cos_sin, Saved& saved) const {
  const Recompute& recompute = saving_.recompute;
  if (recompute.norm) attention_norm(run, Pass::again, {}, saved);
  Buffer delta = attention_->make_again(run, shape, cos_sin, saved.attention);
  if (recompute.norm) ffn_norm(run, Pass::again, std::move(delta), saved);
  if (ffn_) ffn_->make_again(run, saved.ffn);
  if (moe_) moe_->make_again(run, saved.moe);
}

// ---- backward -------------------------------------------------------------------------------------------------------

ResidualGradient DeepSeekBlock::backward(ops::Executor& run, const BackwardStep& step, const float* cos_sin,
                                         ResidualGradient out, Saved saved, const Linear* below,
                                         bool accumulate) const {
  const auto span = run.layer(name_);
  Memory& memory = run.memory();
  const std::int64_t tokens = step.shape.tokens();
  if (!accumulate) {
    slab_.begin_gradients(run);
    if (expert_slab_ != nullptr) expert_slab_->begin_gradients(run);
  }
  if (saving_.recompute.any()) make_again(run, step.shape, cos_sin, saved);
  Buffer din =
      ffn_ ? ffn_->backward(run, out, saved.ffn, accumulate) : moe_->backward(run, step, out, saved.moe, accumulate);
  ResidualGradient mid{.values = activation(memory, "dx_mid", tokens)};
  ffn_norm_.backward(run, din.tensor(), saved.x_mid.tensor(), saved.ffn_rstd, out.values.tensor(), &attention_->last(),
                     mid);
  run.observe(name_ + ".mid_gradient", mid.values.tensor());
  saved.x_mid.reset();
  out = {};

  din = attention_->backward(run, step.shape, cos_sin, mid, saved.attention, accumulate);
  ResidualGradient in{.values = activation(memory, "dx", tokens)};
  attention_norm_.backward(run, din.tensor(), saved.x.tensor(), saved.attention_rstd, mid.values.tensor(), below, in);
  run.observe(name_ + ".input_gradient", in.values.tensor());
  return in;
}

Buffer DeepSeekBlock::activation(Memory& memory, std::string_view what, std::int64_t tokens) const {
  return memory.allocate(fmt::format("{}.{}", name_, what), DType::bf16, tokens, config_.dim, MemoryClass::activations);
}

}  // namespace octet
