// Cross entropy row by row; the largest logit is taken out first, so that no exponential overflows.
#include "ops/reference/loss.h"

#include <algorithm>
#include <cmath>

namespace octet::ops::reference {

CrossEntropyLoss cross_entropy(View logits, std::span<const std::int32_t> targets, Index rows, Index vocab) {
  CrossEntropyLoss result{Vector(rows), Vector(rows * vocab)};
  for (Index r = 0; r < rows; ++r) {
    const std::int32_t target = targets[r];
    if (target < 0) continue;
    const View in = row(logits, r, vocab);
    const double largest = *std::max_element(in.begin(), in.end());
    double sum = 0;
    for (const double logit : in) sum += std::exp(logit - largest);
    const double lse = largest + std::log(sum);
    result.loss[r] = lse - in[target];
    for (Index i = 0; i < vocab; ++i) {
      result.dlogits[r * vocab + i] = std::exp(in[i] - lse) - (i == target ? 1 : 0);
    }
  }
  return result;
}

}  // namespace octet::ops::reference
