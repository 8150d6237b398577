// Llama 3: embedding, blocks, final norm, head with chunked loss. Owns parameters and the order of everything.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <vector>

#include "model/llama_block.h"

namespace octet {

/// Tokens and targets of one micro-batch, [T] each, in device memory.
struct Batch {
  BatchShape shape;
  const std::int32_t* inputs = nullptr;
  const std::int32_t* targets = nullptr;
};

/// How a model computes and what it keeps: everything that changes no shape.
struct LlamaOptions {
  PrecisionOptions precision;
  WeightCodes weight_codes = WeightCodes::cached;
  Saving saving = {};
  std::int64_t logits_bytes = std::int64_t{256} << 20;  ///< the most that logits of one chunk of the loss take
};

class Llama {
 public:
  /// `tokens` per micro-batch is what the precision table calls M.
  Llama(const LlamaConfig& config, std::int64_t tokens, std::int64_t max_seq_len, const LlamaOptions& options);

  /// Takes all persistent memory. Throws UserError where the precision plan has no effect.
  void allocate(Memory& memory, const SlabStorage& storage);
  /// Fills what is derived from the configuration alone: the rotary table.
  void prepare(ops::Device& device) const;
  /// Measures weights that no optimizer step has just written, for the casts: new or loaded ones.
  void measure_weights(ops::Executor& run) const;
  /// Makes the cached FP8 codes of all weights: once per optimizer step.
  void cast_weights(ops::Executor& run) const;

  /// Forward, loss and backward of one micro-batch: loss_sum[0] += sum of the targets' losses; gradients, of that sum
  /// times `gradient_scale`, are written, or added to with `accumulate`. Where they live for a step, whoever has read
  /// them for the last time ends them, within the same program.
  void train(ops::Executor& run, const Batch& batch, float gradient_scale, bool accumulate, double* loss_sum);
  /// Forward and loss alone.
  void validate(ops::Executor& run, const Batch& batch, double* loss_sum) const;
  /// One token [1] at `position` of a sequence; logits [1, V] of the next. One cache per block.
  void decode(ops::Executor& run, const std::int32_t* token, std::int64_t position,
              std::span<const KeyValueCache> caches, const Tensor& logits) const;

  /// From here on the casts of every layer are counted.
  void watch_casts(CastCounts* counts);
  /// Every linear layer, in the order of the precision table: the head is the last.
  [[nodiscard]] std::vector<Linear*> linears();

  [[nodiscard]] const LlamaConfig& config() const { return config_; }
  [[nodiscard]] const PrecisionPlan& precision() const { return precision_; }
  [[nodiscard]] const Parameters& parameters() const { return parameters_; }
  [[nodiscard]] Parameters& parameters() { return parameters_; }
  [[nodiscard]] const std::deque<LlamaBlock>& blocks() const { return blocks_; }
  [[nodiscard]] const float* cos_sin() const { return cos_sin_.ptr<float>(); }

 private:
  /// The end of the forward pass that backward starts from.
  struct Final {
    Buffer x, rstd, normed;  // [T, D] bf16, [1, T] f32, [T, D] bf16
  };

  [[nodiscard]] std::int64_t chunk_rows(std::int64_t tokens) const;
  [[nodiscard]] Residual embed(ops::Executor& run, const Batch& batch) const;
  [[nodiscard]] Final finish(ops::Executor& run, Residual stream, std::int64_t tokens) const;
  [[nodiscard]] Tensor head_gradient() const;
  [[nodiscard]] std::size_t gain_place() const { return config_.tied_embeddings ? 0 : 1; }
  void loss_chunk(ops::Executor& run, const Tensor& normed, const Batch& batch, std::int64_t begin,
                  float gradient_scale, bool accumulate, const Tensor* dnormed, double* loss_sum) const;
  void for_each_chunk(std::int64_t tokens,
                      const std::function<void(std::int64_t begin, std::int64_t count)>& body) const;

  LlamaConfig config_;
  PrecisionPlan precision_;
  Parameters parameters_;
  std::int64_t max_seq_len_;
  std::int64_t logits_bytes_;
  Slab& embedding_slab_;
  std::deque<LlamaBlock> blocks_;
  Slab& head_slab_;
  Linear head_;
  ParameterView embedding_;
  Tensor final_gain_;  // [1, D] bf16
  Buffer cos_sin_;     // [max_seq_len, hd] f32
};

}  // namespace octet
