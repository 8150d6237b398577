// The router against the oracle; the permutation number by number.
#include "ops/selftest/checks/moe_routing_checks.h"

#include <limits>
#include <set>

#include "ops/reference/routing.h"

namespace octet::ops::selftest {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::string_view describe_content(RouterContent content) {
  constexpr std::array<std::string_view, 4> kNames{"", ", ties", ", extreme logits", ", NaN"};
  return kNames[static_cast<std::size_t>(content)];
}

std::string describe_rule(const RouterRule& rule) {
  return fmt::format("{} of {} experts, {} of {} groups, {}{}, scale {}", rule.top_k, rule.experts, rule.kept_groups,
                     rule.groups, rule.score == RouterScore::sigmoid ? "sigmoid" : "softmax",
                     rule.normalised ? " normalised" : "", rule.scale);
}

bool has_nan_logits(RouterContent content, Index token) {
  return content == RouterContent::with_nan && token % 3 != 2;
}

/// The logits of a token in draw `attempt`.
std::vector<float> draw_logits(RouterContent content, const RouterRule& rule, Index token, int attempt) {
  const std::string name = fmt::format("logits {} {}", token, attempt);
  auto logits = random_f32(name, rule.experts, 2);
  if (content == RouterContent::tied) {
    const auto whole = random_tokens(name, rule.experts, 3);
    logits.assign(whole.begin(), whole.end());
  }
  if (content == RouterContent::extreme) {
    if (rule.score == RouterScore::softmax) {
      for (float& x : logits) x += 100;
    } else {
      logits[token % rule.experts] = token % 2 == 0 ? 120.0F : kInf;
    }
    logits[(token + 1) % rule.experts] = -120;
    logits[(token + 3) % rule.experts] = -kInf;
  }
  return logits;
}

/// Logits of which fp32 makes the same choice as the oracle: a token that is too close to another choice is drawn
/// again.
std::vector<float> make_logits(RouterContent content, const RouterRule& rule, const std::vector<float>& bias,
                               Index rows) {
  constexpr double kLeastMargin = 1e-5;
  std::vector<float> logits;
  for (Index t = 0; t < rows; ++t) {
    std::vector<float> of_token;
    double margin = 0;
    for (int attempt = 0; margin < kLeastMargin; ++attempt) {
      check(attempt < 1000, "some draw of logits leaves no doubt about the choice");
      of_token = draw_logits(content, rule, t, attempt);
      margin = reference::route(reference::widen(of_token), reference::widen(bias), 1, rule).margins[0];
    }
    logits.insert(logits.end(), of_token.begin(), of_token.end());
  }
  return logits;
}

/// Valid experts, each once, and weights that say that something is wrong.
void expect_valid_route(Trial& trial, std::span<const std::int32_t> experts, std::span<const float> weights,
                        Index expert_count) {
  const std::set<std::int32_t> different(experts.begin(), experts.end());
  if (std::ssize(different) != std::ssize(experts) || *different.begin() < 0 || *different.rbegin() >= expert_count) {
    trial.fail(fmt::format("a row with NaN chooses experts {}", fmt::join(experts, ", ")));
  }
  for (const float weight : weights) {
    if (!std::isnan(weight)) trial.fail(fmt::format("a row with NaN has the weight {}", weight));
  }
}

/// The experts of `token`, and weights that are off by a relative `error` at most.
void expect_route(Trial& trial, const reference::Routing& want, Index token, double error,
                  std::span<const std::int32_t> experts, std::span<const float> weights) {
  const auto top_k = std::ssize(experts);
  const auto chosen = std::span(want.experts).subspan(token * top_k, top_k);
  trial.expect_same<std::int32_t>(fmt::format("experts of token {}, ", token), experts, {chosen.begin(), chosen.end()});
  const View want_weights = reference::row(View(want.weights), token, top_k);
  Vector allowed = magnitudes(want_weights);
  for (double& value : allowed) value = value * error + kTiny;
  trial.expect_near(fmt::format("weights of token {}, ", token), weights, want_weights, allowed);
}

/// Relative error that fp32 may make of a score or of a sum of them.
double score_error(View logits, const RouterRule& rule) {
  double largest = 0;  // of those that matter to exp()
  for (const double x : logits) largest = std::max(largest, std::min(std::abs(x), 128.0));
  return (static_cast<double>(rule.experts + rule.top_k + 32) + 2 * largest) * kRoundoffF32;
}

std::vector<float> make_bias(Index experts, bool biased) {
  return biased ? random_f32("bias", experts, 0.2) : std::vector<float>();
}

/// What a gradient's terms add up to at most, for each logit: the score times the largest gradient of any score.
Vector gradient_terms(View scores, std::span<const std::int32_t> experts, View dweights, const RouterRule& rule,
                      double balance_share) {
  double sum = 0;
  double chosen = 1e-20;
  double largest = 0;
  for (const double score : scores) sum += score;
  for (Index k = 0; k < rule.top_k; ++k) {
    chosen += scores[experts[k]];
    largest = std::max(largest, std::abs(dweights[k]));
  }
  const double of_weights = static_cast<double>(rule.scale) * largest * (rule.normalised ? 2 / chosen : 1);
  const double of_balance = 2 * std::abs(balance_share) * static_cast<double>(rule.experts) / sum;
  Vector terms(scores.begin(), scores.end());
  for (double& term : terms) term = 2 * term * (of_weights + of_balance);
  return terms;
}

/// [rows, top_k] different experts for each token.
std::vector<std::int32_t> crowd_of(const GroupTokensCase& c) {
  const auto firsts = random_tokens("experts", c.rows, c.experts);
  std::vector<std::int32_t> experts;
  for (Index t = 0; t < c.rows; ++t) {
    for (Index k = 0; k < c.top_k; ++k) {
      Index expert = (firsts[t] + k) % c.experts;
      if (c.crowd == Crowd::first) expert = (t + k) % c.top_k;
      if (c.crowd == Crowd::last) expert = c.experts - 1 - (t + k) % c.top_k;
      experts.push_back(static_cast<std::int32_t>(expert));
    }
  }
  return experts;
}

}  // namespace

