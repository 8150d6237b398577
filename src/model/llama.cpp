#include "model/llama.h"

#include <algorithm>

namespace octet {
namespace {

/// Logits of one chunk take at most this many bytes: large enough to keep a matrix unit busy.
constexpr std::int64_t kLogitsBytes = std::int64_t{256} << 20;

std::int64_t chunk_rows(std::int64_t tokens, std::int64_t vocab) {
  return std::clamp<std::int64_t>(kLogitsBytes / (vocab * 2), 1, tokens);
}

}  // namespace

Llama::Llama(const LlamaConfig& config, std::int64_t tokens, std::int64_t max_seq_len, PrecisionOptions precision,
             WeightCodes weight_codes)
    : config_(config),
      precision_(std::move(precision)),
      max_seq_len_(max_seq_len),
      embedding_slab_(parameters_.add_slab("tok_embeddings")),
      blocks_([&] {
        std::deque<LlamaBlock> blocks;
        for (std::int64_t i = 0; i < config.layers; ++i) {
          Slab& slab = parameters_.add_slab("layers." + std::to_string(i));
          blocks.emplace_back(config_, i, tokens, precision_, weight_codes, slab);
        }
        return blocks;
      }()),
      head_slab_(parameters_.add_slab("head")),
      head_("output", config.vocab, config.dim,
            precision_.decide_head("output", chunk_rows(tokens, config.vocab), config.vocab, config.dim),
            weight_codes) {
  embedding_slab_.add({"tok_embeddings.weight", config.vocab, config.dim, 0, {config.init_std, 0}, true, {}});
  if (!config.tied_embeddings) {
    head_slab_.add({"output.weight", config.vocab, config.dim, 0, {config.init_std, 0}, true, {}});
  }
  head_slab_.add({"norm.weight", 1, config.dim, 0, {0, 1}, false, {}});
}

void Llama::allocate(Memory& memory, SlabUse use) {
  precision_.require_effect();
  cos_sin_ = memory.allocate("rope_table", DType::f32, max_seq_len_, config_.head_dim(), MemoryClass::parameters);
  embedding_slab_.allocate(memory, use);
  embedding_ = embedding_slab_.view(0);
  for (LlamaBlock& block : blocks_) block.allocate(memory, use);
  head_slab_.allocate(memory, use);
  head_.bind(config_.tied_embeddings ? embedding_ : head_slab_.view(0));
  head_.allocate(memory);
  const ParameterView gain = head_slab_.view(config_.tied_embeddings ? 0 : 1);
  final_norm_ = {gain.weight, gain.gradient};
}

void Llama::prepare() const {
  const std::vector<float> table =
      ops::rope_table(max_seq_len_, config_.head_dim(), config_.rope_theta, config_.rope_scaling);
  std::copy(table.begin(), table.end(), cos_sin_.ptr<float>());
}

void Llama::cast_weights(ops::Executor& run) {
  for (LlamaBlock& block : blocks_) block.cast_weights(run);
  head_.cast_weight(run);
}

void Llama::watch_casts(CastCounts* counts) {
  for (LlamaBlock& block : blocks_) block.watch_casts(counts);
  head_.watch(counts);
}

Residual Llama::embed(ops::Executor& run, const Batch& batch) const {
  const std::int64_t tokens = batch.shape.tokens();
  Buffer x = run.memory().allocate("embedded", DType::bf16, tokens, config_.dim, MemoryClass::activations);
  run(ops::EmbeddingForward{batch.inputs, embedding_.weight.ptr<bf16>(), x.ptr<bf16>(), tokens, config_.dim,
                            config_.vocab});
  run.observe("tok_embeddings.output", x.tensor());
  return {std::move(x), {}};
}

Llama::Final Llama::finish(ops::Executor& run, Residual stream, std::int64_t tokens) const {
  Memory& memory = run.memory();
  const std::int64_t dim = config_.dim;
  Final end{memory.allocate("final_x", DType::bf16, tokens, dim, MemoryClass::activations),
            memory.allocate("final_rstd", DType::f32, 1, tokens, MemoryClass::activations),
            memory.allocate("final_normed", DType::bf16, tokens, dim, MemoryClass::activations)};
  run(ops::RmsNormForward{stream.x.ptr<bf16>(), stream.delta.ptr<bf16>(), final_norm_.weight.ptr<bf16>(),
                          end.x.ptr<bf16>(), end.normed.ptr<bf16>(), end.rstd.ptr<float>(), ops::RowCodes{}, tokens,
                          dim, config_.norm_eps, true});
  run.observe("norm.output", end.normed.tensor());
  return end;
}

void Llama::for_each_chunk(std::int64_t tokens,
                           const std::function<void(std::int64_t begin, std::int64_t count)>& body) const {
  const std::int64_t rows = chunk_rows(tokens, config_.vocab);
  for (std::int64_t begin = 0; begin < tokens; begin += rows) body(begin, std::min(rows, tokens - begin));
}

/// Head and loss of rows [begin, begin + normed.rows()); with `dnormed` also their gradients.
void Llama::loss_chunk(ops::Executor& run, const Tensor& normed, const Batch& batch, std::int64_t begin,
                       float gradient_scale, bool accumulate, const Tensor* dnormed, double* loss_sum) const {
  Memory& memory = run.memory();
  const std::int64_t rows = normed.rows();
  Buffer logits = memory.allocate("logits", DType::bf16, rows, config_.vocab, MemoryClass::activations);
  Codes codes;
  head_.forward(run, normed, codes, logits.tensor());
  codes = {};
  Buffer loss = memory.allocate("loss", DType::f32, 1, rows, MemoryClass::activations);
  const std::int32_t* targets = batch.targets == nullptr ? nullptr : batch.targets + begin;
  run(ops::CrossEntropy{logits.ptr<bf16>(), targets, loss.ptr<float>(), rows, config_.vocab, gradient_scale,
                        dnormed != nullptr});
  run(ops::SumFloats{loss.ptr<float>(), loss_sum, rows, 1.0});
  run.observe("loss", loss.tensor());
  if (dnormed == nullptr) return;
  run.observe("output.logit_gradient", logits.tensor());
  Codes gradient_codes;
  head_.backward(run, normed, logits.tensor(), gradient_codes, *dnormed, accumulate);
}

void Llama::train(ops::Executor& run, const Batch& batch, float gradient_scale, bool accumulate, double* loss_sum) {
  Memory& memory = run.memory();
  const std::int64_t tokens = batch.shape.tokens();
  const std::int64_t dim = config_.dim;
  if (!accumulate) clear_small_gradients(run);

  auto phase = run.phase("forward");
  std::vector<LlamaBlock::Saved> saved(blocks_.size());
  Residual stream = embed(run, batch);
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    stream = blocks_[i].forward(run, batch.shape, cos_sin(), std::move(stream), &saved[i]);
  }
  Final end = finish(run, std::move(stream), tokens);

