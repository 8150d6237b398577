// A model with memory of its own: planned, allocated, given weights, and run one micro-batch at a time.
#pragma once

#include <map>
#include <memory>

#include "model/small_llama.h"
#include "ops/cpu/cpu_backend.h"

namespace octet::test {

inline constexpr auto kOcp = fp8::FormatFamily::ocp;
inline constexpr auto kFnuz = fp8::FormatFamily::fnuz;

/// The elements of a bf16 or f32 tensor.
[[nodiscard]] ops::reference::Vector widened(const Tensor& tensor);

/// Writes weights by the oracle's names into an allocated model. Its FP8 codes are those of the old weights still.
void write_weights(ops::Device& device, const Model& model, const ops::reference::Parameters& weights);

class ModelRun {
 public:
  /// `shape` is that of every micro-batch. `backend` must outlive the run.
  ModelRun(std::unique_ptr<Model> model, const BatchShape& shape, const ops::Backend& backend);
  /// Of a Llama.
  ModelRun(const LlamaConfig& config, const BatchShape& shape, PrecisionOptions precision, const ops::Backend& backend,
           WeightCodes weight_codes = WeightCodes::cached);

  /// Writes weights and makes their codes.
  void set_weights(const ops::reference::Parameters& weights);
  /// Forward and backward of one micro-batch: adds to the sum of losses, writes or adds to the gradients.
  void train(const ops::reference::LlamaBatch& batch, double gradient_scale, bool accumulate);
  /// Forward and loss alone: adds to the sum of losses.
  void validate(const ops::reference::LlamaBatch& batch);

  /// From here on the logits of forward passes are kept: of a pass's first loss, all where it takes one chunk.
  void keep_logits();

  [[nodiscard]] double loss_sum() const { return *loss_sum_.ptr<double>(); }
  /// By the oracle's names.
  [[nodiscard]] ops::reference::Parameters gradients() const;
  /// [tokens, V], of the last forward pass since keep_logits().
  [[nodiscard]] const ops::reference::Vector& logits() const { return logits_; }
  [[nodiscard]] const ops::Executor& executor() const { return *run_; }
  [[nodiscard]] const Model& model() const { return *model_; }
  [[nodiscard]] Model& model() { return *model_; }
  [[nodiscard]] ops::Executor& executor() { return *run_; }

 private:
  void take_persistent(Memory& memory);
  void copy_tokens(const ops::reference::LlamaBatch& batch);
  [[nodiscard]] Batch batch() const;

  BatchShape shape_;
  Memory planning_;  // destroyed after the buffers that it gave out
  std::unique_ptr<Memory> memory_;
  std::unique_ptr<Model> model_;
  Buffer inputs_, targets_, document_start_;  // [1, T] i32; the last empty unless documents are packed
  Buffer loss_sum_;                           // [1] f64
  std::unique_ptr<ops::Executor> run_;
  ops::reference::Vector logits_;
};

/// The step of the oracle's kind: mean loss and its gradients.
struct ModelStep {
  double loss = 0;
  ops::reference::Vector logits;
  ops::reference::Parameters gradients;
  std::uint64_t fp8_codes_used = 0;
};

/// One micro-batch with these weights.
[[nodiscard]] ModelStep model_step(ModelRun& run, const ops::reference::Parameters& weights,
                                   const ops::reference::LlamaBatch& batch);
[[nodiscard]] ModelStep model_step(const LlamaConfig& config, const ops::reference::Parameters& weights,
                                   const ops::reference::LlamaBatch& batch, PrecisionOptions precision,
                                   const ops::Backend& backend, WeightCodes weight_codes = WeightCodes::cached);

}  // namespace octet::test
