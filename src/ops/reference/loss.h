// Cross entropy in double precision.
#pragma once

#include "ops/reference/vectors.h"

namespace octet::ops::reference {

struct CrossEntropyLoss {
  Vector loss;     // [rows]: logsumexp(logits) - logits[target]
  Vector dlogits;  // [rows, vocab]: softmax - onehot, the gradient of the sum of `loss`
};

/// logits [rows, vocab]; a row whose target is below 0 has loss 0 and gradient 0.
[[nodiscard]] CrossEntropyLoss cross_entropy(View logits, std::span<const std::int32_t> targets, Index rows,
                                             Index vocab);

}  // namespace octet::ops::reference
