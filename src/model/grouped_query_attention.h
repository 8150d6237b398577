// Grouped-query attention (Ainslie et al., 2023) whose query and key heads are normed, as Qwen3's mixtures of experts
// have it. LlamaBlock has the same for a dense block, where it is one list with the feed-forward network.
#pragma once

#include <string>
#include <vector>

#include "model/attention.h"
#include "model/deepseek_config.h"
#include "model/head_norm.h"
#include "model/slab_linear.h"

namespace octet {

class GroupedQueryAttention final : public Attention {
 public:
  /// Adds its parameters to `slab`. `depth_std`: standard deviation of weights that write into the residual stream.
  GroupedQueryAttention(const DeepSeekConfig& config, const std::string& name, double depth_std, std::int64_t tokens,
                        PrecisionPlan& precision, const ModelOptions& options, Slab& slab);

  void allocate(Memory& memory) override;
  void measure_weights(ops::Executor& run) const override;
  void cast_weights(ops::Executor& run) const override;

  [[nodiscard]] const Linear& first() const override { return wqkv_.layer; }
  [[nodiscard]] InputUse first_use(Pass pass) const override;
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

  [[nodiscard]] std::vector<Linear*> linears() override { return {&wqkv_.layer, &wo_.layer}; }

 private:
  void project(ops::Executor& run, Pass pass, Saved& saved) const;
  void norm_heads(ops::Executor& run, std::int64_t seq_len, std::int64_t offset, const float* cos_sin,
                  Saved& saved) const;
  void attend(ops::Executor& run, const BatchShape& shape, Saved& saved) const;
  [[nodiscard]] Buffer project_out(ops::Executor& run, Pass pass, Saved& saved) const;
  [[nodiscard]] Buffer activation(Memory& memory, std::string_view what, std::int64_t tokens, std::int64_t cols) const;
  [[nodiscard]] ops::AttentionShape attention_shape(const BatchShape& shape) const;
  [[nodiscard]] float scale() const;

  const DeepSeekConfig& config_;
  std::string name_;
  Saving saving_;
  SlabLinear wqkv_;
  HeadNorm qk_norm_;
  SlabLinear wo_;
};

}  // namespace octet
