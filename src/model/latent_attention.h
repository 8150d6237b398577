// Multi-head latent attention (DeepSeek-AI, "DeepSeek-V2", 2024, section 2.1): queries, and keys with values, are made
// of low-rank latents; a part of each query head is rotated, and one rotated part of the key serves all heads.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/deepseek_config.h"
#include "model/key_value_cache.h"
#include "model/rms_norm.h"
#include "model/slab_linear.h"

namespace octet {

class LatentAttention {
 public:
  /// What backward reads of a forward pass, or makes again. T tokens; C = H (2 qk + v).
  struct Saved {
    LinearOperand in;         // [T, D]: into wqkv_a
    Buffer down;              // [T, q_down + kv_lora + rope] bf16: of wqkv_a
    Buffer q_rstd, kv_rstd;   // [1, T] f32
    LinearOperand q_latent;   // [T, q_lora]: into wq_b
    LinearOperand kv_latent;  // [T, kv_lora]: into wkv_b
    Buffer qkv;               // [T, C] bf16, as attention reads it
    Buffer out;               // [T, H v] bf16
    LinearOperand wo_in;      // [T, H v]: a view of out, and its maxima
    Buffer lse;               // [B, H * S] f32
  };

  /// Adds its parameters to `slab`. `depth_std`: standard deviation of weights that write into the residual stream.
  LatentAttention(const DeepSeekConfig& config, const std::string& name, double depth_std, std::int64_t tokens,
                  PrecisionPlan& precision, const ModelOptions& options, Slab& slab);

  /// Once the slab has memory.
  void allocate(Memory& memory);
  void measure_weights(ops::Executor& run) const;
  void cast_weights(ops::Executor& run) const;

  /// The layer that reads the input, and what becomes of that.
  [[nodiscard]] const Linear& first() const { return wqkv_a_.layer; }
  [[nodiscard]] InputUse first_use(Pass pass) const { return norm_use(pass); }
  /// The layer that the result comes from.
  [[nodiscard]] const Linear& last() const { return wo_.layer; }

  /// The delta [T, D] that goes to the residual stream, from saved.in.
  [[nodiscard]] Buffer forward(ops::Executor& run, Pass pass, const BatchShape& shape, const float* cos_sin,
                               Saved& saved) const;
  /// The delta of the tokens from `position` on, whose keys and values join the cache, as KeyValueCache::attend() takes
  /// them, from saved.in.
  [[nodiscard]] Buffer decode(ops::Executor& run, std::int64_t position, const float* cos_sin,
                              const KeyValueCache& cache, Saved& saved) const;
  [[nodiscard]] KeyValueCache allocate_cache(Memory& memory, std::int64_t capacity) const;
  /// What forward dropped, in its order, once saved.in has its values again. The delta, where the stream is made again.
  [[nodiscard]] Buffer make_again(ops::Executor& run, const BatchShape& shape, const float* cos_sin,
                                  Saved& saved) const;
  /// The gradient of the input [T, D] from that of the delta.
  [[nodiscard]] Buffer backward(ops::Executor& run, const BatchShape& shape, const float* cos_sin,
                                LinearOperand& ddelta, Saved& saved, bool accumulate) const;

  /// In the order of the precision table.
  [[nodiscard]] std::vector<Linear*> linears();

 private:
  [[nodiscard]] InputUse norm_use(Pass pass) const;
  void project_down(ops::Executor& run, Pass pass, Saved& saved) const;
  void normalize_latents(ops::Executor& run, Pass pass, Saved& saved) const;
  void project_up(ops::Executor& run, Pass pass, const BatchShape& shape, const float* cos_sin, Saved& saved) const;
  void attend(ops::Executor& run, const BatchShape& shape, Saved& saved) const;
  [[nodiscard]] Buffer project_out(ops::Executor& run, Pass pass, Saved& saved) const;
  void up_backward(ops::Executor& run, const SlabLinear& layer, const RmsNorm& norm, LinearOperand& latent,
                   LinearOperand dy, const Saved& saved, std::int64_t column, const Buffer& rstd, const Tensor& ddown,
                   bool accumulate) const;
  [[nodiscard]] Buffer activation(Memory& memory, std::string_view what, std::int64_t tokens, std::int64_t cols) const;
  [[nodiscard]] ops::AttentionShape attention_shape(const BatchShape& shape) const;
  [[nodiscard]] ops::MlaShape row_shape(const BatchShape& shape) const;
  [[nodiscard]] float scale() const;
  [[nodiscard]] bool has_q_latent() const { return wq_b_.has_value(); }

  const DeepSeekConfig& config_;
  std::string name_;
  Saving saving_;
  SlabLinear wqkv_a_;
  std::optional<RmsNorm> q_norm_;
  std::optional<SlabLinear> wq_b_;
  RmsNorm kv_norm_;
  SlabLinear wkv_b_, wo_;
};

}  // namespace octet
