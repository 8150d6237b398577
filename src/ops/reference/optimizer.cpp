// AdamW element by element, in the notation of the papers.
#include "ops/reference/optimizer.h"

#include <cmath>

namespace octet::ops::reference {

AdamWState adamw(const AdamWState& before, View gradient, const AdamWStep& step) {
  AdamWState after = before;
  for (Index i = 0; i < std::ssize(gradient); ++i) {
    const double g = gradient[i] * step.clip_factor;
    after.m[i] = step.beta1 * before.m[i] + (1 - step.beta1) * g;
    after.v[i] = step.beta2 * before.v[i] + (1 - step.beta2) * g * g;
    const double m_hat = after.m[i] / step.bias_correction1;
    const double v_hat = after.v[i] / step.bias_correction2;
    const double update = m_hat / (std::sqrt(v_hat) + step.eps);
    after.parameter[i] = before.parameter[i] - step.learning_rate * (update + step.weight_decay * before.parameter[i]);
  }
  return after;
}

double sum(View x) {
  double total = 0;
  for (const double value : x) total += value;
  return total;
}

double sum_of_squares(View x) {
  return dot(x, x);
}

}  // namespace octet::ops::reference
