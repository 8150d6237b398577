// Multi-head latent attention's rows in double precision (DeepSeek-AI, "DeepSeek-V2", 2024, section 2.1): what stands
// between its products and attention.
#pragma once

#include "ops/mla_ops.h"
#include "ops/reference/vectors.h"

namespace octet::ops::reference {

/// The neighbours (2i, 2i + 1) of each row of x [rows, dim] turned by the angle whose cosine and sine the row's
/// position t % seq_len finds in cos_sin [S, dim]; `inverse` turns them back.
[[nodiscard]] Vector rotate_pairs(View x, View cos_sin, Index rows, Index dim, Index seq_len, bool inverse);

/// qkv [T, C] of q [T, H (nope + rope)], kv [T, H (nope + value)] and k_rope [T, rope].
[[nodiscard]] Vector mla_assemble(View q, View kv, View k_rope, View cos_sin, const MlaShape& shape);

struct MlaGradients {
  Vector dq, dkv, dk_rope;
};

/// The gradients of the three from dqkv [T, C].
[[nodiscard]] MlaGradients mla_assemble_backward(View dqkv, View cos_sin, const MlaShape& shape);

}  // namespace octet::ops::reference
