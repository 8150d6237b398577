// The router, its balance and the permutation on examples small enough to be worked out by hand: what the oracle and
// the CPU make of them.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "ops/cpu/cpu_backend.h"
#include "ops/one_op.h"
#include "ops/reference/casts.h"
#include "ops/reference/routing.h"

namespace octet::test {
namespace {

using ops::RouterRule;
using ops::RouterScore;
using ops::reference::widen;

/// The logit whose sigmoid is `score`.
float logit(double score) {
  return static_cast<float>(std::log(score / (1 - score)));
}

std::vector<float> logits_of(const std::vector<double>& scores) {
  std::vector<float> logits;
  for (const double score : scores) logits.push_back(logit(score));
  return logits;
}

struct Chosen {
  std::vector<std::int32_t> experts;
  std::vector<float> weights;
};

/// By the CPU, which must agree with the oracle.
Chosen route(const std::vector<float>& logits, const std::vector<float>& bias, const RouterRule& rule) {
  const auto tokens = std::ssize(logits) / rule.experts;
  Chosen chosen{std::vector<std::int32_t>(static_cast<std::size_t>(tokens * rule.top_k)),
                std::vector<float>(static_cast<std::size_t>(tokens * rule.top_k))};
  std::vector<std::int64_t> load(static_cast<std::size_t>(rule.experts));
  const auto cpu = ops::make_cpu_backend(1);
  run_one(*cpu, ops::Route{logits.data(), bias.empty() ? nullptr : bias.data(), chosen.experts.data(),
                           chosen.weights.data(), load.data(), tokens, rule});
  const auto oracle = ops::reference::route(widen(logits), widen(bias), tokens, rule);
  EXPECT_EQ(oracle.experts, chosen.experts);
  for (std::size_t i = 0; i < chosen.weights.size(); ++i) {
    EXPECT_NEAR(oracle.weights[i], static_cast<double>(chosen.weights[i]), 1e-6);
  }
  return chosen;
}

void expect_weights(const std::vector<float>& got, const std::vector<double>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(static_cast<double>(got[i]), want[i], 1e-6) << i;
}

// The bias lifts expert 0 above the others, but what it counts is its score.
TEST(RoutingExample, BiasIsForChoosingOnly) {
  const RouterRule rule{.experts = 4, .top_k = 2, .scale = 2};
  const Chosen chosen = route(logits_of({0.5, 0.8, 0.2, 0.75}), {0.4F, 0, 0, 0}, rule);
  EXPECT_EQ(chosen.experts, (std::vector<std::int32_t>{0, 1}));
  expect_weights(chosen.weights, {2 * 0.5 / 1.3, 2 * 0.8 / 1.3});
}

TEST(RoutingExample, WithoutNormalisationAScoreCountsAsItIs) {
  const RouterRule rule{.experts = 4, .top_k = 2, .normalised = false, .scale = 2};
  const Chosen chosen = route(logits_of({0.5, 0.8, 0.2, 0.75}), {}, rule);
  EXPECT_EQ(chosen.experts, (std::vector<std::int32_t>{1, 3}));
  expect_weights(chosen.weights, {1.6, 1.5});
}

TEST(RoutingExample, SoftmaxOfLogarithms) {
  const RouterRule rule{.experts = 3, .top_k = 1, .score = RouterScore::softmax, .normalised = false};
  const auto log = [](double x) { return static_cast<float>(std::log(x)); };
  const Chosen chosen = route({log(1), log(2), log(5)}, {}, rule);  // 1/8, 2/8, 5/8
  EXPECT_EQ(chosen.experts, (std::vector<std::int32_t>{2}));
  expect_weights(chosen.weights, {0.625});
}

// Groups {0, 1} and {2, 3}: 0.9 + 0.2 is less than 0.8 + 0.75, so that the best expert of all is out of reach.
TEST(RoutingExample, GroupsAreChosenByTheirTwoBest) {
  const RouterRule rule{.experts = 4, .top_k = 2, .groups = 2, .kept_groups = 1};
  const Chosen chosen = route(logits_of({0.9, 0.2, 0.75, 0.8}), {}, rule);
  EXPECT_EQ(chosen.experts, (std::vector<std::int32_t>{3, 2}));
  expect_weights(chosen.weights, {0.8 / 1.55, 0.75 / 1.55});
}

TEST(RoutingExample, AtATieTheLowerIndexWins) {
  const RouterRule rule{.experts = 4, .top_k = 3};
  EXPECT_EQ(route(logits_of({0.5, 0.8, 0.5, 0.5}), {}, rule).experts, (std::vector<std::int32_t>{1, 0, 2}));
}

// The mean load is 3: one expert has more, one just that, two have less. u = rate * {-1, 1, 0, 1}, mean rate / 4.
TEST(RoutingExample, BiasMovesTowardsTheMeanLoad) {
  std::vector<float> bias{0, 0.5F, -0.5F, 0.25F};
  std::vector<std::int64_t> load{6, 2, 3, 1};
  const auto want = ops::reference::balance_bias(widen(bias), load, 0.125);
  EXPECT_EQ(want, (ops::reference::Vector{-0.15625, 0.59375, -0.53125, 0.34375}));
  const auto cpu = ops::make_cpu_backend(1);
  run_one(*cpu, ops::BalanceBias{bias.data(), load.data(), 4, 0.125F});
  EXPECT_EQ(bias, (std::vector<float>{-0.15625F, 0.59375F, -0.53125F, 0.34375F}));
  EXPECT_EQ(load, std::vector<std::int64_t>(4));
}

// Both tokens chose expert 0: f = 2 / (1 * 2) * {2, 0}. Shares of the scores are {0.8, 0.2} and {0.75, 0.25}, in the
// mean P = {0.775, 0.225}. The loss is 0.1 * 2 * 0.775.
TEST(RoutingExample, BalanceLossOfASequence) {
  const RouterRule rule{.experts = 2, .top_k = 1, .normalised = false};
  const auto logits = logits_of({0.8, 0.2, 0.75, 0.25});
  const std::vector<std::int32_t> experts{0, 0};
  const std::vector<float> dweights{0, 0};
  std::vector<float> dlogits(4);
  double loss = 1;
  const auto cpu = ops::make_cpu_backend(1);
  run_one(*cpu,
          ops::RouteBackward{logits.data(), experts.data(), dweights.data(), dlogits.data(), &loss, 2, 2, rule, 0.1F});
  EXPECT_NEAR(loss, 1.155, 1e-6);
  EXPECT_NEAR(ops::reference::route_backward(widen(logits), experts, widen(dweights), 2, 2, rule, 0.1).balance_loss,
              0.155, 1e-6);
  // d loss / d score 0 of the first token = 0.1 / 2 * (2 - 1.6), of its logit that times 0.8 * 0.2.
  EXPECT_NEAR(static_cast<double>(dlogits[0]), 0.02 * 0.16, 1e-7);
  EXPECT_NEAR(static_cast<double>(dlogits[1]), -0.08 * 0.16, 1e-7);
}

// Three tokens of two choices each. Expert 0 is chosen by choices 1 and 2, expert 1 by 3 and 5, expert 2 by 0 and 4.
TEST(RoutingExample, TokensAreSortedByExpertAndWithinOneByToken) {
  const std::vector<std::int32_t> experts{2, 0, 0, 1, 2, 1};
  const auto want = ops::reference::group_tokens(experts, 4);
  EXPECT_EQ(want.offsets, (std::vector<std::int32_t>{0, 2, 4, 6, 6}));
  EXPECT_EQ(want.padded_offsets, (std::vector<std::int32_t>{0, 128, 256, 384, 384}));
  EXPECT_EQ(want.choice_of_row, (std::vector<std::int32_t>{1, 2, 3, 5, 0, 4}));
  EXPECT_EQ(want.row_of_choice, (std::vector<std::int32_t>{4, 0, 1, 2, 5, 3}));
}

}  // namespace
}  // namespace octet::test
