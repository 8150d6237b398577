#include "model/grouped_query_attention.h"

#include <fmt/format.h>

#include <cmath>

namespace octet {
namespace {

/// wqkv as checkpoints know it.
std::vector<ParameterPart> qkv_parts(const DeepSeekConfig& config, const std::string& name) {
  const std::int64_t kv_rows = config.kv_heads * config.rope_dim;
  return {{name + ".wq.weight", config.q_cols()}, {name + ".wk.weight", kv_rows}, {name + ".wv.weight", kv_rows}};
}

}  // namespace

GroupedQueryAttention::GroupedQueryAttention(const DeepSeekConfig& config, const std::string& name, double depth_std,
                                             std::int64_t tokens, PrecisionPlan& precision, const ModelOptions& options,
                                             Slab& slab)
    : config_(config),
      name_(name),
      saving_(options.saving),
      wqkv_(make_linear(name + ".wqkv", config.qkv_cols(), config.dim,
                        {tokens, config.init_std, saving_.inputs, qkv_parts(config, name)}, precision, options, slab)),
      qk_norm_(name, {config.heads, config.kv_heads, config.rope_dim}, config.norm_eps, slab),
      // Attention's backward reads the output in bf16 anyway: wgrad makes its codes of that.
      wo_(make_linear(name + ".wo", config.dim, config.out_cols(), {tokens, depth_std, SavedInput::bf16}, precision,
                      options, slab)) {}

void GroupedQueryAttention::allocate(Memory& memory) {
  wqkv_.allocate(memory);
  wo_.allocate(memory);
}

void GroupedQueryAttention::measure_weights(ops::Executor& run) const {
  wqkv_.layer.measure_weight(run);
  wo_.layer.measure_weight(run);
}

void GroupedQueryAttention::cast_weights(ops::Executor& run) const {
  wqkv_.layer.cast_weight(run);
  wo_.layer.cast_weight(run);
}

InputUse GroupedQueryAttention::first_use(Pass pass) const {
  return input_use(pass, saving_.recompute.norm, saving_.recompute.qkv);
}

// ---- forward --------------------------------------------------------------------------------------------------------

Buffer GroupedQueryAttention::forward(ops::Executor& run, Pass pass, const BatchShape& shape, const float* cos_sin,
                                      Saved& saved) const {
  project(run, pass, saved);
  norm_heads(run, shape.seq_len, 0, cos_sin, saved);
  attend(run, shape, saved);
  saved.qkv.reset();
  if (pass == Pass::inference || saving_.recompute.qkv) saved.down.reset();
  return project_out(run, pass, saved);
}

Buffer GroupedQueryAttention::decode(ops::Executor& run, std::int64_t position, const float* cos_sin,
                                     const KeyValueCache& cache, Saved& saved) const {
  const std::int64_t tokens = saved.in.values.tensor().rows();
  project(run, Pass::inference, saved);
  norm_heads(run, tokens, position, cos_sin, saved);
  saved.down.reset();
  saved.out = activation(run.memory(), "output", tokens, config_.out_cols());
  cache.attend(run, saved.qkv.tensor(), position, saved.out.tensor());
  saved.qkv.reset();
  return project_out(run, Pass::inference, saved);
}

KeyValueCache GroupedQueryAttention::allocate_cache(Memory& memory, std::int64_t capacity) const {
  return {memory, name_, capacity, attention_shape({1, capacity}), scale()};
}

Buffer GroupedQueryAttention::make_again(ops::Executor& run, const BatchShape& shape, const float* cos_sin,
                                         Saved& saved) const {
  const Recompute& recompute = saving_.recompute;
  if (recompute.qkv) project(run, Pass::again, saved);
  if (recompute.attention) {
    norm_heads(run, shape.seq_len, 0, cos_sin, saved);
    attend(run, shape, saved);
    saved.wo_in.values = Buffer(nullptr, 0, saved.out.tensor());
  }
  return recompute.stream ? project_out(run, Pass::again, saved) : Buffer();
}

void GroupedQueryAttention::project(ops::Executor& run, Pass pass, Saved& saved) const {
  saved.down = activation(run.memory(), "qkv", saved.in.values.tensor().rows(), config_.qkv_cols());
  wqkv_.layer.forward(run, saved.in, saved.down.tensor(), first_use(pass));
}

void GroupedQueryAttention::norm_heads(ops::Executor& run, std::int64_t seq_len, std::int64_t offset,
                                       const float* cos_sin, Saved& saved) const {
  saved.qkv = qk_norm_.forward(run, saved.down.tensor(), seq_len, offset, cos_sin);
}

void GroupedQueryAttention::attend(ops::Executor& run, const BatchShape& shape, Saved& saved) const {
  Memory& memory = run.memory();
  saved.out = activation(memory, "output", shape.tokens(), config_.out_cols());
  saved.lse =
      memory.allocate(name_ + ".lse", DType::f32, shape.batch, config_.heads * shape.seq_len, MemoryClass::activations);
  run(ops::AttentionForward{saved.qkv.ptr<bf16>(), saved.out.ptr<bf16>(), saved.lse.ptr<float>(),
                            attention_shape(shape), scale(), shape.documents});
  run.observe(name_ + ".output", saved.out.tensor());
}

/// wo. Attention leaves nothing beside its output: wo casts that itself.
Buffer GroupedQueryAttention::project_out(ops::Executor& run, Pass pass, Saved& saved) const {
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

Buffer GroupedQueryAttention::backward(ops::Executor& run, const BatchShape& shape, const float* cos_sin,
                                       LinearOperand& ddelta, Saved& saved, bool accumulate) const {
  Memory& memory = run.memory();
  const std::int64_t tokens = shape.tokens();
  Buffer dout = activation(memory, "doutput", tokens, config_.out_cols());
  wo_.layer.backward(run, saved.wo_in, ddelta, dout.tensor(), wo_.gradient(), accumulate);
  if (!saved.qkv) norm_heads(run, shape.seq_len, 0, cos_sin, saved);
  LinearOperand dqkv{.values = activation(memory, "dqkv", tokens, config_.qkv_cols())};
  run(ops::AttentionBackward{saved.qkv.ptr<bf16>(), saved.out.ptr<bf16>(), dout.ptr<bf16>(), saved.lse.ptr<float>(),
                             dqkv.values.ptr<bf16>(), attention_shape(shape), scale(), shape.documents});
  dout.reset();
  saved.qkv.reset();
  saved.out.reset();
  saved.lse.reset();
  qk_norm_.backward(run, saved.down.tensor(), shape.seq_len, cos_sin, wqkv_.layer, dqkv);
  saved.down.reset();
  run.observe(name_ + ".qkv_gradient", dqkv.values.tensor());

  Buffer din = activation(memory, "din", tokens, config_.dim);
  wqkv_.layer.backward(run, saved.in, dqkv, din.tensor(), wqkv_.gradient(), accumulate);
  return din;
}

Buffer GroupedQueryAttention::activation(Memory& memory, std::string_view what, std::int64_t tokens,
                                         std::int64_t cols) const {
  return memory.allocate(fmt::format("{}.{}", name_, what), DType::bf16, tokens, cols, MemoryClass::activations);
}

ops::AttentionShape GroupedQueryAttention::attention_shape(const BatchShape& shape) const {
  return {shape.batch, shape.seq_len, config_.heads, config_.kv_heads, config_.rope_dim};
}

float GroupedQueryAttention::scale() const {
  return static_cast<float>(1 / std::sqrt(static_cast<double>(config_.rope_dim)));
}

}  // namespace octet
