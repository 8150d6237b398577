// Sampling against arithmetic of its own, what its filters leave at their edges, and what many draws come to.
#include "train/sampling.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "core/error.h"
#include "core/random.h"

namespace octet::test {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::vector<bf16> bf16s(std::initializer_list<float> values) {
  std::vector<bf16> logits;
  for (const float value : values) logits.push_back(to_bf16(value));
  return logits;
}

/// In steps of a quarter, so that many are equal.
std::vector<bf16> random_logits(std::uint64_t seed, std::size_t count) {
  std::vector<bf16> logits;
  for (std::size_t i = 0; i < count; ++i) {
    logits.push_back(to_bf16(static_cast<float>(std::round(4 * normal(seed, 1, i)) / 4)));
  }
  return logits;
}

std::vector<std::int32_t> tokens_of(const std::vector<Candidate>& from) {
  std::vector<std::int32_t> tokens;
  for (const Candidate& each : from) tokens.push_back(each.token);
  return tokens;
}

/// By the definitions: a full sort, a softmax of whole slices.
std::vector<Candidate> brute_force(std::span<const bf16> logits, const SamplingOptions& options) {
  std::vector<Candidate> all;
  for (std::size_t i = 0; i < logits.size(); ++i) all.push_back({static_cast<std::int32_t>(i), to_float(logits[i])});
  std::stable_sort(all.begin(), all.end(),
                   [](const Candidate& a, const Candidate& b) { return a.probability > b.probability; });
  const double most = all.front().probability;
  for (Candidate& each : all) each.probability = std::exp((each.probability - most) / options.temperature);
  const auto normalise = [&] {
    double total = 0;
    for (const Candidate& each : all) total += each.probability;
    for (Candidate& each : all) each.probability /= total;
  };
  if (options.top_k > 0) all.resize(std::min(all.size(), static_cast<std::size_t>(options.top_k)));
  normalise();
  double before = 0;
  std::size_t kept = 0;
  while (kept < all.size() && (kept == 0 || before < options.top_p - 1e-12)) before += all[kept++].probability;
  if (options.top_p < 1) all.resize(kept);
  std::erase_if(all, [&](const Candidate& each) { return each.probability < options.min_p * all.front().probability; });
  normalise();
  return all;
}

TEST(Sampling, CandidatesAreThoseOfTheDefinitions) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const auto logits = random_logits(seed, 50);
    for (const double temperature : {0.3, 1.0, 2.5}) {
      for (const std::int64_t top_k : {1, 7, 50, 80}) {
        for (const double top_p : {0.0, 0.37, 0.9, 1.0}) {
          for (const double min_p : {0.0, 0.2}) {
            const SamplingOptions options{temperature, top_k, top_p, min_p, 1};
            const auto got = candidates(logits, options);
            const auto want = brute_force(logits, options);
            ASSERT_EQ(tokens_of(got), tokens_of(want)) << seed << " k " << top_k << " p " << top_p << " min " << min_p;
            for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i].probability, want[i].probability, 1e-12);
          }
        }
      }
    }
  }
}

TEST(Sampling, TopPEndsWithTheTokenThatReachesIt) {
  // Probabilities of 1/2, 1/4, 1/8, 1/8.
  const auto logits = bf16s({std::log(0.25F), std::log(0.5F), std::log(0.125F), std::log(0.125F)});
  const auto left = [&](double p) { return candidates(logits, {1, 0, p, 0, 1}).size(); };
  EXPECT_EQ(left(0), 1U);
  EXPECT_EQ(left(0.45), 1U);
  EXPECT_EQ(left(0.55), 2U);
  EXPECT_EQ(left(0.8), 3U);
  EXPECT_EQ(left(0.9), 4U);
  EXPECT_EQ(left(1), 4U);
}

TEST(Sampling, TopPCountsWhatTopKHasLeft) {
  const auto logits = bf16s({std::log(0.5F), std::log(0.25F), std::log(0.25F)});
  // Of the two that top_k leaves, the first has two thirds.
  EXPECT_EQ(candidates(logits, {1, 2, 0.6, 0, 1}).size(), 1U);
  EXPECT_EQ(candidates(logits, {1, 0, 0.6, 0, 1}).size(), 2U);
}

