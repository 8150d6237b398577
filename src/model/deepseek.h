// DeepSeek-V3 (DeepSeek-AI, "DeepSeek-V3 technical report", 2024), and Qwen3 with a mixture of experts (Qwen Team,
// "Qwen3 technical report", 2025), which differs in its attention and its router: two ends, blocks, and the order of
// everything.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "model/prediction_module.h"
#include "model/vocabulary_layers.h"

namespace octet {

class DeepSeek final : public Model {
 public:
  /// `tokens` per micro-batch is what the precision table calls M.
  DeepSeek(const DeepSeekConfig& config, std::int64_t tokens, std::int64_t max_seq_len, const ModelOptions& options);

  void allocate(Memory& memory, const SlabStorage& storage) override;
  void prepare(ops::Device& device) const override;
  void measure_weights(ops::Executor& run) const override;
  void cast_weights(ops::Executor& run) const override;

  void train(ops::Executor& run, const Batch& batch, float gradient_scale, bool accumulate, double* loss_sum) override;
  void validate(ops::Executor& run, const Batch& batch, double* loss_sum) const override;
  [[nodiscard]] std::vector<KeyValueCache> allocate_caches(Memory& memory, std::int64_t capacity) const override;
  void decode(ops::Executor& run, const std::int32_t* tokens, std::int64_t count, std::int64_t position,
              std::span<const KeyValueCache> caches, const Tensor& logits) const override;
  /// Moves the biases of all routers against the load since the last time.
  void balance(ops::Executor& run) const override;

  void watch_casts(CastCounts* counts) override;
  /// Those of routed experts are none.
  [[nodiscard]] std::vector<Linear*> linears() override;
  [[nodiscard]] bool tied_embeddings() const override { return false; }
  [[nodiscard]] std::vector<std::vector<std::int64_t>> expert_loads(ops::Device& device) const override;

  [[nodiscard]] OtherLosses other_losses(ops::Device& device) const override;

  [[nodiscard]] std::int64_t vocab() const override { return config_.vocab; }
  [[nodiscard]] std::int64_t layers() const override { return config_.layers; }
  [[nodiscard]] std::string shape_text() const override;
  [[nodiscard]] double flops_per_token(std::int64_t seq_len) const override { return config_.flops_per_token(seq_len); }

  [[nodiscard]] const DeepSeekConfig& config() const { return config_; }

 private:
  /// A depth of multi-token prediction in a training pass.
  struct Further {
    Buffer inputs, targets;  // [1, T] i32: those of the pass, so many tokens further on
    PredictionModule::Saved saved;
    VocabularyLayers::Final end;
    Buffer dnormed;  // [T, D] bf16
  };

  [[nodiscard]] std::size_t depths() const { return modules_.size(); }
  [[nodiscard]] Further shift(ops::Executor& run, const Batch& batch) const;
  void begin_step(ops::Executor& run) const;
  [[nodiscard]] std::vector<Further> predict_further(ops::Executor& run, const Batch& batch,
                                                     const Tensor& stream) const;
  void further_losses(ops::Executor& run, float gradient_scale, std::vector<Further>& further) const;
  [[nodiscard]] Buffer further_backward(ops::Executor& run, const BackwardStep& step, const Tensor& stream,
                                        std::vector<Further> further, bool accumulate) const;
  [[nodiscard]] const float* cos_sin() const { return cos_sin_.ptr<float>(); }
  [[nodiscard]] std::int64_t* load_of(std::size_t row) const;

  DeepSeekConfig config_;
  std::int64_t max_seq_len_;
  Slab& embedding_slab_;
  std::deque<DeepSeekBlock> blocks_;
  std::deque<PredictionModule> modules_;
  VocabularyLayers ends_;
  Buffer cos_sin_;  // [max_seq_len, rope] f32
  // [layers + depths + 1, E] u64: rows of each expert in a step; the last row is for passes that train nothing
  Buffer load_;
  Buffer other_losses_;  // [1, 2] f64: see OtherLosses
};

}  // namespace octet