  phase.next("head and loss");
  Buffer dnormed = memory.allocate("dnormed", DType::bf16, tokens, dim, MemoryClass::activations);
  for_each_chunk(tokens, [&](std::int64_t begin, std::int64_t count) {
    const Tensor chunk = dnormed.tensor().row_range(begin, count);
    loss_chunk(run, end.normed.tensor().row_range(begin, count), batch, begin, gradient_scale, accumulate || begin > 0,
               &chunk, loss_sum);
  });
  end.normed.reset();

  phase.next("backward");
  const Linear& last = blocks_.back().w2();
  ResidualGradient gradient{memory.allocate("final_dx", DType::bf16, tokens, dim, MemoryClass::activations),
                            last.gradient_codes(memory, tokens)};
  run(ops::RmsNormBackward{dnormed.ptr<bf16>(), end.x.ptr<bf16>(), final_norm_.weight.ptr<bf16>(),
                           end.rstd.ptr<float>(), nullptr, gradient.dx.ptr<bf16>(), final_norm_.gradient.ptr<float>(),
                           last.producer_gradient(gradient.codes), tokens, dim, false});
  run.observe("norm.input_gradient", gradient.dx.tensor());
  dnormed.reset();
  end = {};

  for (std::size_t i = blocks_.size(); i-- > 0;) {
    const Linear* below = i > 0 ? &blocks_[i - 1].w2() : nullptr;
    gradient =
        blocks_[i].backward(run, batch.shape, cos_sin(), std::move(gradient), std::move(saved[i]), below, accumulate);
  }
  run(ops::EmbeddingBackward{batch.inputs, gradient.dx.ptr<bf16>(), embedding_.gradient.ptr<float>(), tokens, dim,
                             config_.vocab});
  run.observe("tok_embeddings.weight_gradient", embedding_.gradient);
}

/// Gradients that ops only add to start at zero: gains, and an embedding table that is not also the head.
void Llama::clear_small_gradients(ops::Executor& run) const {
  for (const Slab& slab : parameters_.slabs()) {
    const std::int64_t begin = &slab == &embedding_slab_ && !config_.tied_embeddings ? 0 : slab.decaying();
    float* gradients = slab.gradients().ptr<float>();
    const std::int64_t bytes = (slab.numel() - begin) * static_cast<std::int64_t>(sizeof(float));
    if (bytes > 0) run(ops::Zero{gradients == nullptr ? nullptr : gradients + begin, bytes});
  }
}

void Llama::validate(ops::Executor& run, const Batch& batch, double* loss_sum) const {
  const std::int64_t tokens = batch.shape.tokens();
  Residual stream = embed(run, batch);
  for (const LlamaBlock& block : blocks_) {
    stream = block.forward(run, batch.shape, cos_sin(), std::move(stream), nullptr);
  }
  const Final end = finish(run, std::move(stream), tokens);
  for_each_chunk(tokens, [&](std::int64_t begin, std::int64_t count) {
    loss_chunk(run, end.normed.tensor().row_range(begin, count), batch, begin, 0.0F, false, nullptr, loss_sum);
  });
}

void Llama::decode(ops::Executor& run, const std::int32_t* token, std::int64_t position,
                   std::span<const KeyValueCache> caches, const Tensor& logits) const {
  Residual stream = embed(run, {{1, 1}, token, nullptr});
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    stream = blocks_[i].decode(run, position, cos_sin(), std::move(stream), caches[i]);
  }
  const Final end = finish(run, std::move(stream), 1);
  Codes codes;
  head_.forward(run, end.normed.tensor(), codes, logits);
}

}  // namespace octet
