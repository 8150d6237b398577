// Ops of attention whose queries and keys are normed head by head before they are rotated (Qwen Team, "Qwen3 technical
// report", 2025, section 2; Henry et al., "Query-key normalization for transformers", 2020).
// T tokens, H query heads, KV key/value heads, hd head dim, C = (H + 2 KV) hd.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/dtype.h"
#include "ops/operands.h"

namespace octet::ops {

/// Sizes shared by both directions. Row t has position t % seq_len + offset.
struct HeadNormShape {
  std::int64_t rows, seq_len, heads, kv_heads, head_dim;
  std::int64_t offset = 0;

  [[nodiscard]] std::int64_t normed_heads() const { return heads + kv_heads; }
  [[nodiscard]] std::int64_t cols() const { return (heads + 2 * kv_heads) * head_dim; }
};

/// y = the row that attention reads: each query and key head x * rstd * weight, rstd = 1/sqrt(mean(x^2) + eps), then
/// rotated as Rope rotates and only then rounded; value heads as they are.
struct HeadNormRope {
  static constexpr std::string_view name = "head_norm_rope";
  const bf16* x;         // [T, C]
  const bf16* weights;   // [2, hd]: of query heads, of key heads
  const float* cos_sin;  // [S, hd]: cosines in the first half of a row, sines in the second
  bf16* y;               // [T, C]
  HeadNormShape shape;
  float eps;

  [[nodiscard]] double flops() const {
    return static_cast<double>(shape.rows * shape.normed_heads() * shape.head_dim * 7);
  }
  [[nodiscard]] double bytes() const { return static_cast<double>(shape.rows * shape.cols() * 4); }
};

/// The gradient of x, in the place of that of y, and dweights += the sums over tokens and heads. Nothing of the forward
/// is needed but x: a head's rstd is made again. Row codes and column maxima are those of whole rows, value heads
/// among them.
struct HeadNormRopeBackward {
  static constexpr std::string_view name = "head_norm_rope_backward";
  const bf16* x;         // [T, C]
  const bf16* weights;   // [2, hd]
  const float* cos_sin;  // [S, hd]
  bf16* dqkv;            // [T, C]: of y, then of x
  float* dweights;       // [2, hd], accumulated
  RowCodes codes;        // of the new dqkv
  ColumnMaxima columns;  // of the new dqkv
  HeadNormShape shape;
  float eps;

  [[nodiscard]] double flops() const {
    return static_cast<double>(shape.rows * shape.normed_heads() * shape.head_dim * 18);
  }
  [[nodiscard]] double bytes() const {
    const std::int64_t normed = shape.normed_heads() * shape.head_dim;
    const bool whole = codes.wanted || columns.wanted;
    return static_cast<double>(shape.rows * (2 * normed + (whole ? shape.cols() : normed)) * 2) +
           codes.bytes(shape.rows, shape.cols());
  }
};

}  // namespace octet::ops
