// The two ends of a language model, which know its vocabulary: the token embedding before the blocks; the final norm,
// the head and the loss, in chunks, after them.
#pragma once

#include <cstdint>
#include <functional>

#include "model/model.h"

namespace octet {

struct VocabularyConfig {
  std::int64_t vocab = 0;
  std::int64_t dim = 0;
  float norm_eps = 1e-5F;
  bool tied = false;  ///< the head is the embedding table
  double init_std = 0.02;
  std::int64_t losses = 1;  ///< of a micro-batch: as often are table and head used, each time on all its tokens
};

class VocabularyLayers {
 public:
  /// The end of a forward pass that backward starts from. T tokens.
  struct Final {
    Buffer x, rstd, normed;  // [T, D] bf16, [1, T] f32, [T, D] bf16
  };

  /// Adds its parameters to the slabs. `tokens` in a micro-batch.
  VocabularyLayers(const VocabularyConfig& config, std::int64_t tokens, PrecisionPlan& precision,
                   const ModelOptions& options, Slab& embedding, Slab& head);

  void allocate(Memory& memory, const SlabStorage& storage);

  /// out [T, D]: the table's rows for `tokens` [T].
  [[nodiscard]] Buffer embed(ops::Executor& run, const std::int32_t* tokens, std::int64_t count) const;
  /// The final norm of the stream, which takes its last delta on the way.
  [[nodiscard]] Final finish(ops::Executor& run, Residual stream) const;
  [[nodiscard]] const Tensor& gain() const { return gain_; }
  /// Final norm and head on the stream's last row: logits [1, V] of the token that follows.
  void next_token_logits(ops::Executor& run, Residual stream, const Tensor& logits) const;

  /// Head and loss of all rows, and the gradient of `normed` [T, D], which ends. The head's gradient begins and is
  /// written, or added to with `accumulate`.
  [[nodiscard]] Buffer loss_and_gradient(ops::Executor& run, Buffer normed, const std::int32_t* targets,
                                         float gradient_scale, bool accumulate, double* loss_sum) const;
  /// Head and loss alone.
  void loss(ops::Executor& run, const Tensor& normed, const std::int32_t* targets, double* loss_sum) const;
  /// The gradient of the stream from that of the final norm's output, plus `other` [T, D] where something else has read
  /// the stream. `below` is the layer whose output the stream's delta was; null where nobody wants codes of the result.
  [[nodiscard]] ResidualGradient finish_backward(ops::Executor& run, Buffer dnormed, Final end, Buffer other,
                                                 const Linear* below) const;
  /// Before the first embedding_backward() of a step.
  void begin_embedding_gradients(ops::Executor& run) const;
  void embedding_backward(ops::Executor& run, const std::int32_t* tokens, const Tensor& gradient) const;

  [[nodiscard]] Linear& head() { return head_; }
  [[nodiscard]] const Linear& head() const { return head_; }

 private:
  [[nodiscard]] std::int64_t chunk_rows(std::int64_t tokens) const;
  [[nodiscard]] Tensor head_gradient() const;
  [[nodiscard]] std::size_t gain_place() const { return config_.tied ? 0 : 1; }
  void loss_chunk(ops::Executor& run, const Tensor& normed, const std::int32_t* targets, float gradient_scale,
                  bool accumulate, const Tensor* dnormed, double* loss_sum) const;
  void for_each_chunk(std::int64_t tokens,
                      const std::function<void(std::int64_t begin, std::int64_t count)>& body) const;

  VocabularyConfig config_;
  std::int64_t logits_bytes_;
  Slab& embedding_slab_;
  Slab& head_slab_;
  Linear head_;
  ParameterView embedding_;
  Tensor gain_;  // [1, D] bf16
};

}  // namespace octet
