// A language model as the training loop knows it, whatever family it is of.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "model/key_value_cache.h"
#include "model/saving.h"
#include "model/stream.h"

namespace octet {

/// How a model computes and what it keeps: everything that changes no shape.
struct ModelOptions {
  PrecisionOptions precision;
  WeightCodes weight_codes = WeightCodes::cached;
  Saving saving = {};
  std::int64_t logits_bytes = std::int64_t{256} << 20;  ///< the most that logits of one chunk of the loss take
};

/// What a step minimises beside the mean loss of the next token, in nats.
struct OtherLosses {
  double balance = 0;  ///< of experts, with its weight
  double prediction =
      0;  ///< of further tokens: the sum of the targets' losses, the mean over depths; without its weight
};

class Model {
 public:
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;
  virtual ~Model() = default;

  /// Takes all persistent memory. Throws UserError where the precision plan has no effect.
  virtual void allocate(Memory& memory, const SlabStorage& storage) = 0;
  /// Fills what is derived from the configuration alone: the rotary table.
  virtual void prepare(ops::Device& device) const = 0;
  /// Measures weights that no optimizer step has just written, for the casts: new or loaded ones.
  virtual void measure_weights(ops::Executor& run) const = 0;
  /// Makes the cached FP8 codes of all weights: once per optimizer step.
  virtual void cast_weights(ops::Executor& run) const = 0;

  /// Forward, loss and backward of one micro-batch: loss_sum[0] += sum of the targets' losses; gradients, of that sum
  /// times `gradient_scale`, are written, or added to with `accumulate`. Where they live for a step, whoever has read
  /// them for the last time ends them, within the same program.
  virtual void train(ops::Executor& run, const Batch& batch, float gradient_scale, bool accumulate,
                     double* loss_sum) = 0;
  /// Forward and loss alone.
  virtual void validate(ops::Executor& run, const Batch& batch, double* loss_sum) const = 0;
  /// A cache in each block for one sequence of at most `capacity` tokens.
  [[nodiscard]] virtual std::vector<KeyValueCache> allocate_caches(Memory& memory, std::int64_t capacity) const = 0;
  /// Reads the `count` tokens [count] of a sequence from `position` on, several at position 0 only: they join the
  /// caches. Logits [1, V] of what follows the last.
  virtual void decode(ops::Executor& run, const std::int32_t* tokens, std::int64_t count, std::int64_t position,
                      std::span<const KeyValueCache> caches, const Tensor& logits) const = 0;
  /// What an optimizer step changes beside what gradients tell it to; before the update.
  virtual void balance(ops::Executor& /*run*/) const {}

  /// From here on the casts of every linear layer are counted.
  virtual void watch_casts(CastCounts* counts) = 0;
  /// Every linear layer, in the order of the precision table: the head is the last.
  [[nodiscard]] virtual std::vector<Linear*> linears() = 0;
  /// Whether the head's weights are the embedding's.
  [[nodiscard]] virtual bool tied_embeddings() const = 0;
  /// The rows that each expert got in this step so far, in each layer that has experts; before balance().
  [[nodiscard]] virtual std::vector<std::vector<std::int64_t>> expert_loads(ops::Device& /*device*/) const {
    return {};
  }

  /// Of the step so far.
  [[nodiscard]] virtual OtherLosses other_losses(ops::Device& /*device*/) const { return {}; }

  [[nodiscard]] virtual std::int64_t vocab() const = 0;
  [[nodiscard]] virtual std::int64_t layers() const = 0;
  /// "32 layers, dim 4096, 32 heads (8 key/value), feed-forward 14336, vocabulary 128256".
  [[nodiscard]] virtual std::string shape_text() const = 0;
  /// Training FLOPs per token, forward and backward, without recompute, as the field counts MFU.
  [[nodiscard]] virtual double flops_per_token(std::int64_t seq_len) const = 0;

  [[nodiscard]] const PrecisionPlan& precision() const { return precision_; }
  [[nodiscard]] const Parameters& parameters() const { return parameters_; }
  [[nodiscard]] Parameters& parameters() { return parameters_; }

 protected:
  explicit Model(PrecisionOptions precision) : precision_(std::move(precision)) {}

  PrecisionPlan precision_;
  Parameters parameters_;
};

}  // namespace octet
