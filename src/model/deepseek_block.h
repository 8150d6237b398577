// One transformer block of DeepSeek-V3 or of Qwen3 with a mixture of experts: attention, latent or on grouped queries,
// then a feed-forward network or a mixture of experts.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/attention.h"
#include "model/mixture_of_experts.h"
#include "model/rms_norm.h"

namespace octet {

class DeepSeekBlock {
 public:
  /// What backward reads of a forward pass, or makes again. T tokens.
  struct Saved {
    Buffer x;               // [T, D] bf16: stream into the attention norm
    Buffer attention_rstd;  // [1, T] f32
    Attention::Saved attention;
    Buffer x_mid;     // [T, D] bf16: stream into the feed-forward norm
    Buffer ffn_rstd;  // [1, T] f32
    FeedForward::Saved ffn;
    MixtureOfExperts::Saved moe;
  };

  /// Adds a slab to `parameters`, and one more for its experts. `index` from 0 on says how deep the block lies, and
  /// `name` how it is called.
  DeepSeekBlock(const DeepSeekConfig& config, const std::string& name, std::int64_t index, bool dense,
                std::int64_t tokens, PrecisionPlan& precision, const ModelOptions& options, Parameters& parameters);

  /// Takes persistent memory: the slabs' and that of cached weight codes.
  void allocate(Memory& memory, const SlabStorage& storage);
  void measure_weights(ops::Executor& run) const;
  void cast_weights(ops::Executor& run) const;
  void balance(ops::Executor& run, std::int64_t* load) const;

  /// `saved` keeps what backward needs; a null one lets every piece go as soon as it was read. `load` [E]: rows of each
  /// expert, added to; unread in a dense block.
  [[nodiscard]] Residual forward(ops::Executor& run, const BatchShape& shape, const float* cos_sin, Residual in,
                                 std::int64_t* load, Saved* saved) const;
  /// The tokens from `position` on, whose keys and values join the cache. `in` and the result are [T, D].
  [[nodiscard]] Residual decode(ops::Executor& run, std::int64_t position, const float* cos_sin, Residual in,
                                std::int64_t* load, const KeyValueCache& cache) const;
  [[nodiscard]] KeyValueCache allocate_cache(Memory& memory, std::int64_t capacity) const {
    return attention_->allocate_cache(memory, capacity);
  }
  /// Consumes `saved` and the gradient of this block's output stream; `below` is the layer whose output the stream's
  /// delta was: it may want codes and maxima of the result. Null where nobody does.
  [[nodiscard]] ResidualGradient backward(ops::Executor& run, const BackwardStep& step, const float* cos_sin,
                                          ResidualGradient out, Saved saved, const Linear* below,
                                          bool accumulate) const;

  /// In the order of the precision table.
  [[nodiscard]] std::vector<Linear*> linears();
  /// The layer that wants codes of the output's gradient; null where none does.
  [[nodiscard]] const Linear* last() const { return ffn_ ? &ffn_->last() : moe_->last(); }
  [[nodiscard]] bool is_dense() const { return ffn_.has_value(); }

 private:
  void attention_norm(ops::Executor& run, Pass pass, Residual in, Saved& saved) const;
  void ffn_norm(ops::Executor& run, Pass pass, Buffer attention_delta, Saved& saved) const;
  void make_again(ops::Executor& run, const BatchShape& shape, const float* cos_sin, Saved& saved) const;
  [[nodiscard]] Buffer activation(Memory& memory, std::string_view what, std::int64_t tokens) const;

  const DeepSeekConfig& config_;
  std::string name_;
  Saving saving_;
  Slab& slab_;
  Slab* expert_slab_;  // null in a dense block
  RmsNorm attention_norm_;
  std::unique_ptr<Attention> attention_;
  RmsNorm ffn_norm_;
  std::optional<FeedForward> ffn_;
  std::optional<MixtureOfExperts> moe_;
};

}  // namespace octet
