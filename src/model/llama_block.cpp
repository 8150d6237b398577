#include "model/llama_block.h"

#include <fmt/format.h>

#include <cmath>

namespace octet {
namespace {

Parameter matrix(std::string name, std::int64_t rows, std::int64_t cols, double standard_deviation,
                 std::vector<ParameterPart> parts = {}) {
  return {std::move(name), rows, cols, 0, {standard_deviation, 0}, true, std::move(parts)};
}

Parameter gain(std::string name, std::int64_t dim) {
  return {std::move(name), 1, dim, 0, {0, 1}, false, {}};
}

}  // namespace

LlamaBlock::LlamaBlock(const LlamaConfig& config, std::int64_t index, std::int64_t tokens, PrecisionPlan& precision,
                       WeightCodes weight_codes, Slab& slab)
    : config_(config),
      name_(fmt::format("layers.{}", index)),
      slab_(slab),
      wqkv_(name_ + ".attention.wqkv", config.qkv_cols(), config.dim,
            precision.decide(name_ + ".attention.wqkv", tokens, config.qkv_cols(), config.dim), weight_codes),
      wo_(name_ + ".attention.wo", config.dim, config.dim,
          precision.decide(name_ + ".attention.wo", tokens, config.dim, config.dim), weight_codes),
      w13_(name_ + ".feed_forward.w13", 2 * config.ffn_dim, config.dim,
           precision.decide(name_ + ".feed_forward.w13", tokens, 2 * config.ffn_dim, config.dim), weight_codes),
      w2_(name_ + ".feed_forward.w2", config.dim, config.ffn_dim,
          precision.decide(name_ + ".feed_forward.w2", tokens, config.dim, config.ffn_dim), weight_codes) {
  const std::int64_t q_rows = config.heads * config.head_dim();
  const std::int64_t kv_rows = config.kv_heads * config.head_dim();
  const std::string attention = name_ + ".attention.";
  const std::string feed_forward = name_ + ".feed_forward.";
  // Matrices that write into the residual stream start smaller the deeper they are (as in TorchTitan).
  const double std = config.init_std;
  const double deep_std = std / std::sqrt(2.0 * static_cast<double>(index + 1));
  slab.add(matrix(
      attention + "wqkv.weight", config.qkv_cols(), config.dim, std,
      {{attention + "wq.weight", q_rows}, {attention + "wk.weight", kv_rows}, {attention + "wv.weight", kv_rows}}));
  slab.add(matrix(attention + "wo.weight", config.dim, config.dim, deep_std));
  slab.add(matrix(feed_forward + "w13.weight", 2 * config.ffn_dim, config.dim, std,
                  {{feed_forward + "w1.weight", config.ffn_dim}, {feed_forward + "w3.weight", config.ffn_dim}}));
  slab.add(matrix(feed_forward + "w2.weight", config.dim, config.ffn_dim, deep_std));
  slab.add(gain(name_ + ".attention_norm.weight", config.dim));
  slab.add(gain(name_ + ".ffn_norm.weight", config.dim));
}

void LlamaBlock::allocate(Memory& memory, SlabUse use) {
  slab_.allocate(memory, use);
  const std::array linears = {&wqkv_, &wo_, &w13_, &w2_};  // in the slab's order
  for (std::size_t i = 0; i < linears.size(); ++i) {
    linears[i]->bind(slab_.view(i));
    linears[i]->allocate(memory);
  }
  const ParameterView attention_gain = slab_.view(linears.size());
  const ParameterView ffn_gain = slab_.view(linears.size() + 1);
  attention_norm_ = {attention_gain.weight, attention_gain.gradient};
  ffn_norm_ = {ffn_gain.weight, ffn_gain.gradient};
}

void LlamaBlock::cast_weights(ops::Executor& run) {
  const auto span = run.layer(name_);
  for (Linear* linear : {&wqkv_, &wo_, &w13_, &w2_}) linear->cast_weight(run);
}

void LlamaBlock::watch_casts(CastCounts* counts) {
  for (Linear* linear : {&wqkv_, &wo_, &w13_, &w2_}) linear->watch(counts);
}

Residual LlamaBlock::forward(ops::Executor& run, const BatchShape& shape, const float* cos_sin, Residual in,
                             Saved* saved) const {
  const auto span = run.layer(name_);
  Saved local;
  Saved& keep = saved != nullptr ? *saved : local;
  Buffer attention_delta = attention_half(run, shape, cos_sin, std::move(in), keep);
  if (saved == nullptr) {  // only the stream goes on
    keep.attention_in.reset();
    keep.attention_out.reset();
    keep.qkv.reset();
  }
  Buffer delta = feed_forward_half(run, std::move(attention_delta), keep, saved != nullptr);
  if (saved == nullptr) return {std::move(keep.x_mid), std::move(delta)};
  // The stream out of this block is x_mid + delta; x_mid itself stays with the saved activations, so the next block
  // reads it from here: it gets a view that owns nothing.
  return {Buffer(nullptr, 0, keep.x_mid.tensor()), std::move(delta)};
}

/// norm -> wqkv
void LlamaBlock::project_qkv(ops::Executor& run, std::int64_t tokens, Residual in, Saved& saved) const {
  Memory& memory = run.memory();
  const std::int64_t dim = config_.dim;
  const bool has_delta = static_cast<bool>(in.delta);
  if (has_delta) saved.x = activation(memory, "x", tokens, dim);
  saved.attention_rstd = memory.allocate(name_ + ".attention_rstd", DType::f32, 1, tokens, MemoryClass::activations);
  saved.attention_in = activation(memory, "attention_in", tokens, dim);
  Codes codes = wqkv_.input_codes(memory, tokens);
  run(ops::RmsNormForward{in.x.ptr<bf16>(), has_delta ? in.delta.ptr<bf16>() : nullptr,
                          attention_norm_.weight.ptr<bf16>(), has_delta ? saved.x.ptr<bf16>() : nullptr,
                          saved.attention_in.ptr<bf16>(), saved.attention_rstd.ptr<float>(),
                          wqkv_.producer_input(codes), tokens, dim, config_.norm_eps, has_delta});
  if (!has_delta) saved.x = std::move(in.x);
  in = {};
  run.observe(name_ + ".attention_norm.output", saved.attention_in.tensor());
  saved.qkv = activation(memory, "qkv", tokens, config_.qkv_cols());
  wqkv_.forward(run, saved.attention_in.tensor(), codes, saved.qkv.tensor());
}

/// wo. Attention is no producer of codes: wo casts its input itself.
Buffer LlamaBlock::project_out(ops::Executor& run, const Tensor& attention_out) const {
  Buffer delta = activation(run.memory(), "attention_delta", attention_out.rows(), config_.dim);
  Codes codes;
  wo_.forward(run, attention_out, codes, delta.tensor());
  return delta;
}

/// norm -> wqkv -> rope -> attention -> wo
Buffer LlamaBlock::attention_half(ops::Executor& run, const BatchShape& shape, const float* cos_sin, Residual in,
                                  Saved& saved) const {
  Memory& memory = run.memory();
  const std::int64_t tokens = shape.tokens();
  project_qkv(run, tokens, std::move(in), saved);
  run(ops::Rope{saved.qkv.ptr<bf16>(), cos_sin, tokens, config_.qkv_cols(), config_.heads + config_.kv_heads,
                config_.head_dim(), shape.seq_len, 0, false});
  saved.attention_out = activation(memory, "attention_out", tokens, config_.dim);
  saved.lse =
      memory.allocate(name_ + ".lse", DType::f32, shape.batch, config_.heads * shape.seq_len, MemoryClass::activations);
  run(ops::AttentionForward{saved.qkv.ptr<bf16>(), saved.attention_out.ptr<bf16>(), saved.lse.ptr<float>(),
                            attention_shape(shape), attention_scale()});
  run.observe(name_ + ".attention.output", saved.attention_out.tensor());
  return project_out(run, saved.attention_out.tensor());
}

/// residual + norm -> w1|w3 -> SwiGLU -> w2
Buffer LlamaBlock::feed_forward_half(ops::Executor& run, Buffer attention_delta, Saved& saved, bool keep_saved) const {
  Memory& memory = run.memory();
  const std::int64_t tokens = attention_delta.tensor().rows();
  const std::int64_t dim = config_.dim;
  const std::int64_t ffn = config_.ffn_dim;

  saved.x_mid = activation(memory, "x_mid", tokens, dim);
  saved.ffn_rstd = memory.allocate(name_ + ".ffn_rstd", DType::f32, 1, tokens, MemoryClass::activations);
  saved.ffn_in = activation(memory, "ffn_in", tokens, dim);
  Codes in_codes = w13_.input_codes(memory, tokens);
  run(ops::RmsNormForward{saved.x.ptr<bf16>(), attention_delta.ptr<bf16>(), ffn_norm_.weight.ptr<bf16>(),
                          saved.x_mid.ptr<bf16>(), saved.ffn_in.ptr<bf16>(), saved.ffn_rstd.ptr<float>(),
                          w13_.producer_input(in_codes), tokens, dim, config_.norm_eps, true});
  attention_delta.reset();
  if (!keep_saved) saved.x.reset();
  run.observe(name_ + ".ffn_norm.output", saved.ffn_in.tensor());

  saved.gate_up = activation(memory, "gate_up", tokens, 2 * ffn);
  w13_.forward(run, saved.ffn_in.tensor(), in_codes, saved.gate_up.tensor());
  in_codes = {};
  if (!keep_saved) saved.ffn_in.reset();

  saved.activated = activation(memory, "activated", tokens, ffn);
  Codes activated_codes = w2_.input_codes(memory, tokens);
  run(ops::SwigluForward{saved.gate_up.ptr<bf16>(), saved.activated.ptr<bf16>(), w2_.producer_input(activated_codes),
                         tokens, ffn});
  if (!keep_saved) saved.gate_up.reset();
  run.observe(name_ + ".feed_forward.activated", saved.activated.tensor());

  Buffer delta = activation(memory, "ffn_delta", tokens, dim);
  w2_.forward(run, saved.activated.tensor(), activated_codes, delta.tensor());
  return delta;
}

ResidualGradient LlamaBlock::backward(ops::Executor& run, const BatchShape& shape, const float* cos_sin,
                                      ResidualGradient out, Saved saved, const Linear* below, bool accumulate) const {
  const auto span = run.layer(name_);
  Memory& memory = run.memory();
  const std::int64_t tokens = shape.tokens();
  const std::int64_t dim = config_.dim;
  ResidualGradient mid = feed_forward_backward(run, std::move(out), saved, accumulate);

  Buffer dattention = activation(memory, "dattention_out", tokens, dim);
  wo_.backward(run, saved.attention_out.tensor(), mid.dx.tensor(), mid.codes, dattention.tensor(), accumulate);
  mid.codes = {};

  Buffer dqkv = activation(memory, "dqkv", tokens, config_.qkv_cols());
  run(ops::AttentionBackward{saved.qkv.ptr<bf16>(), saved.attention_out.ptr<bf16>(), dattention.ptr<bf16>(),
                             saved.lse.ptr<float>(), dqkv.ptr<bf16>(), attention_shape(shape), attention_scale()});
  run(ops::Rope{dqkv.ptr<bf16>(), cos_sin, tokens, config_.qkv_cols(), config_.heads + config_.kv_heads,
                config_.head_dim(), shape.seq_len, 0, true});
  run.observe(name_ + ".attention.qkv_gradient", dqkv.tensor());
  dattention.reset();
  saved.attention_out.reset();
  saved.qkv.reset();
  saved.lse.reset();

  Buffer din = activation(memory, "dattention_in", tokens, dim);
  Codes dqkv_codes;  // attention is no producer of codes: wqkv casts the gradient itself
  wqkv_.backward(run, saved.attention_in.tensor(), dqkv.tensor(), dqkv_codes, din.tensor(), accumulate);
  dqkv_codes = {};
  dqkv.reset();
  saved.attention_in.reset();

  ResidualGradient in{activation(memory, "dx", tokens, dim),
                      below != nullptr ? below->gradient_codes(memory, tokens) : Codes{}};
  run(ops::RmsNormBackward{din.ptr<bf16>(), saved.x.ptr<bf16>(), attention_norm_.weight.ptr<bf16>(),
                           saved.attention_rstd.ptr<float>(), mid.dx.ptr<bf16>(), in.dx.ptr<bf16>(),
                           attention_norm_.gradient.ptr<float>(),
                           below != nullptr ? below->producer_gradient(in.codes) : ops::RowCodes{}, tokens, dim, true});
  run.observe(name_ + ".input_gradient", in.dx.tensor());
  return in;
}

/// w2 -> SwiGLU -> w1|w3 -> norm + residual, backwards
ResidualGradient LlamaBlock::feed_forward_backward(ops::Executor& run, ResidualGradient out, Saved& saved,
                                                   bool accumulate) const {
  Memory& memory = run.memory();
  const std::int64_t tokens = out.dx.tensor().rows();
  const std::int64_t dim = config_.dim;
  const std::int64_t ffn = config_.ffn_dim;

  Buffer dactivated = activation(memory, "dactivated", tokens, ffn);
  w2_.backward(run, saved.activated.tensor(), out.dx.tensor(), out.codes, dactivated.tensor(), accumulate);
  out.codes = {};
  saved.activated.reset();

  Buffer dgate_up = activation(memory, "dgate_up", tokens, 2 * ffn);
  Codes dgate_up_codes = w13_.gradient_codes(memory, tokens);
  run(ops::SwigluBackward{saved.gate_up.ptr<bf16>(), dactivated.ptr<bf16>(), dgate_up.ptr<bf16>(),
                          w13_.producer_gradient(dgate_up_codes), tokens, ffn});
  run.observe(name_ + ".feed_forward.gate_up_gradient", dgate_up.tensor());
  dactivated.reset();
  saved.gate_up.reset();

  Buffer din = activation(memory, "dffn_in", tokens, dim);
  w13_.backward(run, saved.ffn_in.tensor(), dgate_up.tensor(), dgate_up_codes, din.tensor(), accumulate);
  dgate_up_codes = {};
  dgate_up.reset();
  saved.ffn_in.reset();

  ResidualGradient mid{activation(memory, "dx_mid", tokens, dim), wo_.gradient_codes(memory, tokens)};
  run(ops::RmsNormBackward{din.ptr<bf16>(), saved.x_mid.ptr<bf16>(), ffn_norm_.weight.ptr<bf16>(),
                           saved.ffn_rstd.ptr<float>(), out.dx.ptr<bf16>(), mid.dx.ptr<bf16>(),
                           ffn_norm_.gradient.ptr<float>(), wo_.producer_gradient(mid.codes), tokens, dim, true});
  run.observe(name_ + ".mid_gradient", mid.dx.tensor());
  saved.x_mid.reset();
  return mid;
}

Residual LlamaBlock::decode(ops::Executor& run, std::int64_t position, const float* cos_sin, Residual in,
                            const KeyValueCache& cache) const {
  Memory& memory = run.memory();
  const std::int64_t capacity = cache.k.tensor().rows();
  Saved step;
  project_qkv(run, 1, std::move(in), step);
  const bf16* qkv = step.qkv.ptr<bf16>();
  run(ops::Rope{step.qkv.ptr<bf16>(), cos_sin, 1, config_.qkv_cols(), config_.heads + config_.kv_heads,
                config_.head_dim(), capacity, position, false});
  run(ops::AppendToCache{qkv, cache.k.ptr<bf16>(), cache.v.ptr<bf16>(), 1, position, capacity, config_.heads,
                         config_.kv_heads, config_.head_dim()});
  step.attention_out = activation(memory, "attention_out", 1, config_.dim);
  run(ops::AttentionDecode{qkv, cache.k.ptr<bf16>(), cache.v.ptr<bf16>(), step.attention_out.ptr<bf16>(), 1,
                           position + 1, capacity, config_.heads, config_.kv_heads, config_.head_dim(),
                           attention_scale()});
  Buffer delta = project_out(run, step.attention_out.tensor());
  delta = feed_forward_half(run, std::move(delta), step, false);
  return {std::move(step.x_mid), std::move(delta)};
}

KeyValueCache LlamaBlock::allocate_cache(Memory& memory, std::int64_t capacity) const {
  const std::int64_t cols = config_.kv_heads * config_.head_dim();
  return {memory.allocate(name_ + ".cache_k", DType::bf16, capacity, cols, MemoryClass::activations),
          memory.allocate(name_ + ".cache_v", DType::bf16, capacity, cols, MemoryClass::activations)};
}

Buffer LlamaBlock::activation(Memory& memory, std::string_view what, std::int64_t tokens, std::int64_t cols) const {
  return memory.allocate(fmt::format("{}.{}", name_, what), DType::bf16, tokens, cols, MemoryClass::activations);
}

ops::AttentionShape LlamaBlock::attention_shape(const BatchShape& shape) const {
  return {shape.batch, shape.seq_len, config_.heads, config_.kv_heads, config_.head_dim()};
}

float LlamaBlock::attention_scale() const {
  return static_cast<float>(1.0 / std::sqrt(static_cast<double>(config_.head_dim())));
}

}  // namespace octet
