// Norms of query and key heads (Qwen Team, "Qwen3 technical report", 2025, section 2) and their rotation, between the
// product that makes queries, keys and values and attention. Backward needs nothing but what that product has made:
// what attention reads is made again of it rather than kept, in one pass over a row, so that either waits once.
#pragma once

#include <string>

#include "model/saving.h"

namespace octet {

class HeadNorm {
 public:
  /// Sizes of a row [C], C = (H + 2 KV) hd: query heads, key heads, value heads.
  struct Heads {
    std::int64_t heads, kv_heads, head_dim;
  };

  /// Adds its gains [2, hd], called NAME.q_norm.weight and NAME.k_norm.weight, to `slab`.
  HeadNorm(std::string name, Heads heads, float eps, Slab& slab);

  /// What attention reads [T, C] of `projected` [T, C]. Row t has position t % seq_len + offset.
  [[nodiscard]] Buffer forward(ops::Executor& run, const Tensor& projected, std::int64_t seq_len, std::int64_t offset,
                               const float* cos_sin) const;
  /// dqkv, the gradient of what attention has read, becomes that of `projected`, with what `maker`, whose output that
  /// is, wants beside it; adds to that of the gains. Sequences start at position 0.
  void backward(ops::Executor& run, const Tensor& projected, std::int64_t seq_len, const float* cos_sin,
                const Linear& maker, LinearOperand& dqkv) const;

 private:
  [[nodiscard]] ops::HeadNormShape shape(std::int64_t rows, std::int64_t seq_len, std::int64_t offset) const;

  std::string name_;
  Heads heads_;
  float eps_;
  Slab& slab_;
  std::size_t place_;
};

}  // namespace octet