TEST(Sampling, EqualsGoByTheirIds) {
  const auto logits = bf16s({1, 2, 2, 2, 0});
  EXPECT_EQ(tokens_of(candidates(logits, {1, 2, 1, 0, 1})), (std::vector<std::int32_t>{1, 2}));
  EXPECT_EQ(tokens_of(candidates(logits, {0, 0, 1, 0, 1})), (std::vector<std::int32_t>{1}));
  EXPECT_EQ(sample(logits, {0, 0, 1, 0, 7}, 0, 3), 1);
}

TEST(Sampling, WhatCannotComeNeverDoes) {
  const auto logits = bf16s({-kInfinity, 1, -kInfinity, 1});
  for (std::uint64_t i = 0; i < 200; ++i) EXPECT_EQ(sample(logits, {1, 0, 1, 0, 5}, 0, i) % 2, 1);
  EXPECT_EQ(tokens_of(candidates(logits, {1, 3, 1, 0, 1})), (std::vector<std::int32_t>{1, 3}));
}

void expect_refused(const std::vector<bf16>& logits, const char* part) {
  for (const double temperature : {0.0, 1.0}) {
    try {
      (void)candidates(logits, {temperature, 40, 1, 0, 1});
      ADD_FAILURE() << "not refused: " << part;
    } catch (const Failure& failure) {
      EXPECT_NE(std::string(failure.what()).find(part), std::string::npos) << failure.what();
    }
  }
}

TEST(Sampling, BrokenLogitsAreNamed) {
  expect_refused(bf16s({1, std::nanf(""), 2, std::nanf("")}), "2 of 4 logits are NaN or infinite");
  expect_refused(bf16s({1, kInfinity}), "1 of 2 logits are NaN or infinite");
  expect_refused(bf16s({-kInfinity, -kInfinity}), "all 2 logits are -inf");
}

/// Pearson's chi-square of many draws stays below what chance exceeds once in 10^5.
TEST(Sampling, DrawsFollowTheProbabilities) {
  const auto logits = bf16s({0, 1, -1, 2, 0.5F, -3, 1.5F, 0.25F});
  constexpr std::uint64_t kDraws = 20000;
  const std::vector<SamplingOptions> cases{
      {1, 0, 1, 0, 11}, {0.7, 5, 1, 0, 12}, {1.3, 0, 0.8, 0, 13}, {1, 6, 0.95, 0.1, 14}};
  for (const SamplingOptions& options : cases) {
    std::map<std::int32_t, double> counts;
    for (std::uint64_t i = 0; i < kDraws; ++i) counts[sample(logits, options, 0, i)] += 1;
    const auto expected = brute_force(logits, options);
    double chi_square = 0;
    for (const Candidate& each : expected) {
      const double want = each.probability * static_cast<double>(kDraws);
      chi_square += (counts[each.token] - want) * (counts[each.token] - want) / want;
    }
    EXPECT_EQ(counts.size(), expected.size());
    EXPECT_LT(chi_square, 36);  // of 7 degrees of freedom at most
  }
}

TEST(Sampling, ADrawDependsOnSeedStreamAndIndexAlone) {
  const auto logits = random_logits(3, 400);
  const SamplingOptions options{1, 0, 1, 0, 9};
  const auto draws = [&](const SamplingOptions& with, std::uint64_t stream) {
    std::vector<std::int32_t> tokens;
    for (std::uint64_t i = 0; i < 20; ++i) tokens.push_back(sample(logits, with, stream, i));
    return tokens;
  };
  EXPECT_EQ(draws(options, 0), draws(options, 0));
  EXPECT_NE(draws(options, 0), draws(options, 1));
  SamplingOptions other = options;
  other.seed = 10;
  EXPECT_NE(draws(options, 0), draws(other, 0));
}

}  // namespace
}  // namespace octet::test
