// A model that decodes, with memory of its own: planned, allocated, given weights.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "model/decoder.h"
#include "model/small_deepseek.h"

namespace octet::test {

/// A small model and the random weights that it is to have.
struct SmallModel {
  std::unique_ptr<Model> model;
  ops::reference::Parameters weights;
  Biases biases;
};

/// For micro-batches of this shape, and for decoding up to its sequence length.
[[nodiscard]] SmallModel make_small(const LlamaConfig& config, const BatchShape& shape, ModelOptions options);
/// With biases that choose the same experts for every token, by far.
[[nodiscard]] SmallModel make_small(const DeepSeekConfig& config, const BatchShape& shape, ModelOptions options);

class DecoderRun {
 public:
  /// Prompts of `prompt_lengths` tokens can be read in one pass. `backend` must outlive the run.
  DecoderRun(SmallModel small, std::int64_t capacity, const ops::Backend& backend,
             const std::vector<std::int64_t>& prompt_lengths = {});

  /// The logits [V] of what follows the token.
  [[nodiscard]] ops::reference::Vector step(std::int32_t token);
  /// The same of a sequence that begins with these tokens.
  [[nodiscard]] ops::reference::Vector prefill(std::span<const std::int32_t> tokens);

 private:
  void make_plan(const ops::Backend& backend, const std::vector<std::int64_t>& prompt_lengths);

  Memory planning_;  // destroyed after the buffers that it gave out
  std::unique_ptr<Memory> memory_;
  std::unique_ptr<Model> model_;
  Decoder decoder_;
  std::unique_ptr<ops::Executor> run_;
};

}  // namespace octet::test
