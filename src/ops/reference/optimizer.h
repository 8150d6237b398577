// AdamW and the sums that clipping needs, in double precision.
#pragma once

#include "ops/reference/vectors.h"

namespace octet::ops::reference {

/// What AdamW keeps of each element, and changes: [n] each, unrounded.
struct AdamWState {
  Vector parameter, m, v;
};

/// One step's settings: bias_correction1 = 1 - beta1^step, bias_correction2 = 1 - beta2^step.
struct AdamWStep {
  double learning_rate, clip_factor, bias_correction1, bias_correction2;
  double beta1, beta2, eps, weight_decay;
};

/// Adam with decoupled weight decay (Kingma & Ba, 2015; Loshchilov & Hutter, 2019). `gradient` [n] is clipped first.
[[nodiscard]] AdamWState adamw(const AdamWState& before, View gradient, const AdamWStep& step);

[[nodiscard]] double sum(View x);
[[nodiscard]] double sum_of_squares(View x);

}  // namespace octet::ops::reference
