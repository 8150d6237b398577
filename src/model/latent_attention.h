// Multi-head latent attention (DeepSeek-AI, "DeepSeek-V2", 2024, section 2.1): queries, and keys with values, are made
// of low-rank latents; a part of each query head is rotated, and one rotated part of the key serves all heads.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/attention.h"
#include "model/deepseek_config.h"
#include "model/key_value_cache.h"
#include "model/rms_norm.h"
#include "model/slab_linear.h"

namespace octet {

class LatentAttention final : public Attention {
 public:
  /// Adds its parameters to `slab`. `depth_std`: standard deviation of weights that write into the residual stream.
  LatentAttention(const DeepSeekConfig& config, const std::string& name, double depth_std, std::int64_t tokens,
                  PrecisionPlan& precision, const ModelOptions& options, Slab& slab);

  void allocate(Memory& memory) override;
  void measure_weights(ops::Executor& run) const override;
  void cast_weights(ops::Executor& run) const override;

  [[nodiscard]] const Linear& first() const override { return wqkv_a_.layer; }
  [[nodiscard]] InputUse first_use(Pass pass) const override { return norm_use(pass); }
  [[nodiscard]] const Linear& last() const override { return wo_.layer; }

  [[nodiscard]] Buffer forward(ops::Executor& run, Pass pass, const BatchShape& shape, const float* cos_sin,
                               Saved& saved) const override;
  [[nodiscard]] Buffer decode(ops::Executor& run, std::int64_t position, const float* cos_sin,
                              const KeyValueCache& cache, Saved& saved) const override;
  [[nodiscard]] KeyValueCache allocate_cache(Memory& memory, std::int64_t capacity) const override;
  [[nodiscard]] Buffer make_again(ops::Executor& run, const BatchShape& shape, const float* cos_sin,
                                  Saved& saved) const override;
  [[nodiscard]] Buffer backward(ops::Executor& run, const BatchShape& shape, const float* cos_sin,
                                LinearOperand& ddelta, Saved& saved, bool accumulate) const override;

  [[nodiscard]] std::vector<Linear*> linears() override;

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
