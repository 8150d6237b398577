// Llama 3, and dense Qwen3, which norms query and key heads besides: its two ends, its blocks, and the order of
// everything.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "model/llama_block.h"
#include "model/vocabulary_layers.h"

namespace octet {

class Llama final : public Model {
 public:
  /// `tokens` per micro-batch is what the precision table calls M.
  Llama(const LlamaConfig& config, std::int64_t tokens, std::int64_t max_seq_len, const ModelOptions& options);

  void allocate(Memory& memory, const SlabStorage& storage) override;
  void prepare(ops::Device& device) const override;
  void measure_weights(ops::Executor& run) const override;
  void cast_weights(ops::Executor& run) const override;

  void train(ops::Executor& run, const Batch& batch, float gradient_scale, bool accumulate, double* loss_sum) override;
  void validate(ops::Executor& run, const Batch& batch, double* loss_sum) const override;
  [[nodiscard]] std::vector<KeyValueCache> allocate_caches(Memory& memory, std::int64_t capacity) const override;
  void decode(ops::Executor& run, const std::int32_t* tokens, std::int64_t count, std::int64_t position,
              std::span<const KeyValueCache> caches, const Tensor& logits) const override;

  void watch_casts(CastCounts* counts) override;
  [[nodiscard]] std::vector<Linear*> linears() override;
  [[nodiscard]] bool tied_embeddings() const override { return config_.tied_embeddings; }

  [[nodiscard]] std::int64_t vocab() const override { return config_.vocab; }
  [[nodiscard]] std::int64_t layers() const override { return config_.layers; }
  [[nodiscard]] std::string shape_text() const override;
  [[nodiscard]] double flops_per_token(std::int64_t seq_len) const override { return config_.flops_per_token(seq_len); }

  [[nodiscard]] const LlamaConfig& config() const { return config_; }
  [[nodiscard]] const std::deque<LlamaBlock>& blocks() const { return blocks_; }
  [[nodiscard]] const float* cos_sin() const { return cos_sin_.ptr<float>(); }

 private:
  LlamaConfig config_;
  std::int64_t max_seq_len_;
  Slab& embedding_slab_;
  std::deque<LlamaBlock> blocks_;
  VocabularyLayers ends_;
  Buffer cos_sin_;  // [max_seq_len, hd] f32
};

}  // namespace octet
