#include "model/latent_attention.h"

#include <fmt/format.h>

#include <cmath>

namespace octet {
namespace {

/// The columns of a bf16 matrix from `column` on; null in plans.
bf16* columns_from(const Tensor& x, std::int64_t column) {
  return NormRows::of(x, column).first;
}

/// wqkv_a as checkpoints know it: the rows that make the queries' latent, or queries, and the others.
std::vector<ParameterPart> down_parts(const DeepSeekConfig& config, const std::string& name) {
  return {{name + (config.q_lora_rank > 0 ? ".wq_a.weight" : ".wq.weight"), config.q_down_cols()},
          {name + ".wkv_a.weight", config.kv_lora_rank + config.rope_dim}};
}

}  // namespace

LatentAttention::LatentAttention(const DeepSeekConfig& config, const std::string& name, double depth_std,
                                 std::int64_t tokens, PrecisionPlan& precision, const ModelOptions& options, Slab& slab)
    : config_(config),
      name_(name),
      saving_(options.saving),
      wqkv_a_(make_linear(name + ".wqkv_a", config.down_cols(), config.dim,
                          {tokens, config.init_std, saving_.inputs, down_parts(config, name)}, precision, options,
                          slab)),
      q_norm_([&]() -> std::optional<RmsNorm> {
        if (config.q_lora_rank == 0) return std::nullopt;
        return std::optional<RmsNorm>(std::in_place, name + ".q_norm", config.q_lora_rank, config.norm_eps, slab);
      }()),
      wq_b_([&]() -> std::optional<SlabLinear> {
        if (config.q_lora_rank == 0) return std::nullopt;
        return make_linear(name + ".wq_b", config.q_cols(), config.q_lora_rank,
                           {tokens, config.init_std, saving_.inputs}, precision, options, slab);
      }()),
      kv_norm_(name + ".kv_norm", config.kv_lora_rank, config.norm_eps, slab),
      wkv_b_(make_linear(name + ".wkv_b", config.kv_cols(), config.kv_lora_rank,
                         {tokens, config.init_std, saving_.inputs}, precision, options, slab)),
      // Attention's backward reads the output in bf16 anyway: wgrad makes its codes of that.
      wo_(make_linear(name + ".wo", config.dim, config.out_cols(), {tokens, depth_std, SavedInput::bf16}, precision,
                      options, slab)) {}

void LatentAttention::allocate(Memory& memory) {
  wqkv_a_.allocate(memory);
  if (wq_b_) wq_b_->allocate(memory);
  wkv_b_.allocate(memory);
  wo_.allocate(memory);
}

void LatentAttention::measure_weights(ops::Executor& run) const {
  wqkv_a_.layer.measure_weight(run);
  if (wq_b_) wq_b_->layer.measure_weight(run);
  wkv_b_.layer.measure_weight(run);
  wo_.layer.measure_weight(run);
}

void LatentAttention::cast_weights(ops::Executor& run) const {
  wqkv_a_.layer.cast_weight(run);
  if (wq_b_) wq_b_->layer.cast_weight(run);
  wkv_b_.layer.cast_weight(run);
  wo_.layer.cast_weight(run);
}

std::vector<Linear*> LatentAttention::linears() {
  std::vector<Linear*> linears{&wqkv_a_.layer};
  if (wq_b_) linears.push_back(&wq_b_->layer);
  linears.push_back(&wkv_b_.layer);
  linears.push_back(&wo_.layer);
  return linears;
}

// ---- forward --------------------------------------------------------------------------------------------------------

Buffer LatentAttention::forward(ops::Executor& run, Pass pass, const BatchShape& shape, const float* cos_sin,
                                Saved& saved) const {
  project_down(run, pass, saved);
  normalize_latents(run, pass, saved);
  project_up(run, pass, shape, cos_sin, saved);
  attend(run, shape, saved);
  if (pass == Pass::inference || saving_.recompute.qkv) {
    saved.qkv.reset();
    saved.down.reset();
  }
  return project_out(run, pass, saved);
}

Buffer LatentAttention::decode(ops::Executor& run, std::int64_t position, const float* cos_sin,
                               const KeyValueCache& cache, Saved& saved) const {
  const std::int64_t tokens = saved.in.values.tensor().rows();
  const float* from_position = cos_sin == nullptr ? nullptr : cos_sin + position * config_.rope_dim;
  project_down(run, Pass::inference, saved);
  normalize_latents(run, Pass::inference, saved);
  project_up(run, Pass::inference, {1, tokens}, from_position, saved);
  saved.down.reset();
  saved.out = activation(run.memory(), "output", tokens, config_.out_cols());
  cache.attend(run, saved.qkv.tensor(), position, saved.out.tensor());
  saved.qkv.reset();
  return project_out(run, Pass::inference, saved);
}

KeyValueCache LatentAttention::allocate_cache(Memory& memory, std::int64_t capacity) const {
  return {memory, name_, capacity, attention_shape({1, capacity}), scale()};
}

Buffer LatentAttention::make_again(ops::Executor& run, const BatchShape& shape, const float* cos_sin,
                                   Saved& saved) const {
  const Recompute& recompute = saving_.recompute;
  if (recompute.qkv) project_down(run, Pass::again, saved);
  if (recompute.norm) normalize_latents(run, Pass::again, saved);
  if (recompute.qkv) project_up(run, Pass::again, shape, cos_sin, saved);
  if (recompute.attention) {
    attend(run, shape, saved);
    saved.wo_in.values = Buffer(nullptr, 0, saved.out.tensor());
  }
  return recompute.stream ? project_out(run, Pass::again, saved) : Buffer();
}

/// Of the three inputs that are a norm's output.
InputUse LatentAttention::norm_use(Pass pass) const {
  return input_use(pass, saving_.recompute.norm, saving_.recompute.qkv);
}

void LatentAttention::project_down(ops::Executor& run, Pass pass, Saved& saved) const {
  saved.down = activation(run.memory(), "down", saved.in.values.tensor().rows(), config_.down_cols());
  wqkv_a_.layer.forward(run, saved.in, saved.down.tensor(), norm_use(pass));
}

void LatentAttention::normalize_latents(ops::Executor& run, Pass pass, Saved& saved) const {
  const Tensor& down = saved.down.tensor();
  if (has_q_latent()) {
    q_norm_->forward(run, pass, NormRows::of(down), saved.q_rstd, &wq_b_->layer, norm_use(pass), saved.q_latent);
  }
  kv_norm_.forward(run, pass, NormRows::of(down, config_.q_down_cols()), saved.kv_rstd, &wkv_b_.layer, norm_use(pass),
                   saved.kv_latent);
}

void LatentAttention::project_up(ops::Executor& run, Pass pass, const BatchShape& shape, const float* cos_sin,
                                 Saved& saved) const {
  Memory& memory = run.memory();
  const std::int64_t tokens = shape.tokens();
  Buffer q;
  if (has_q_latent()) {
    q = activation(memory, "q", tokens, config_.q_cols());
    wq_b_->layer.forward(run, saved.q_latent, q.tensor(), norm_use(pass));
  }
  Buffer kv = activation(memory, "kv", tokens, config_.kv_cols());
  wkv_b_.layer.forward(run, saved.kv_latent, kv.tensor(), norm_use(pass));
  const Tensor& down = saved.down.tensor();
  const Tensor& queries = has_q_latent() ? q.tensor() : down;
  saved.qkv = activation(memory, "qkv", tokens, row_shape(shape).qkv_cols());
  run(ops::MlaAssemble{queries.ptr<bf16>(), kv.ptr<bf16>(),
                       columns_from(down, config_.q_down_cols() + config_.kv_lora_rank), cos_sin, saved.qkv.ptr<bf16>(),
                       row_shape(shape), queries.cols(), down.cols()});
}

void LatentAttention::attend(ops::Executor& run, const BatchShape& shape, Saved& saved) const {
  Memory& memory = run.memory();
  saved.out = activation(memory, "output", shape.tokens(), config_.out_cols());
  saved.lse =
      memory.allocate(name_ + ".lse", DType::f32, shape.batch, config_.heads * shape.seq_len, MemoryClass::activations);
  run(ops::AttentionForward{saved.qkv.ptr<bf16>(), saved.out.ptr<bf16>(), saved.lse.ptr<float>(),
                            attention_shape(shape), scale(), shape.documents});
  run.observe(name_ + ".output", saved.out.tensor());
}

/// wo. Attention leaves nothing beside its output: wo casts that itself.
Buffer LatentAttention::project_out(ops::Executor& run, Pass pass, Saved& saved) const {
  const InputUse use = input_use(pass, saving_.recompute.attention, saving_.recompute.stream);
  Buffer delta = activation(run.memory(), "delta", saved.out.tensor().rows(), config_.dim);
  saved.wo_in.values = Buffer(nullptr, 0, saved.out.tensor());
  if (pass != Pass::again) wo_.layer.cast_input(run, use, saved.wo_in);
  wo_.layer.forward(run, saved.wo_in, delta.tensor(), use);
  if (pass == Pass::inference || (pass == Pass::training && saving_.recompute.attention)) {
    saved.out.reset();
    saved.lse.reset();
  }
  return delta;
}

// ---- backward -------------------------------------------------------------------------------------------------------

Buffer LatentAttention::backward(ops::Executor& run, const BatchShape& shape, const float* cos_sin,
                                 LinearOperand& ddelta, Saved& saved, bool accumulate) const {
  Memory& memory = run.memory();
  const std::int64_t tokens = shape.tokens();
  const ops::MlaShape rows = row_shape(shape);
  Buffer dout = activation(memory, "doutput", tokens, config_.out_cols());
  wo_.layer.backward(run, saved.wo_in, ddelta, dout.tensor(), wo_.gradient(), accumulate);
  Buffer dqkv = activation(memory, "dqkv", tokens, rows.qkv_cols());
  run(ops::AttentionBackward{saved.qkv.ptr<bf16>(), saved.out.ptr<bf16>(), dout.ptr<bf16>(), saved.lse.ptr<float>(),
                             dqkv.ptr<bf16>(), attention_shape(shape), scale(), shape.documents});
  dout.reset();
  saved.qkv.reset();
  saved.out.reset();
  saved.lse.reset();

  LinearOperand ddown{.values = activation(memory, "ddown", tokens, config_.down_cols())};
  const Tensor& down = ddown.values.tensor();
  LinearOperand dq;
  if (has_q_latent()) dq.values = activation(memory, "dq", tokens, config_.q_cols());
  LinearOperand dkv{.values = activation(memory, "dkv", tokens, config_.kv_cols())};
  const Tensor& queries = has_q_latent() ? dq.values.tensor() : down;
  run(ops::MlaAssembleBackward{dqkv.ptr<bf16>(), cos_sin, queries.ptr<bf16>(), dkv.values.ptr<bf16>(),
                               columns_from(down, config_.q_down_cols() + config_.kv_lora_rank), rows, queries.cols(),
                               down.cols()});
  dqkv.reset();
  if (has_q_latent()) {
    up_backward(run, *wq_b_, *q_norm_, saved.q_latent, std::move(dq), saved, 0, saved.q_rstd, down, accumulate);
  }
  up_backward(run, wkv_b_, kv_norm_, saved.kv_latent, std::move(dkv), saved, config_.q_down_cols(), saved.kv_rstd, down,
              accumulate);
  saved.down.reset();

  Buffer din = activation(memory, "din", tokens, config_.dim);
  wqkv_a_.layer.cast_gradient(run, ddown);
  wqkv_a_.layer.backward(run, saved.in, ddown, din.tensor(), wqkv_a_.gradient(), accumulate);
  return din;
}

/// A latent's product and norm, backwards, to the latent's columns of `ddown`, which begin at `column`.
void LatentAttention::up_backward(ops::Executor& run, const SlabLinear& layer, const RmsNorm& norm,
                                  LinearOperand& latent, LinearOperand dy, const Saved& saved, std::int64_t column,
                                  const Buffer& rstd, const Tensor& ddown, bool accumulate) const {
  Buffer dlatent = activation(run.memory(), "dlatent", ddown.rows(), layer.layer.k());
  layer.layer.cast_gradient(run, dy);
  layer.layer.backward(run, latent, dy, dlatent.tensor(), layer.gradient(), accumulate);
  norm.backward(run, dlatent.tensor(), NormRows::of(saved.down.tensor(), column), rstd, NormRows::of(ddown, column));
}

Buffer LatentAttention::activation(Memory& memory, std::string_view what, std::int64_t tokens,
                                   std::int64_t cols) const {
  return memory.allocate(fmt::format("{}.{}", name_, what), DType::bf16, tokens, cols, MemoryClass::activations);
}

ops::AttentionShape LatentAttention::attention_shape(const BatchShape& shape) const {
  return {.batch = shape.batch,
          .seq_len = shape.seq_len,
          .heads = config_.heads,
          .kv_heads = config_.heads,
          .head_dim = config_.qk_dim(),
          .value_dim = config_.value_dim};
}

ops::MlaShape LatentAttention::row_shape(const BatchShape& shape) const {
  return {shape.tokens(), shape.seq_len, config_.heads, config_.nope_dim, config_.rope_dim, config_.value_dim};
}

float LatentAttention::scale() const {
  const double growth = config_.yarn ? config_.yarn->attention_growth() : 1;
  return static_cast<float>(growth / std::sqrt(static_cast<double>(config_.qk_dim())));
}

}  // namespace octet
