// Cross entropy over rows of bf16 logits: loss and, in place, gradient.
#include "ops/cpu/isa/exp.h"
#include "ops/cpu/isa/kernels.h"

namespace octet::ops::cpu::OCTET_ISA {
namespace {

/// log of the sum of e^x over a row; NaN if the row holds NaN or +inf.
[[gnu::always_inline]] inline float log_sum_exp(const bf16* x, Index count) {
  constexpr float kLeastLogit = -__builtin_inff();
  F32 largest = splat(kLeastLogit);
  for (Index i = 0; i < count; i += kLanes) {
    largest = max(keep(load(x + i, count - i), count - i, kLeastLogit), largest);
  }
  const float shift = max(largest);
  F32 total{};
  for (Index i = 0; i < count; i += kLanes) {
    total = total + keep(exp(load(x + i, count - i) - shift), count - i, 0.0F);
  }
  return shift + static_cast<float>(__builtin_log(static_cast<double>(sum(total))));
}

}  // namespace

void cross_entropy(const CrossEntropy& op, Index begin, Index end) {
  for (Index row = begin; row < end; ++row) {
    bf16* logits = op.logits + row * op.vocab;
    const std::int32_t target = op.targets[row];
    if (target < 0) {
      op.loss[row] = 0.0F;
      if (op.gradient) __builtin_memset(logits, 0, static_cast<std::size_t>(op.vocab) * sizeof(bf16));
      continue;
    }
    const float lse = log_sum_exp(logits, op.vocab);
    const F32 target_logit = load(logits + target, 1);
    op.loss[row] = lse - first(target_logit);
    if (!op.gradient) continue;
    for (Index i = 0; i < op.vocab; i += kLanes) {
      const Index count = op.vocab - i;
      store(logits + i, exp(load(logits + i, count) - lse) * op.gradient_scale, count);
    }
    store(logits + target, (exp(target_logit - lse) - 1.0F) * op.gradient_scale, 1);
  }
}

}  // namespace octet::ops::cpu::OCTET_ISA
