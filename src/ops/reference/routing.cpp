// Routing as its equations read: all scores are sorted, where a kernel would look for the few that it needs.
#include "ops/reference/routing.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace octet::ops::reference {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kWeightFloor = 1e-20;  // added to what chosen scores are divided by

/// The `count` greatest keys, greatest first, of equal ones the lower index.
struct Choice {
  std::vector<Index> indices;
  double margin = kInfinity;  // the least difference between neighbours in that order, the first left out among them
};

Choice choose(const Vector& keys, Index count) {
  std::vector<Index> order(keys.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) { return keys[a] > keys[b]; });
  Choice choice;
  choice.indices.assign(order.begin(), order.begin() + count);
  for (Index i = 0; i < count && i + 1 < std::ssize(order); ++i) {
    const double difference = keys[order[i]] - keys[order[i + 1]];
    if (difference > 0) choice.margin = std::min(choice.margin, difference);
  }
  return choice;
}

/// Leaves the keys of the groups whose two best sum highest; the others can no longer be chosen. Returns the margin.
double limit_to_groups(Vector& keys, const RouterRule& rule) {
  const Index size = rule.experts / rule.groups;
  Vector sums;
  for (Index group = 0; group < rule.groups; ++group) {
    Vector of_group(keys.begin() + group * size, keys.begin() + (group + 1) * size);
    std::sort(of_group.rbegin(), of_group.rend());
    sums.push_back(of_group[0] + (size > 1 ? of_group[1] : 0));
  }
  const Choice kept = choose(sums, rule.kept_groups);
  for (Index expert = 0; expert < rule.experts; ++expert) {
    if (std::ranges::count(kept.indices, expert / size) == 0) keys[expert] = -kInfinity;
  }
  return kept.margin;
}

/// d of a loss with respect to the scores of one token, through the weights of its choices: w = scale * s / sum of the
/// chosen s, or scale * s.
Vector score_gradients(View scores, std::span<const std::int32_t> experts, View dweights, const RouterRule& rule) {
  const auto scale = static_cast<double>(rule.scale);
  double sum = kWeightFloor;
  double weighted = 0;
  for (Index k = 0; k < rule.top_k; ++k) {
    sum += scores[experts[k]];
    weighted += dweights[k] * scores[experts[k]];
  }
  Vector dscores(scores.size());
  for (Index k = 0; k < rule.top_k; ++k) {
    const double direct = rule.normalised ? dweights[k] / sum - weighted / (sum * sum) : dweights[k];
    dscores[experts[k]] += scale * direct;
  }
  return dscores;
}

/// d of the same loss with respect to the token's logits.
Vector logit_gradients(View scores, View dscores, RouterScore score) {
  Vector dlogits(scores.size());
  const double mean = dot(scores, dscores);
  for (Index e = 0; e < std::ssize(scores); ++e) {
    dlogits[e] =
        score == RouterScore::sigmoid ? dscores[e] * scores[e] * (1 - scores[e]) : scores[e] * (dscores[e] - mean);
  }
  return dlogits;
}

}  // namespace

Vector router_scores(View logits, Index rows, const RouterRule& rule) {
  Vector scores(logits.size());
  for (Index t = 0; t < rows; ++t) {
    const View of_token = row(logits, t, rule.experts);
    const double largest = *std::ranges::max_element(of_token);
    double sum = 0;
    for (const double x : of_token) sum += std::exp(x - largest);
    for (Index e = 0; e < rule.experts; ++e) {
      scores[t * rule.experts + e] =
          rule.score == RouterScore::sigmoid ? 1 / (1 + std::exp(-of_token[e])) : std::exp(of_token[e] - largest) / sum;
    }
  }
  return scores;
}

