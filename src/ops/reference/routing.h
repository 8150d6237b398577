// The router of a mixture of experts in double precision, and the permutation that sorts tokens by expert.
#pragma once

#include "ops/moe_ops.h"
#include "ops/reference/vectors.h"

namespace octet::ops::reference {

/// Scores [rows, experts] of logits [rows, experts]: 1 / (1 + exp(-x)), or softmax over the experts.
[[nodiscard]] Vector router_scores(View logits, Index rows, const RouterRule& rule);

struct Routing {
  std::vector<std::int32_t> experts;  // [rows, top_k], best first
  Vector weights;                     // [rows, top_k]
  /// [rows]: the least difference that the choice rests on, between two scores or two groups of experts. Whoever knows
  /// these within half of it chooses the same. Equal ones, of which the lower index wins, do not count.
  Vector margins;
};

/// Chooses by scores + bias (DeepSeek-V3, 2024, equations 12-16; groups as in section 2.1.2's node-limited routing) and
/// weights by scores alone. `bias` [experts] may be empty. Rows hold no NaN.
[[nodiscard]] Routing route(View logits, View bias, Index rows, const RouterRule& rule);

struct RouteGradients {
  Vector dlogits;  // [rows, experts]
  double balance_loss;
};

/// Gradients of the weights of these `experts` [rows, top_k] from dweights [rows, top_k], and the sequence-wise balance
/// loss (equations 17-20 there) with its own: see RouteBackward.
[[nodiscard]] RouteGradients route_backward(View logits, std::span<const std::int32_t> experts, View dweights,
                                            Index rows, Index seq_len, const RouterRule& rule, double balance_scale);

/// The bias [experts] after a step in which the experts had this load: see BalanceBias.
[[nodiscard]] Vector balance_bias(View bias, std::span<const std::int64_t> load, double rate);

/// As GroupTokens leaves it.
struct Permutation {
  std::vector<std::int32_t> offsets, padded_offsets;  // [experts + 1]
  std::vector<std::int32_t> choice_of_row;            // [rows * top_k]
  std::vector<std::int32_t> row_of_choice;            // [rows, top_k]
};

[[nodiscard]] Permutation group_tokens(std::span<const std::int32_t> experts, Index expert_count);

/// Each number rounded up to a multiple of kGroupTile, summed: [groups + 1] of offsets [groups + 1].
[[nodiscard]] std::vector<std::int32_t> pad_offsets(std::span<const std::int32_t> offsets);

}  // namespace octet::ops::reference
