// Token embedding in double precision.
#pragma once

#include "ops/reference/vectors.h"

namespace octet::ops::reference {

/// out[t] = table[token t]; table [V, dim], result [T, dim].
[[nodiscard]] Vector embedding_forward(std::span<const std::int32_t> tokens, View table, Index dim);

/// dtable[v] = sum of dy[t] over the tokens t that are v; dy [T, dim], result [vocab, dim].
[[nodiscard]] Vector embedding_backward(std::span<const std::int32_t> tokens, View dy, Index vocab, Index dim);

}  // namespace octet::ops::reference
