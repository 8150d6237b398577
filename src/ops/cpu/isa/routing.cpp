// The router: scores, the choice of experts, and the gradient of what the choices count.
#include "ops/cpu/isa/exp.h"
#include "ops/cpu/isa/kernels.h"

namespace octet::ops::cpu::OCTET_ISA {
namespace {

constexpr float kTaken = -__builtin_inff();  // below every key
constexpr float kWeightFloor = 1e-20F;       // added to what chosen scores are divided by

/// scores [experts] of logits [experts].
[[gnu::always_inline]] inline void score(const float* logits, const RouterRule& rule, float* scores) {
  const Index count = rule.experts;
  if (rule.score == RouterScore::sigmoid) {
    for (Index i = 0; i < count; i += kLanes) store(scores + i, sigmoid(load(logits + i, count - i)).value, count - i);
    return;
  }
  F32 largest = splat(-__builtin_inff());
  for (Index i = 0; i < count; i += kLanes) {
    largest = max(keep(load(logits + i, count - i), count - i, -__builtin_inff()), largest);
  }
  const float shift = max(largest);
  F32 total{};
  for (Index i = 0; i < count; i += kLanes) {
    const F32 e = exp(load(logits + i, count - i) - shift);
    total = total + keep(e, count - i, 0.0F);
    store(scores + i, e, count - i);
  }
  const F32 divisor = splat(sum(total));
  for (Index i = 0; i < count; i += kLanes) store(scores + i, load(scores + i, count - i) / divisor, count - i);
}

/// The first of the greatest keys, which from here on is none. Some key is not taken.
[[gnu::always_inline]] inline Index take_best(float* keys, Index count) {
  Index best = 0;
  for (Index i = 1; i < count; ++i) best = keys[i] > keys[best] ? i : best;
  keys[best] = kTaken;
  return best;
}

/// The two greatest of keys [count], added; the one where there is one.
[[gnu::always_inline]] inline float sum_of_two_best(const float* keys, Index count) {
  float first = keys[0];
  float second = count > 1 ? kTaken : 0.0F;
  for (Index i = 1; i < count; ++i) {
    const bool leads = keys[i] > first;
    const float other = leads ? first : keys[i];
    second = other > second ? other : second;
    first = leads ? keys[i] : first;
  }
  return first + second;
}

/// Leaves the keys of the best groups; the others' can no longer be taken. `sums` [groups] is scratch.
[[gnu::always_inline]] inline void keep_best_groups(const RouterRule& rule, float* keys, float* sums) {
  const Index size = rule.experts / rule.groups;
  for (Index group = 0; group < rule.groups; ++group) sums[group] = sum_of_two_best(keys + group * size, size);
  for (Index i = 0; i < rule.kept_groups; ++i) take_best(sums, rule.groups);
  for (Index expert = 0; expert < rule.experts; ++expert) {
    if (sums[expert / size] > kTaken) keys[expert] = kTaken;
  }
}

/// keys = scores + bias. Returns whether all are numbers to choose by.
[[gnu::always_inline]] inline bool make_keys(const Route& op, const float* scores, float* keys) {
  const Index count = op.rule.experts;
  Mask bad{};
  for (Index i = 0; i < count; i += kLanes) {
    F32 key = load(scores + i, count - i);
    if (op.bias != nullptr) key = key + load(op.bias + i, count - i);
    bad = bad | ((bits_of(key) & fp8::kFloatInfinity) == std::uint32_t{fp8::kFloatInfinity});
    store(keys + i, key, count - i);
  }
  return !any(bad);
}

/// The weights of what a token chose.
[[gnu::always_inline]] inline void weigh(const RouterRule& rule, const float* scores, const std::int32_t* experts,
                                         float* weights) {
  float total = kWeightFloor;
  for (Index k = 0; k < rule.top_k; ++k) total += scores[experts[k]];
  for (Index k = 0; k < rule.top_k; ++k) {
    const float score = scores[experts[k]];
    weights[k] = (rule.normalised ? score / total : score) * rule.scale;
  }
}

/// dscores += the gradient of the weights of what a token chose.
[[gnu::always_inline]] inline void add_weight_gradients(const RouterRule& rule, const float* scores,
                                                        const std::int32_t* experts, const float* dweights,
                                                        float* dscores) {
  float total = kWeightFloor;
  float weighted = 0;
  for (Index k = 0; k < rule.top_k; ++k) {
    total += scores[experts[k]];
    weighted += dweights[k] * scores[experts[k]];
  }
  const float common = weighted / total;
  for (Index k = 0; k < rule.top_k; ++k) {
    dscores[experts[k]] += (rule.normalised ? (dweights[k] - common) / total : dweights[k]) * rule.scale;
  }
}

/// dscores = the gradient of share * sum of fractions * scores / (sum of scores); returns that.
[[gnu::always_inline]] inline double balance_gradients(const float* fractions, const float* scores, Index count,
                                                       float share, float* dscores) {
  F32 total{};
  F32 product{};
  for (Index i = 0; i < count; i += kLanes) {
    const F32 s = load(scores + i, count - i);
    total = total + s;
    product = product + s * load(fractions + i, count - i);
  }
  const float sum_of_scores = sum(total);
  const float expected = sum(product) / sum_of_scores;
  for (Index i = 0; i < count; i += kLanes) {
    const F32 f = load(fractions + i, count - i);
    store(dscores + i, (f - expected) * (share / sum_of_scores), count - i);
  }
  return static_cast<double>(share) * static_cast<double>(expected);
}

/// dlogits of dscores, both [experts].
[[gnu::always_inline]] inline void logit_gradients(const RouterRule& rule, const float* logits, const float* scores,
                                                   const float* dscores, float* dlogits) {
  const Index count = rule.experts;
  if (rule.score == RouterScore::sigmoid) {
    for (Index i = 0; i < count; i += kLanes) {
      const Sigmoid s = sigmoid(load(logits + i, count - i));
      store(dlogits + i, load(dscores + i, count - i) * (s.value * s.complement), count - i);
    }
    return;
  }
  F32 total{};
  for (Index i = 0; i < count; i += kLanes) {
    total = total + load(scores + i, count - i) * load(dscores + i, count - i);
  }
  const float mean = sum(total);
  for (Index i = 0; i < count; i += kLanes) {
    store(dlogits + i, load(scores + i, count - i) * (load(dscores + i, count - i) - mean), count - i);
  }
}

}  // namespace

void route(const Route& op, Index begin, Index end, float* scratch) {
  const RouterRule& rule = op.rule;
  float* scores = scratch;
  float* keys = scores + rule.experts;
  float* sums = keys + rule.experts;
  for (Index row = begin; row < end; ++row) {
    std::int32_t* experts = op.experts + row * rule.top_k;
    float* weights = op.weights + row * rule.top_k;
    score(op.logits + row * rule.experts, rule, scores);
    if (!make_keys(op, scores, keys)) {  // any will do, and the weights say so
      for (Index k = 0; k < rule.top_k; ++k) {
        experts[k] = static_cast<std::int32_t>(k);
        weights[k] = __builtin_nanf("");
      }
      continue;
    }
    if (rule.kept_groups < rule.groups) keep_best_groups(rule, keys, sums);
    for (Index k = 0; k < rule.top_k; ++k) experts[k] = static_cast<std::int32_t>(take_best(keys, rule.experts));
    weigh(rule, scores, experts, weights);
  }
}

void route_backward(const RouteBackward& op, const float* fractions, Index begin, Index end, float* scratch,
                    double* losses) {
  const RouterRule& rule = op.rule;
  float* scores = scratch;
  float* dscores = scores + rule.experts;
  const float share = op.balance_scale / static_cast<float>(op.seq_len);
  for (Index row = begin; row < end; ++row) {
    const float* logits = op.logits + row * rule.experts;
    score(logits, rule, scores);
    if (fractions == nullptr) {
      __builtin_memset(dscores, 0, static_cast<std::size_t>(rule.experts) * sizeof(float));
    } else {
      const float* of_sequence = fractions + row / op.seq_len * rule.experts;
      losses[row] = balance_gradients(of_sequence, scores, rule.experts, share, dscores);
    }
    add_weight_gradients(rule, scores, op.experts + row * rule.top_k, op.dweights + row * rule.top_k, dscores);
    logit_gradients(rule, logits, scores, dscores, op.dlogits + row * rule.experts);
  }
}

}  // namespace octet::ops::cpu::OCTET_ISA
