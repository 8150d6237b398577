// One transformer block of Llama 3 or of dense Qwen3, forward and backward as flat lists of ops.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>

#include "model/head_norm.h"
#include "model/key_value_cache.h"
#include "model/llama_config.h"
#include "model/saving.h"
#include "model/stream.h"

namespace octet {

class LlamaBlock {
 public:
  /// What backward reads of a forward pass, or makes again. T tokens; C = (H + 2 KV) hd; Q = H hd.
  struct Saved {
    Buffer x;                    // [T, D] bf16: stream into the attention norm
    Buffer attention_rstd;       // [1, T] f32
    LinearOperand attention_in;  // [T, D]: into wqkv; of the inputs, maxima alone where backward makes their codes
    Buffer projected;            // [T, C] bf16: of wqkv, until it is rotated, or for good where heads are normed
    Buffer qkv;                  // [T, C] bf16, rotated, as attention reads it; of normed heads, made again
    Buffer attention_out;        // [T, Q] bf16
    LinearOperand wo_in;         // [T, Q]: a view of attention_out, and its maxima
    Buffer lse;                  // [B, H * S] f32
    Buffer x_mid;                // [T, D] bf16: stream into the feed-forward norm
    Buffer ffn_rstd;             // [1, T] f32
    LinearOperand ffn_in;        // [T, D]: into w13
    Buffer gate_up;              // [T, 2F] bf16
    LinearOperand activated;     // [T, F]: into w2
  };

  /// Adds its parameters to `slab`, which is this block's own.
  LlamaBlock(const LlamaConfig& config, std::int64_t index, std::int64_t tokens, PrecisionPlan& precision,
             WeightCodes weight_codes, const Saving& saving, Slab& slab);

  /// Takes persistent memory: the slab's and that of cached weight codes.
  void allocate(Memory& memory, const SlabStorage& storage);
  void measure_weights(ops::Executor& run) const;
  void cast_weights(ops::Executor& run) const;

  /// `saved` keeps what backward needs; a null one lets every piece go as soon as it was read.
  [[nodiscard]] Residual forward(ops::Executor& run, const BatchShape& shape, const float* cos_sin, Residual in,
                                 Saved* saved) const;
  /// Consumes `saved` and the gradient of this block's output stream; `below` is the layer whose output the stream's
  /// delta was: it may want codes and maxima of the result. Null for the first block.
  [[nodiscard]] ResidualGradient backward(ops::Executor& run, const BatchShape& shape, const float* cos_sin,
                                          ResidualGradient out, Saved saved, const Linear* below,
                                          bool accumulate) const;

  /// The tokens from `position` on, whose keys and values join the cache, as KeyValueCache::attend() takes them. `in`
  /// and the result are [T, D].
  [[nodiscard]] Residual decode(ops::Executor& run, std::int64_t position, const float* cos_sin, Residual in,
                                const KeyValueCache& cache) const;
  [[nodiscard]] KeyValueCache allocate_cache(Memory& memory, std::int64_t capacity) const;

  void watch_casts(CastCounts* counts);

  /// In the order of the precision table.
  [[nodiscard]] std::array<Linear*, 4> linears() { return {&wqkv_, &wo_, &w13_, &w2_}; }
  [[nodiscard]] const Linear& w2() const { return w2_; }
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  [[nodiscard]] bool casts_later(const ops::Executor& run, const Linear& reader, bool product_again) const;
  [[nodiscard]] InputUse norm_use(const ops::Executor& run, Pass pass, const Linear& reader, bool product_again) const;
  void normalize(ops::Executor& run, Pass pass, const Tensor& gain, const Residual& in, Buffer* sum, Buffer& rstd,
                 const Linear& reader, bool product_again, LinearOperand& out) const;
  void cast_normalized(ops::Executor& run, const Tensor& x, const Tensor& gain, const Buffer& rstd,
                       const Linear& reader, LinearOperand& out) const;
  void attention_norm(ops::Executor& run, Pass pass, Residual in, Saved& saved) const;
  void project_qkv(ops::Executor& run, Pass pass, Saved& saved) const;
  [[nodiscard]] ops::Rope rope(const Tensor& qkv, std::int64_t seq_len, std::int64_t offset,
                               const float* cos_sin) const;
  void rotate(ops::Executor& run, std::int64_t seq_len, std::int64_t offset, const float* cos_sin, Saved& saved) const;
  void attend(ops::Executor& run, const BatchShape& shape, Saved& saved) const;
  [[nodiscard]] Buffer project_out(ops::Executor& run, Pass pass, Saved& saved) const;
  void ffn_norm(ops::Executor& run, Pass pass, Buffer attention_delta, Saved& saved) const;
  void project_gate_up(ops::Executor& run, Pass pass, Saved& saved) const;
  [[nodiscard]] bool casts_activated_later(const ops::Executor& run) const;
  [[nodiscard]] InputUse activated_use(const ops::Executor& run, Pass pass) const;
  void activate(ops::Executor& run, Pass pass, Saved& saved) const;
  [[nodiscard]] Buffer project_down(ops::Executor& run, Pass pass, Saved& saved) const;
  void make_again(ops::Executor& run, const BatchShape& shape, const float* cos_sin, Saved& saved) const;

  [[nodiscard]] LinearOperand swiglu_backward(ops::Executor& run, const Tensor& dactivated, Saved& saved) const;
  [[nodiscard]] ResidualGradient feed_forward_backward(ops::Executor& run, ResidualGradient out, Saved& saved,
                                                       bool accumulate) const;
  [[nodiscard]] LinearOperand attention_backward(ops::Executor& run, const BatchShape& shape, const float* cos_sin,
                                                 const Tensor& dattention, Saved& saved) const;
  [[nodiscard]] Buffer activation(Memory& memory, std::string_view what, std::int64_t tokens, std::int64_t cols) const;
  [[nodiscard]] ops::AttentionShape attention_shape(const BatchShape& shape) const;
  [[nodiscard]] float attention_scale() const;

  const LlamaConfig& config_;
  std::string name_;
  Saving saving_;
  Slab& slab_;
  Linear wqkv_, wo_, w13_, w2_;
  std::optional<HeadNorm> qk_norm_;
  Tensor attention_gain_, ffn_gain_;  // [1, D] bf16
};

}  // namespace octet