std::string RouteCase::describe() const {
  return fmt::format("{} tokens, {}{}{}", rows, describe_rule(rule), biased ? ", bias" : "", describe_content(content));
}

std::string RouteBackwardCase::describe() const {
  return fmt::format("{} sequences of {}, {}, balance {}{}", sequences, seq_len, describe_rule(rule), balance_scale,
                     describe_content(content));
}

std::string GroupTokensCase::describe() const {
  constexpr std::array<std::string_view, 3> kNames{"", ", all to the first", ", all to the last"};
  return fmt::format("{} tokens, {} of {} experts{}", rows, top_k, experts, kNames[static_cast<std::size_t>(crowd)]);
}

void OpCheck<Route>::run(Trial& trial, const RouteCase& c) {
  const auto bias = c.content == RouterContent::tied && c.biased
                        ? std::vector<float>(static_cast<std::size_t>(c.rule.experts), 0.25F)
                        : make_bias(c.rule.experts, c.biased);
  auto logits = make_logits(c.content, c.rule, bias, c.rows);
  const Vector clean = reference::widen(logits);
  for (Index t = 0; t < c.rows; ++t) {
    if (!has_nan_logits(c.content, t)) continue;
    const auto of_token = std::span(logits).subspan(t * c.rule.experts, c.rule.experts);
    if (t % 3 == 0) of_token[t % c.rule.experts] = kNan;
    if (t % 3 == 1) std::ranges::fill(of_token, kNan);
  }
  const std::vector<std::int64_t> load_before(static_cast<std::size_t>(c.rule.experts), 5);
  const auto experts = trial.output<std::int32_t>("experts", c.rows * c.rule.top_k);
  const auto weights = trial.output<float>("weights", c.rows * c.rule.top_k);
  const auto load = trial.updated("load", load_before);
  trial.run(Route{trial.input("logits", logits), bias.empty() ? nullptr : trial.input("bias", bias), experts.data(),
                  weights.data(), load.data(), c.rows, c.rule});

  const reference::Routing want = reference::route(clean, reference::widen(bias), c.rows, c.rule);
  std::vector<std::int64_t> want_load = load_before;
  for (Index t = 0; t < c.rows; ++t) {
    const auto of_token = experts.subspan(t * c.rule.top_k, c.rule.top_k);
    const auto weights_of_token = weights.subspan(t * c.rule.top_k, c.rule.top_k);
    if (has_nan_logits(c.content, t)) {
      expect_valid_route(trial, of_token, weights_of_token, c.rule.experts);
    } else {
      const double error = score_error(reference::row(View(clean), t, c.rule.experts), c.rule);
      expect_route(trial, want, t, error, of_token, weights_of_token);
    }
    if (!trial.failure().empty()) return;
    for (const std::int32_t expert : of_token) ++want_load[expert];
  }
  trial.expect_same<std::int64_t>("load", load, want_load);
}