Routing route(View logits, View bias, Index rows, const RouterRule& rule) {
  const Vector scores = router_scores(logits, rows, rule);
  Routing routing;
  for (Index t = 0; t < rows; ++t) {
    const View of_token = row(scores, t, rule.experts);
    Vector keys(of_token.begin(), of_token.end());
    if (!bias.empty()) add_scaled(keys, 1, bias);
    const double group_margin = limit_to_groups(keys, rule);
    const Choice choice = choose(keys, rule.top_k);
    routing.margins.push_back(std::min(group_margin, choice.margin));
    double sum = kWeightFloor;
    for (const Index expert : choice.indices) sum += of_token[expert];
    for (const Index expert : choice.indices) {
      routing.experts.push_back(static_cast<std::int32_t>(expert));
      routing.weights.push_back(static_cast<double>(rule.scale) * of_token[expert] / (rule.normalised ? sum : 1));
    }
  }
  return routing;
}

RouteGradients route_backward(View logits, std::span<const std::int32_t> experts, View dweights, Index rows,
                              Index seq_len, const RouterRule& rule, double balance_scale) {
  const Vector scores = router_scores(logits, rows, rule);
  RouteGradients gradients{Vector(logits.size()), 0};
  for (Index first = 0; first < rows; first += seq_len) {
    Vector fractions(rule.experts);  // f
    for (const std::int32_t expert : experts.subspan(first * rule.top_k, seq_len * rule.top_k)) {
      fractions[expert] += static_cast<double>(rule.experts) / static_cast<double>(rule.top_k * seq_len);
    }
    for (Index t = first; t < first + seq_len; ++t) {
      const View of_token = row(scores, t, rule.experts);
      Vector dscores =
          score_gradients(of_token, experts.subspan(t * rule.top_k, rule.top_k), row(dweights, t, rule.top_k), rule);
      double sum = 0;
      for (const double score : of_token) sum += score;
      const double share = balance_scale / static_cast<double>(seq_len);
      const double expected = dot(fractions, of_token) / sum;
      gradients.balance_loss += share * expected;
      for (Index e = 0; e < rule.experts; ++e) dscores[e] += share * (fractions[e] - expected) / sum;
      const Vector dlogits = logit_gradients(of_token, dscores, rule.score);
      std::copy(dlogits.begin(), dlogits.end(), gradients.dlogits.begin() + t * rule.experts);
    }
  }
  return gradients;
}

Vector balance_bias(View bias, std::span<const std::int64_t> load, double rate) {
  const std::int64_t total = std::accumulate(load.begin(), load.end(), std::int64_t{0});
  const auto experts = std::ssize(load);
  Vector updates;
  for (const std::int64_t rows : load) {  // compared in whole numbers: a mean need not be one
    updates.push_back(rate * static_cast<double>((total > experts * rows) - (total < experts * rows)));
  }
  const double mean = std::accumulate(updates.begin(), updates.end(), 0.0) / static_cast<double>(experts);
  Vector updated(bias.begin(), bias.end());
  for (Index e = 0; e < experts; ++e) updated[e] += updates[e] - mean;
  return updated;
}

Permutation group_tokens(std::span<const std::int32_t> experts, Index expert_count) {
  Permutation permutation;
  permutation.row_of_choice.resize(experts.size());
  for (Index e = 0; e < expert_count; ++e) {
    permutation.offsets.push_back(static_cast<std::int32_t>(permutation.choice_of_row.size()));
    for (Index choice = 0; choice < std::ssize(experts); ++choice) {
      if (experts[choice] != e) continue;
      permutation.row_of_choice[choice] = static_cast<std::int32_t>(permutation.choice_of_row.size());
      permutation.choice_of_row.push_back(static_cast<std::int32_t>(choice));
    }
  }
  permutation.offsets.push_back(static_cast<std::int32_t>(permutation.choice_of_row.size()));
  permutation.padded_offsets = pad_offsets(permutation.offsets);
  return permutation;
}

std::vector<std::int32_t> pad_offsets(std::span<const std::int32_t> offsets) {
  std::vector<std::int32_t> padded{0};
  for (Index e = 0; e + 1 < std::ssize(offsets); ++e) {
    const Index tiles = (offsets[e + 1] - offsets[e] + kGroupTile - 1) / kGroupTile;
    padded.push_back(static_cast<std::int32_t>(padded.back() + tiles * kGroupTile));
  }
  return padded;
}

}  // namespace octet::ops::reference
