// One depth of multi-token prediction (DeepSeek-AI, "DeepSeek-V3 technical report", 2024, section 2.2): from the stream
// that the model, or the depth before it, ended with, and from the embedding of the token that lies one further on, a
// block of its own makes the stream that the token after that one is predicted from.
//
// The paper's projection of [norm of the stream; norm of the embedding] is two products here, whose sum the block's
// first norm takes on its way: proj_stream and proj_token are the halves of its columns.
#pragma once

#include <string>
#include <vector>

#include "model/deepseek_block.h"

namespace octet {

class PredictionModule {
 public:
  /// What backward reads of a forward pass beside the stream. T tokens.
  struct Saved {
    Buffer embedded;                    // [T, D] bf16
    Buffer stream_rstd, token_rstd;     // [1, T] f32
    LinearOperand stream_in, token_in;  // [T, D]: into the projections
    DeepSeekBlock::Saved block;
  };

  struct Gradients {
    Buffer dstream;    // [T, D] bf16
    Buffer dembedded;  // [T, D] bf16
  };

  /// Adds its slabs to `parameters`. `depth` from 0 on.
  PredictionModule(const DeepSeekConfig& config, std::int64_t depth, std::int64_t tokens, PrecisionPlan& precision,
                   const ModelOptions& options, Parameters& parameters);

  void allocate(Memory& memory, const SlabStorage& storage);
  void measure_weights(ops::Executor& run) const;
  void cast_weights(ops::Executor& run) const;
  void balance(ops::Executor& run, std::int64_t* load) const { block_.balance(run, load); }

  /// From `stream` [T, D], which must stay for backward, and the embedding [T, D].
  [[nodiscard]] Residual forward(ops::Executor& run, const BatchShape& shape, const float* cos_sin,
                                 const Tensor& stream, Buffer embedded, std::int64_t* load, Saved& saved) const;
  [[nodiscard]] Gradients backward(ops::Executor& run, const BackwardStep& step, const float* cos_sin,
                                   ResidualGradient out, const Tensor& stream, Saved saved, bool accumulate) const;

  /// In the order of the precision table.
  [[nodiscard]] std::vector<Linear*> linears();
  /// The layer that wants codes of the output's gradient; null where none does.
  [[nodiscard]] const Linear* last() const { return block_.last(); }
  [[nodiscard]] bool is_dense() const { return block_.is_dense(); }

 private:
  [[nodiscard]] Buffer project(ops::Executor& run, const RmsNorm& norm, const SlabLinear& layer, const Tensor& x,
                               Buffer& rstd, LinearOperand& in) const;
  [[nodiscard]] Buffer project_backward(ops::Executor& run, const RmsNorm& norm, const SlabLinear& layer,
                                        const Tensor& dy, const Tensor& x, const Buffer& rstd, LinearOperand& in,
                                        bool accumulate) const;

  std::string name_;
  std::int64_t dim_;
  Slab& slab_;
  RmsNorm stream_norm_, token_norm_;
  SlabLinear proj_stream_, proj_token_;
  DeepSeekBlock block_;
};

}  // namespace octet
