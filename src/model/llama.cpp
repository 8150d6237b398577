#include "model/llama.h"

#include <fmt/format.h>

namespace octet {

Llama::Llama(const LlamaConfig& config, std::int64_t tokens, std::int64_t max_seq_len, const ModelOptions& options)
    : Model(options.precision),
      config_(config),
      max_seq_len_(max_seq_len),
      embedding_slab_(parameters_.add_slab("tok_embeddings")),
      blocks_([&] {
        std::deque<LlamaBlock> blocks;
        for (std::int64_t i = 0; i < config.layers; ++i) {
          Slab& slab = parameters_.add_slab("layers." + std::to_string(i));
          blocks.emplace_back(config_, i, tokens, precision_, options.weight_codes, options.saving, slab);
        }
        return blocks;
      }()),
      ends_({.vocab = config.vocab,
             .dim = config.dim,
             .norm_eps = config.norm_eps,
             .tied = config.tied_embeddings,
             .init_std = config.init_std},
            tokens, precision_, options, embedding_slab_, parameters_.add_slab("head")) {}

void Llama::allocate(Memory& memory, const SlabStorage& storage) {
  precision_.require_effect();
  cos_sin_ = memory.allocate("rope_table", DType::f32, max_seq_len_, config_.head_dim(), MemoryClass::parameters);
  ends_.allocate(memory, storage);
  for (LlamaBlock& block : blocks_) block.allocate(memory, storage);
}

void Llama::prepare(ops::Device& device) const {
  const std::vector<float> table =
      ops::rope_table(max_seq_len_, config_.head_dim(), config_.rope_theta, config_.rope_scaling);
  device.upload(cos_sin_.tensor().raw(), table.data(), cos_sin_.tensor().bytes());
}

void Llama::measure_weights(ops::Executor& run) const {
  for (const LlamaBlock& block : blocks_) block.measure_weights(run);
  ends_.head().measure_weight(run);
}

void Llama::cast_weights(ops::Executor& run) const {
  for (const LlamaBlock& block : blocks_) block.cast_weights(run);
  ends_.head().cast_weight(run);
}

void Llama::watch_casts(CastCounts* counts) {
  for (LlamaBlock& block : blocks_) block.watch_casts(counts);
  ends_.head().watch(counts);
}

std::vector<Linear*> Llama::linears() {
  std::vector<Linear*> linears;
  for (LlamaBlock& block : blocks_) {
    for (Linear* linear : block.linears()) linears.push_back(linear);
  }
  linears.push_back(&ends_.head());
  return linears;
}

std::string Llama::shape_text() const {
  const std::string length = config_.own_head_dim > 0 ? fmt::format(" of {}", config_.own_head_dim) : "";
  return fmt::format("{} layers, dim {}, {} {}heads{} ({} key/value), feed-forward {}, vocabulary {}", config_.layers,
                     config_.dim, config_.heads, config_.qk_norm ? "normed " : "", length, config_.kv_heads,
                     config_.ffn_dim, config_.vocab);
}

void Llama::train(ops::Executor& run, const Batch& batch, float gradient_scale, bool accumulate, double* loss_sum) {
  auto phase = run.phase("forward");
  std::vector<LlamaBlock::Saved> saved(blocks_.size());
  Residual stream{ends_.embed(run, batch.inputs, batch.shape.tokens()), {}};
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    stream = blocks_[i].forward(run, batch.shape, cos_sin(), std::move(stream), &saved[i]);
  }
  VocabularyLayers::Final end = ends_.finish(run, std::move(stream));

  phase.next("head and loss");
  Buffer dnormed =
      ends_.loss_and_gradient(run, std::move(end.normed), batch.targets, gradient_scale, accumulate, loss_sum);

  phase.next("backward");
  ResidualGradient gradient = ends_.finish_backward(run, std::move(dnormed), std::move(end), {}, &blocks_.back().w2());
  for (std::size_t i = blocks_.size(); i-- > 0;) {
    const Linear* below = i > 0 ? &blocks_[i - 1].w2() : nullptr;
    gradient =
        blocks_[i].backward(run, batch.shape, cos_sin(), std::move(gradient), std::move(saved[i]), below, accumulate);
  }
  if (!accumulate) ends_.begin_embedding_gradients(run);
  ends_.embedding_backward(run, batch.inputs, gradient.values.tensor());
}

void Llama::validate(ops::Executor& run, const Batch& batch, double* loss_sum) const {
  Residual stream{ends_.embed(run, batch.inputs, batch.shape.tokens()), {}};
  for (const LlamaBlock& block : blocks_) {
    stream = block.forward(run, batch.shape, cos_sin(), std::move(stream), nullptr);
  }
  const VocabularyLayers::Final end = ends_.finish(run, std::move(stream));
  ends_.loss(run, end.normed.tensor(), batch.targets, loss_sum);
}

std::vector<KeyValueCache> Llama::allocate_caches(Memory& memory, std::int64_t capacity) const {
  std::vector<KeyValueCache> caches;
  for (const LlamaBlock& block : blocks_) caches.push_back(block.allocate_cache(memory, capacity));
  return caches;
}

void Llama::decode(ops::Executor& run, const std::int32_t* tokens, std::int64_t count, std::int64_t position,
                   std::span<const KeyValueCache> caches, const Tensor& logits) const {
  Residual stream{ends_.embed(run, tokens, count), {}};
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    stream = blocks_[i].decode(run, position, cos_sin(), std::move(stream), caches[i]);
  }
  ends_.next_token_logits(run, std::move(stream), logits);
}

}  // namespace octet
