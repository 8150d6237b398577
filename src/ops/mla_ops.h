// The ops of multi-head latent attention (DeepSeek-V2, 2024, section 2.1): between its products and attention.
//
// A head of a query or key is a part that is not rotated (nope) and then one that is (rope). The rotated part of the
// key is shared by all heads. Rotation turns the neighbours (2i, 2i + 1), as DeepSeek's published weights have them.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/dtype.h"

namespace octet::ops {

struct MlaShape {
  std::int64_t rows;     // T; row t has position t % seq_len
  std::int64_t seq_len;  // S
  std::int64_t heads;    // H
  std::int64_t nope_dim, rope_dim, value_dim;

  [[nodiscard]] std::int64_t qk_dim() const { return nope_dim + rope_dim; }
  [[nodiscard]] std::int64_t q_cols() const { return heads * qk_dim(); }
  [[nodiscard]] std::int64_t kv_cols() const { return heads * (nope_dim + value_dim); }
  /// C: queries, keys and values of all heads, as attention reads them.
  [[nodiscard]] std::int64_t qkv_cols() const { return heads * (2 * qk_dim() + value_dim); }
  /// Of one pass over both sides.
  [[nodiscard]] double bytes() const {
    return static_cast<double>(rows * (q_cols() + kv_cols() + rope_dim + qkv_cols()) * 2);
  }
};

/// The row that attention reads: rotated queries; keys, each a head's own part and the shared rotated one; values.
struct MlaAssemble {
  static constexpr std::string_view name = "mla_assemble";
  const bf16* q;         // [T, H (nope + rope)] in rows of q_stride
  const bf16* kv;        // [T, H (nope + value)]: of each head its key and its value
  const bf16* k_rope;    // [T, rope] in rows of k_rope_stride
  const float* cos_sin;  // [S, rope]: cosines in the first half of a row, sines in the second
  bf16* qkv;             // [T, C]
  MlaShape shape;
  std::int64_t q_stride, k_rope_stride;

  [[nodiscard]] double flops() const {
    return static_cast<double>(shape.rows * (shape.heads + 1) * shape.rope_dim * 3);
  }
  [[nodiscard]] double bytes() const { return shape.bytes(); }
};

/// The gradients of MlaAssemble's three inputs. That of the shared key is the sum over the heads, in their order, in
/// fp32, rotated back and rounded once.
struct MlaAssembleBackward {
  static constexpr std::string_view name = "mla_assemble_backward";
  const bf16* dqkv;      // [T, C]
  const float* cos_sin;  // [S, rope]
  bf16* dq;              // [T, H (nope + rope)] in rows of q_stride
  bf16* dkv;             // [T, H (nope + value)]
  bf16* dk_rope;         // [T, rope] in rows of k_rope_stride
  MlaShape shape;
  std::int64_t q_stride, k_rope_stride;

  [[nodiscard]] double flops() const { return static_cast<double>(shape.rows * shape.heads * shape.rope_dim * 4); }
  [[nodiscard]] double bytes() const { return shape.bytes(); }
};

}  // namespace octet::ops
