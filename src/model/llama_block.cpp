#include "model/llama_block.h"

#include <fmt/format.h>

#include <cmath>

namespace octet {
namespace {

Parameter matrix(std::string name, std::int64_t rows, std::int64_t cols, double standard_deviation, bool measured,
                 std::vector<ParameterPart> parts = {}) {
  return {std::move(name), rows, cols, 0, {standard_deviation, 0}, GradientWrites::once, measured, std::move(parts)};
}

Parameter gain(std::string name, std::int64_t dim) {
  return {std::move(name), 1, dim, 0, {0, 1}, GradientWrites::added, false, {}};
}

/// The places of a block's parameters in its slab.
enum Place : std::size_t { kWqkv, kWo, kW13, kW2, kAttentionGain, kFfnGain };

}  // namespace

LlamaBlock::LlamaBlock(const LlamaConfig& config, std::int64_t index, std::int64_t tokens, PrecisionPlan& precision,
                       WeightCodes weight_codes, const Saving& saving, Slab& slab)
    : config_(config),
      name_(fmt::format("layers.{}", index)),
      saving_(saving),
      slab_(slab),
      wqkv_(name_ + ".attention.wqkv", config.qkv_cols(), config.dim,
            precision.decide(name_ + ".attention.wqkv", tokens, config.qkv_cols(), config.dim), weight_codes,
            saving.inputs),
      // Attention's backward reads the output in bf16 anyway: wgrad makes its codes of that.
      wo_(name_ + ".attention.wo", config.dim, config.q_cols(),
          precision.decide(name_ + ".attention.wo", tokens, config.dim, config.q_cols()), weight_codes,
          SavedInput::bf16),
      w13_(name_ + ".feed_forward.w13", 2 * config.ffn_dim, config.dim,
           precision.decide(name_ + ".feed_forward.w13", tokens, 2 * config.ffn_dim, config.dim), weight_codes,
           saving.inputs),
      w2_(name_ + ".feed_forward.w2", config.dim, config.ffn_dim,
          precision.decide(name_ + ".feed_forward.w2", tokens, config.dim, config.ffn_dim), weight_codes,
          saving.inputs) {
  const std::int64_t kv_rows = config.kv_heads * config.head_dim();
  const std::string attention = name_ + ".attention.";
  const std::string feed_forward = name_ + ".feed_forward.";
  // Matrices that write into the residual stream start smaller the deeper they are (as in TorchTitan).
  const double std = config.init_std;
  const double deep_std = std / std::sqrt(2.0 * static_cast<double>(index + 1));
  slab.add(matrix(attention + "wqkv.weight", config.qkv_cols(), config.dim, std, wqkv_.precision().is_fp8(),
                  {{attention + "wq.weight", config.q_cols()},
                   {attention + "wk.weight", kv_rows},
                   {attention + "wv.weight", kv_rows}}));
  slab.add(matrix(attention + "wo.weight", config.dim, config.q_cols(), deep_std, wo_.precision().is_fp8()));
  slab.add(matrix(feed_forward + "w13.weight", 2 * config.ffn_dim, config.dim, std, w13_.precision().is_fp8(),
                  {{feed_forward + "w1.weight", config.ffn_dim}, {feed_forward + "w3.weight", config.ffn_dim}}));
  slab.add(matrix(feed_forward + "w2.weight", config.dim, config.ffn_dim, deep_std, w2_.precision().is_fp8()));
  slab.add(gain(name_ + ".attention_norm.weight", config.dim));
  slab.add(gain(name_ + ".ffn_norm.weight", config.dim));
  if (config.qk_norm) {
    const HeadNorm::Heads heads{config.heads, config.kv_heads, config.head_dim()};
    qk_norm_.emplace(name_ + ".attention", heads, config.norm_eps, slab);
  }
}

void LlamaBlock::allocate(Memory& memory, const SlabStorage& storage) {
  slab_.allocate(memory, storage);
  const std::array linears = {&wqkv_, &wo_, &w13_, &w2_};  // as in Place
  for (std::size_t i = 0; i < linears.size(); ++i) {
    linears[i]->bind(slab_.view(i));
    linears[i]->allocate(memory);
  }
  attention_gain_ = slab_.view(kAttentionGain).weight;
  ffn_gain_ = slab_.view(kFfnGain).weight;
}

void LlamaBlock::measure_weights(ops::Executor& run) const {
  for (const Linear* linear : {&wqkv_, &wo_, &w13_, &w2_}) linear->measure_weight(run);
}

void LlamaBlock::cast_weights(ops::Executor& run) const {
  const auto span = run.layer(name_);
  for (const Linear* linear : {&wqkv_, &wo_, &w13_, &w2_}) linear->cast_weight(run);
}

void LlamaBlock::watch_casts(CastCounts* counts) {
  for (Linear* linear : {&wqkv_, &wo_, &w13_, &w2_}) linear->watch(counts);
}

// ---- forward --------------------------------------------------------------------------------------------------------

Residual LlamaBlock::forward(ops::Executor& run, const BatchShape& shape, const float* cos_sin, Residual in,
                             Saved* saved) const {
  const auto span = run.layer(name_);
  const Pass pass = saved != nullptr ? Pass::training : Pass::inference;
  Saved local;
  Saved& keep = saved != nullptr ? *saved : local;
  attention_norm(run, pass, std::move(in), keep);
  project_qkv(run, pass, keep);
  rotate(run, shape.seq_len, 0, cos_sin, keep);
  attend(run, shape, keep);
  if (pass == Pass::inference || saving_.recompute.qkv || qk_norm_) keep.qkv.reset();
  if (pass == Pass::inference || saving_.recompute.qkv) keep.projected.reset();
  Buffer delta = project_out(run, pass, keep);
  ffn_norm(run, pass, std::move(delta), keep);
  project_gate_up(run, pass, keep);
  activate(run, pass, keep);
  delta = project_down(run, pass, keep);
  if (pass == Pass::inference) return {std::move(keep.x_mid), std::move(delta)};
  // The stream out of this block is x_mid + delta. x_mid stays with the saved activations, and the next block reads it
  // from there through a view that owns nothing; where it is made again later, it goes with the stream.
  if (saving_.recompute.stream) return {std::move(keep.x_mid), std::move(delta)};
  return {Buffer(nullptr, 0, keep.x_mid.tensor()), std::move(delta)};
}

/// Whether the codes of an input that wgrad reads are made in backward, by a cast that computes the input again: it is
/// never stored, and none of it waits for backward. A product that runs again reads its values, though.
bool LlamaBlock::casts_later(const ops::Executor& run, const Linear& reader, bool product_again) const {
  return run.backend().device().recomputes_casts() && reader.reads_input_as_codes() && !product_again;
}

InputUse LlamaBlock::norm_use(const ops::Executor& run, Pass pass, const Linear& reader, bool product_again) const {
  return input_use(pass, saving_.recompute.norm || casts_later(run, reader, product_again), product_again);
}

/// out = norm(in.x + in.delta), the sum in `sum` where there is a delta; beside it what `reader` wants, but for a
/// second pass, whose casts take the maxima of the first.
void LlamaBlock::normalize(ops::Executor& run, Pass pass, const Tensor& gain, const Residual& in, Buffer* sum,
                           Buffer& rstd, const Linear& reader, bool product_again, LinearOperand& out) const {
  const std::int64_t tokens = in.x.tensor().rows();
  const bool has_delta = static_cast<bool>(in.delta);
  ops::RowCodes rows;
  ops::ColumnMaxima columns;
  if (pass != Pass::again) {
    reader.expect_input(run.memory(), tokens, norm_use(run, pass, reader, product_again), out);
    rows = reader.input_rows(out);
    columns = Linear::columns(out);
  }
  const bool stored =
      pass == Pass::again || !casts_later(run, reader, product_again) || run.observed() || reader.is_watched();
  run(ops::RmsNormForward{in.x.ptr<bf16>(), has_delta ? in.delta.ptr<bf16>() : nullptr, gain.ptr<bf16>(),
                          has_delta ? sum->ptr<bf16>() : nullptr, out.values.ptr<bf16>(), rstd.ptr<float>(), rows,
                          columns, tokens, config_.dim, config_.norm_eps, has_delta, stored});
}

/// In backward, the codes that wgrad reads of a norm's output, from what the norm read.
void LlamaBlock::cast_normalized(ops::Executor& run, const Tensor& x, const Tensor& gain, const Buffer& rstd,
                                 const Linear& reader, LinearOperand& out) const {
  const ops::ColumnCodes columns = reader.expect_input_columns(run.memory(), x.rows(), out);
  run(ops::RmsNormForwardCast{x.ptr<bf16>(), gain.ptr<bf16>(), rstd.ptr<float>(), columns, x.rows(), config_.dim});
}

void LlamaBlock::attention_norm(ops::Executor& run, Pass pass, Residual in, Saved& saved) const {
  Memory& memory = run.memory();
  const std::int64_t tokens = in.x.tensor().rows();
  const bool has_delta = static_cast<bool>(in.delta);
  if (has_delta) saved.x = activation(memory, "x", tokens, config_.dim);
  if (pass != Pass::again) {
    saved.attention_rstd = memory.allocate(name_ + ".attention_rstd", DType::f32, 1, tokens, MemoryClass::activations);
  }
  saved.attention_in.values = activation(memory, "attention_in", tokens, config_.dim);
  normalize(run, pass, attention_gain_, in, &saved.x, saved.attention_rstd, wqkv_, saving_.recompute.qkv,
            saved.attention_in);
  if (!has_delta && pass != Pass::again) saved.x = std::move(in.x);
  run.observe(name_ + ".attention_norm.output", saved.attention_in.values.tensor());
}

void LlamaBlock::project_qkv(ops::Executor& run, Pass pass, Saved& saved) const {
  saved.projected = activation(run.memory(), "qkv", saved.attention_in.values.tensor().rows(), config_.qkv_cols());
  wqkv_.forward(run, saved.attention_in, saved.projected.tensor(), norm_use(run, pass, wqkv_, saving_.recompute.qkv));
}

/// Of queries and keys in qkv [T, C].
ops::Rope LlamaBlock::rope(const Tensor& qkv, std::int64_t seq_len, std::int64_t offset, const float* cos_sin) const {
  return {.qkv = qkv.ptr<bf16>(),
          .cos_sin = cos_sin,
          .rows = qkv.rows(),
          .row_stride = config_.qkv_cols(),
          .heads = config_.heads + config_.kv_heads,
          .head_dim = config_.head_dim(),
          .seq_len = seq_len,
          .offset = offset,
          .inverse = false};
}

/// What attention reads, of what wqkv has made: in its place, or beside it where heads are normed.
void LlamaBlock::rotate(ops::Executor& run, std::int64_t seq_len, std::int64_t offset, const float* cos_sin,
                        Saved& saved) const {
  if (qk_norm_) {
    saved.qkv = qk_norm_->forward(run, saved.projected.tensor(), seq_len, offset, cos_sin);
  } else {
    saved.qkv = std::move(saved.projected);
    run(rope(saved.qkv.tensor(), seq_len, offset, cos_sin));
  }
}

void LlamaBlock::attend(ops::Executor& run, const BatchShape& shape, Saved& saved) const {
  Memory& memory = run.memory();
  saved.attention_out = activation(memory, "attention_out", shape.tokens(), config_.q_cols());
  saved.lse =
      memory.allocate(name_ + ".lse", DType::f32, shape.batch, config_.heads * shape.seq_len, MemoryClass::activations);
  run(ops::AttentionForward{saved.qkv.ptr<bf16>(), saved.attention_out.ptr<bf16>(), saved.lse.ptr<float>(),
                            attention_shape(shape), attention_scale(), shape.documents});
  run.observe(name_ + ".attention.output", saved.attention_out.tensor());
}

/// wo. Attention leaves nothing beside its output: wo casts that itself.
Buffer LlamaBlock::project_out(ops::Executor& run, Pass pass, Saved& saved) const {
  const InputUse kept = input_use(pass, saving_.recompute.attention, saving_.recompute.stream);
  Buffer delta = activation(run.memory(), "attention_delta", saved.attention_out.tensor().rows(), config_.dim);
  saved.wo_in.values = Buffer(nullptr, 0, saved.attention_out.tensor());
  if (pass != Pass::again) wo_.cast_input(run, kept, saved.wo_in);
  wo_.forward(run, saved.wo_in, delta.tensor(), kept);
  if (pass == Pass::inference || (pass == Pass::training && saving_.recompute.attention)) {
    saved.attention_out.reset();
    saved.lse.reset();
  }
  return delta;
}

/// The stream takes attention's delta (none where x_mid is still there) on the way through the feed-forward norm.
void LlamaBlock::ffn_norm(ops::Executor& run, Pass pass, Buffer attention_delta, Saved& saved) const {
  Memory& memory = run.memory();
  const Tensor& stream = attention_delta ? saved.x.tensor() : saved.x_mid.tensor();
  const Residual in{Buffer(nullptr, 0, stream), std::move(attention_delta)};
  if (in.delta) saved.x_mid = activation(memory, "x_mid", stream.rows(), config_.dim);
  if (pass != Pass::again) {
    saved.ffn_rstd = memory.allocate(name_ + ".ffn_rstd", DType::f32, 1, stream.rows(), MemoryClass::activations);
  }
  saved.ffn_in.values = activation(memory, "ffn_in", stream.rows(), config_.dim);
  normalize(run, pass, ffn_gain_, in, &saved.x_mid, saved.ffn_rstd, w13_, saving_.recompute.gate_up, saved.ffn_in);
  if (pass == Pass::inference) saved.x.reset();
  run.observe(name_ + ".ffn_norm.output", saved.ffn_in.values.tensor());
}

void LlamaBlock::project_gate_up(ops::Executor& run, Pass pass, Saved& saved) const {
  saved.gate_up = activation(run.memory(), "gate_up", saved.ffn_in.values.tensor().rows(), 2 * config_.ffn_dim);
  w13_.forward(run, saved.ffn_in, saved.gate_up.tensor(), norm_use(run, pass, w13_, saving_.recompute.gate_up));
}

/// The same of w2's input, which SwigluBackwardCast computes beside the gradient that it casts.
bool LlamaBlock::casts_activated_later(const ops::Executor& run) const {
  return casts_later(run, w2_, false) && w13_.reads_gradient_as_codes() &&
         w13_.precision().recipe->wgrad.left.precision == w2_.precision().recipe->wgrad.right.precision;
}

InputUse LlamaBlock::activated_use(const ops::Executor& run, Pass pass) const {
  return input_use(pass, saving_.recompute.swiglu || casts_activated_later(run), false);
}

void LlamaBlock::activate(ops::Executor& run, Pass pass, Saved& saved) const {
  const std::int64_t tokens = saved.gate_up.tensor().rows();
  saved.activated.values = activation(run.memory(), "activated", tokens, config_.ffn_dim);
  ops::RowCodes rows;
  ops::ColumnMaxima columns;
  if (pass != Pass::again) {
    w2_.expect_input(run.memory(), tokens, activated_use(run, pass), saved.activated);
    rows = w2_.input_rows(saved.activated);
    columns = Linear::columns(saved.activated);
  }
  const bool stored = !casts_activated_later(run) || run.observed() || w2_.is_watched();
  run(ops::SwigluForward{saved.gate_up.ptr<bf16>(), saved.activated.values.ptr<bf16>(), rows, columns, tokens,
                         config_.ffn_dim, stored});
  if (pass == Pass::inference || (pass == Pass::training && saving_.recompute.gate_up)) saved.gate_up.reset();
  run.observe(name_ + ".feed_forward.activated", saved.activated.values.tensor());
}

Buffer LlamaBlock::project_down(ops::Executor& run, Pass pass, Saved& saved) const {
  Buffer delta = activation(run.memory(), "ffn_delta", saved.activated.values.tensor().rows(), config_.dim);
  w2_.forward(run, saved.activated, delta.tensor(), activated_use(run, pass));
  return delta;
}

/// What forward dropped, in forward's order. Nothing is measured again: casts take the maxima that stayed.
void LlamaBlock::make_again(ops::Executor& run, const BatchShape& shape, const float* cos_sin, Saved& saved) const {
  const Recompute& recompute = saving_.recompute;
  if (recompute.norm && !casts_later(run, wqkv_, recompute.qkv)) {
    attention_norm(run, Pass::again, {Buffer(nullptr, 0, saved.x.tensor()), {}}, saved);
  }
  if (recompute.qkv) project_qkv(run, Pass::again, saved);
  if (recompute.qkv && !qk_norm_) rotate(run, shape.seq_len, 0, cos_sin, saved);
  if (recompute.attention) {
    if (qk_norm_) rotate(run, shape.seq_len, 0, cos_sin, saved);
    attend(run, shape, saved);
    saved.wo_in.values = Buffer(nullptr, 0, saved.attention_out.tensor());
  }
  Buffer delta;
  if (recompute.stream) delta = project_out(run, Pass::again, saved);
  if (recompute.norm && !casts_later(run, w13_, recompute.gate_up)) {
    ffn_norm(run, Pass::again, std::move(delta), saved);
  }
  if (recompute.gate_up) project_gate_up(run, Pass::again, saved);
  if (recompute.swiglu && !casts_activated_later(run)) activate(run, Pass::again, saved);
}

// ---- backward -------------------------------------------------------------------------------------------------------

ResidualGradient LlamaBlock::backward(ops::Executor& run, const BatchShape& shape, const float* cos_sin,
                                      ResidualGradient out, Saved saved, const Linear* below, bool accumulate) const {
  const auto span = run.layer(name_);
  Memory& memory = run.memory();
  const std::int64_t tokens = shape.tokens();
  const std::int64_t dim = config_.dim;
  if (!accumulate) slab_.begin_gradients(run);
  if (saving_.recompute.any()) make_again(run, shape, cos_sin, saved);
  ResidualGradient mid = feed_forward_backward(run, std::move(out), saved, accumulate);

  Buffer dattention = activation(memory, "dattention_out", tokens, config_.q_cols());
  wo_.backward(run, saved.wo_in, mid, dattention.tensor(), slab_.gradient(kWo), accumulate);
  LinearOperand dqkv = attention_backward(run, shape, cos_sin, dattention.tensor(), saved);
  dattention.reset();

  Buffer din = activation(memory, "dattention_in", tokens, dim);
  if (casts_later(run, wqkv_, saving_.recompute.qkv)) {
    cast_normalized(run, saved.x.tensor(), attention_gain_, saved.attention_rstd, wqkv_, saved.attention_in);
  }
  wqkv_.backward(run, saved.attention_in, dqkv, din.tensor(), slab_.gradient(kWqkv), accumulate);
  dqkv = {};

  ResidualGradient in{.values = activation(memory, "dx", tokens, dim)};
  if (below != nullptr) below->expect_gradient(memory, tokens, in);
  run(ops::RmsNormBackward{
      din.ptr<bf16>(), saved.x.ptr<bf16>(), attention_gain_.ptr<bf16>(), saved.attention_rstd.ptr<float>(),
      mid.values.ptr<bf16>(), in.values.ptr<bf16>(), slab_.gradient(kAttentionGain).ptr<float>(),
      below != nullptr ? below->gradient_rows(in) : ops::RowCodes{}, Linear::columns(in), tokens, dim, true});
  run.observe(name_ + ".input_gradient", in.values.tensor());
  return in;
}

/// attention -> rope, backwards. Rope, or the norms of heads with it, leaves what wqkv reads beside the gradient.
LinearOperand LlamaBlock::attention_backward(ops::Executor& run, const BatchShape& shape, const float* cos_sin,
                                             const Tensor& dattention, Saved& saved) const {
  if (!saved.qkv) rotate(run, shape.seq_len, 0, cos_sin, saved);
  LinearOperand dqkv{.values = activation(run.memory(), "dqkv", shape.tokens(), config_.qkv_cols())};
  run(ops::AttentionBackward{saved.qkv.ptr<bf16>(), saved.attention_out.ptr<bf16>(), dattention.ptr<bf16>(),
                             saved.lse.ptr<float>(), dqkv.values.ptr<bf16>(), attention_shape(shape), attention_scale(),
                             shape.documents});
  saved.attention_out.reset();
  saved.qkv.reset();
  saved.lse.reset();
  if (qk_norm_) {
    qk_norm_->backward(run, saved.projected.tensor(), shape.seq_len, cos_sin, wqkv_, dqkv);
    saved.projected.reset();
  } else {
    wqkv_.expect_gradient(run.memory(), shape.tokens(), dqkv);
    ops::Rope back = rope(dqkv.values.tensor(), shape.seq_len, 0, cos_sin);
    back.inverse = true;
    back.codes = wqkv_.gradient_rows(dqkv);
    back.columns = Linear::columns(dqkv);
    run(back);
  }
  run.observe(name_ + ".attention.qkv_gradient", dqkv.values.tensor());
  return dqkv;
}

/// The gradient takes the place of gate_up. Where w13 reads codes alone, a device may leave it unwritten: the
/// transposed codes are made of the same operands, and those of w2's input with them. Whoever looks at values has them
/// written in the end, in a place that the plan of the step has anyway.
LinearOperand LlamaBlock::swiglu_backward(ops::Executor& run, const Tensor& dactivated, Saved& saved) const {
  Memory& memory = run.memory();
  LinearOperand gradient{.values = std::move(saved.gate_up)};
  const std::int64_t tokens = gradient.values.tensor().rows();
  w13_.expect_gradient(memory, tokens, gradient);
  const bool as_codes = run.backend().device().recomputes_casts() && w13_.reads_gradient_as_codes();
  auto* place = gradient.values.ptr<bf16>();
  const auto* dy = dactivated.ptr<bf16>();
  run(ops::SwigluBackward{place, dy, place, w13_.gradient_rows(gradient), Linear::columns(gradient), tokens,
                          config_.ffn_dim, !as_codes});
  if (as_codes) {
    const ops::ColumnCodes columns = w13_.expect_gradient_columns(memory, gradient);
    ops::ColumnCodes activated;
    if (casts_activated_later(run)) activated = w2_.expect_input_columns(memory, tokens, saved.activated);
    run(ops::SwigluBackwardCast{place, dy, columns, tokens, config_.ffn_dim, activated});
    if (run.observed() || w13_.is_watched()) {
      run(ops::SwigluBackward{place, dy, place, {}, {}, tokens, config_.ffn_dim});
    }
  }
  run.observe(name_ + ".feed_forward.gate_up_gradient", gradient.values.tensor());
  return gradient;
}

/// w2 -> SwiGLU -> w1|w3 -> norm + residual, backwards
ResidualGradient LlamaBlock::feed_forward_backward(ops::Executor& run, ResidualGradient out, Saved& saved,
                                                   bool accumulate) const {
  Memory& memory = run.memory();
  const std::int64_t tokens = out.values.tensor().rows();
  const std::int64_t dim = config_.dim;
  const std::int64_t ffn = config_.ffn_dim;

  Buffer dactivated = activation(memory, "dactivated", tokens, ffn);
  w2_.dgrad(run, out, dactivated.tensor());
  LinearOperand dgate_up = swiglu_backward(run, dactivated.tensor(), saved);
  dactivated.reset();
  w2_.wgrad(run, saved.activated, out, slab_.gradient(kW2), accumulate);

  Buffer din = activation(memory, "dffn_in", tokens, dim);
  if (casts_later(run, w13_, saving_.recompute.gate_up)) {
    cast_normalized(run, saved.x_mid.tensor(), ffn_gain_, saved.ffn_rstd, w13_, saved.ffn_in);
  }
  w13_.backward(run, saved.ffn_in, dgate_up, din.tensor(), slab_.gradient(kW13), accumulate);
  dgate_up = {};

  ResidualGradient mid{.values = activation(memory, "dx_mid", tokens, dim)};
  wo_.expect_gradient(memory, tokens, mid);
  run(ops::RmsNormBackward{din.ptr<bf16>(), saved.x_mid.ptr<bf16>(), ffn_gain_.ptr<bf16>(), saved.ffn_rstd.ptr<float>(),
                           out.values.ptr<bf16>(), mid.values.ptr<bf16>(), slab_.gradient(kFfnGain).ptr<float>(),
                           wo_.gradient_rows(mid), Linear::columns(mid), tokens, dim, true});
  run.observe(name_ + ".mid_gradient", mid.values.tensor());
  saved.x_mid.reset();
  return mid;
}

// ---- decoding -------------------------------------------------------------------------------------------------------

Residual LlamaBlock::decode(ops::Executor& run, std::int64_t position, const float* cos_sin, Residual in,
                            const KeyValueCache& cache) const {
  const auto span = run.layer(name_);
  const std::int64_t tokens = in.x.tensor().rows();
  Saved step;
  attention_norm(run, Pass::inference, std::move(in), step);
  project_qkv(run, Pass::inference, step);
  rotate(run, tokens, position, cos_sin, step);
  step.attention_out = activation(run.memory(), "attention_out", tokens, config_.q_cols());
  cache.attend(run, step.qkv.tensor(), position, step.attention_out.tensor());
  step.qkv.reset();
  step.projected.reset();
  Buffer delta = project_out(run, Pass::inference, step);
  ffn_norm(run, Pass::inference, std::move(delta), step);
  project_gate_up(run, Pass::inference, step);
  activate(run, Pass::inference, step);
  delta = project_down(run, Pass::inference, step);
  return {std::move(step.x_mid), std::move(delta)};
}

KeyValueCache LlamaBlock::allocate_cache(Memory& memory, std::int64_t capacity) const {
  return {memory, name_, capacity, attention_shape({1, capacity}), attention_scale()};
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