void OpCheck<RouteBackward>::run(Trial& trial, const RouteBackwardCase& c) {
  const Index rows = c.sequences * c.seq_len;
  const bool with_nan = c.content == RouterContent::with_nan;
  const auto logits = make_logits(with_nan ? RouterContent::ordinary : c.content, c.rule, {}, rows);
  const Vector wide = reference::widen(logits);
  const auto experts = reference::route(wide, {}, rows, c.rule).experts;
  auto dweights = random_f32("dweights", rows * c.rule.top_k);
  if (with_nan) add_non_finite(dweights);
  const auto balance_scale = static_cast<double>(c.balance_scale);
  constexpr double kLossBefore = 0.5;
  const auto dlogits = trial.output<float>("dlogits", rows * c.rule.experts);
  const auto loss = trial.updated("balance_loss", std::vector<double>(balance_scale != 0 ? 1 : 0, kLossBefore));
  trial.run(RouteBackward{trial.input("logits", logits), trial.input("experts", experts),
                          trial.input("dweights", dweights), dlogits.data(), balance_scale != 0 ? loss.data() : nullptr,
                          rows, c.seq_len, c.rule, c.balance_scale});

  const Vector upstream = reference::widen(dweights);
  const auto want = reference::route_backward(wide, experts, upstream, rows, c.seq_len, c.rule, balance_scale);
  const Vector scores = reference::router_scores(wide, rows, c.rule);
  Vector allowed;
  for (Index t = 0; t < rows; ++t) {
    const double error = score_error(reference::row(View(wide), t, c.rule.experts), c.rule);
    const Vector terms = gradient_terms(
        reference::row(View(scores), t, c.rule.experts), std::span(experts).subspan(t * c.rule.top_k, c.rule.top_k),
        reference::row(View(upstream), t, c.rule.top_k), c.rule, balance_scale / static_cast<double>(c.seq_len));
    for (const double term : terms) allowed.push_back(error * term + kTiny);
  }
  trial.expect_near("dlogits", dlogits, want.dlogits, allowed);
  if (balance_scale == 0) return;
  const double of_scores = static_cast<double>(c.rule.experts + 128) * kRoundoffF32 * want.balance_loss;
  trial.expect_near("balance_loss", loss, Vector{kLossBefore + want.balance_loss}, of_scores + kRoundoffF64);
}

void OpCheck<BalanceBias>::run(Trial& trial, const BalanceBiasCase& c) {
  const auto before = random_f32("bias", c.experts, 0.1);
  std::vector<std::int64_t> load;
  for (const std::int32_t part : random_tokens("load", c.experts, 1 << 20)) {
    load.push_back(c.largest < 1 << 20 ? part % (c.largest + 1) : part * (c.largest >> 20));
  }
  const auto bias = trial.updated("bias", before);
  const auto counted = trial.updated("load", load);
  trial.run(BalanceBias{bias.data(), counted.data(), c.experts, c.rate});

  const Vector wide = reference::widen(before);
  const auto rate = static_cast<double>(c.rate);
  Vector allowed = magnitudes(wide);
  for (double& value : allowed) value = 4 * kRoundoffF32 * (value + 2 * rate);
  trial.expect_near("bias", bias, reference::balance_bias(wide, load, rate), allowed);
  trial.expect_same<std::int64_t>("load", counted, std::vector<std::int64_t>(counted.size()));
}

void OpCheck<GroupTokens>::run(Trial& trial, const GroupTokensCase& c) {
  const auto experts = crowd_of(c);
  const Index choices = c.rows * c.top_k;
  const auto offsets = trial.output<std::int32_t>("offsets", c.experts + 1);
  const auto padded_offsets = trial.output<std::int32_t>("padded_offsets", c.experts + 1);
  const auto choice_of_row = trial.output<std::int32_t>("choice_of_row", choices);
  const auto row_of_choice = trial.output<std::int32_t>("row_of_choice", choices);
  trial.run(GroupTokens{trial.input("experts", experts), offsets.data(), padded_offsets.data(), choice_of_row.data(),
                        row_of_choice.data(), c.rows, c.top_k, c.experts});

  const reference::Permutation want = reference::group_tokens(experts, c.experts);
  trial.expect_same<std::int32_t>("offsets", offsets, want.offsets);
  trial.expect_same<std::int32_t>("padded_offsets", padded_offsets, want.padded_offsets);
  trial.expect_same<std::int32_t>("choice_of_row", choice_of_row, want.choice_of_row);
  trial.expect_same<std::int32_t>("row_of_choice", row_of_choice, want.row_of_choice);
}

}  // namespace octet::ops::selftest
