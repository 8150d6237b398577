// Cases of the router, of its balance and of the permutation that it leads to.
#pragma once

#include "ops/selftest/op_check.h"

namespace octet::ops::selftest {

/// What the logits of a router hold.
enum class RouterContent : std::uint8_t {
  ordinary,
  tied,      // a few values that many experts share
  extreme,   // infinities, and where exp() overflows or vanishes
  with_nan,  // in some rows one NaN, in some nothing else
};

struct RouteCase {
  Index rows;
  RouterRule rule;
  RouterContent content = RouterContent::ordinary;
  bool biased = false;

  [[nodiscard]] std::string describe() const;
};

inline constexpr RouterRule kSigmoidRule{.experts = 8, .top_k = 2, .scale = 2.5F};
inline constexpr RouterRule kSoftmaxRule{.experts = 24, .top_k = 4, .score = RouterScore::softmax};
inline constexpr RouterRule kPlainSoftmaxRule{
    .experts = 8, .top_k = 3, .score = RouterScore::softmax, .normalised = false, .scale = 16};
inline constexpr RouterRule kGroupRule{.experts = 64, .top_k = 6, .groups = 8, .kept_groups = 3};
inline constexpr RouterRule kSmallGroupRule{.experts = 6, .top_k = 3, .groups = 6, .kept_groups = 4};  // of one each
inline constexpr RouterRule kDeepSeekRule{.experts = 256, .top_k = 8, .groups = 8, .kept_groups = 4, .scale = 2.5F};

template <>
struct OpCheck<Route> {
  static constexpr auto kCases = std::to_array<RouteCase>({
      {0, kSigmoidRule},
      {1, kSigmoidRule},
      {37, kSigmoidRule, RouterContent::ordinary, true},
      {5, {.experts = 1, .top_k = 1}},
      {9, {.experts = 5, .top_k = 5, .normalised = false}},  // all of them
      {67, kSoftmaxRule},
      {33, kSoftmaxRule, RouterContent::ordinary, true},
      {33, kPlainSoftmaxRule, RouterContent::ordinary, true},
      {41, kGroupRule, RouterContent::ordinary, true},
      {29, kSmallGroupRule, RouterContent::ordinary, true},
      {19, kDeepSeekRule, RouterContent::ordinary, true},
      {13, {.experts = 320, .top_k = 16, .normalised = false}},  // more than 256, and no power of two
      {40, kSigmoidRule, RouterContent::tied, true},
      {40, kSoftmaxRule, RouterContent::tied},
      {40, kGroupRule, RouterContent::tied},
      {24, kSigmoidRule, RouterContent::extreme},
      {24, kSoftmaxRule, RouterContent::extreme},
      {24, kGroupRule, RouterContent::extreme},
      {12, kSigmoidRule, RouterContent::with_nan, true},
      {12, kSoftmaxRule, RouterContent::with_nan},
      {12, kGroupRule, RouterContent::with_nan},
  });
  static constexpr auto kThoroughCases =
      std::to_array<RouteCase>({{4099, kDeepSeekRule, RouterContent::ordinary, true}, {8461, kSoftmaxRule}});
  static void run(Trial& trial, const RouteCase& c);
};

struct RouteBackwardCase {
  Index sequences, seq_len;
  RouterRule rule;
  float balance_scale = 0;
  RouterContent content = RouterContent::ordinary;

  [[nodiscard]] std::string describe() const;
};

template <>
struct OpCheck<RouteBackward> {
  static constexpr auto kCases = std::to_array<RouteBackwardCase>({
      {0, 4, kSigmoidRule},
      {1, 1, kSigmoidRule},
      {3, 11, kSigmoidRule},
      {3, 11, kSigmoidRule, 0.25F},
      {2, 33, kSoftmaxRule},
      {2, 33, kSoftmaxRule, 0.5F},
      {1, 17, kPlainSoftmaxRule, 1e-2F},
      {4, 9, kGroupRule, 1e-3F},
      {2, 7, {.experts = 5, .top_k = 5, .normalised = false}, 0.1F},
      {2, 9, kDeepSeekRule, 1e-4F},
      {1, 13, {.experts = 320, .top_k = 16}},
      {2, 12, kSigmoidRule, 0.25F, RouterContent::extreme},
      {2, 12, kSoftmaxRule, 0.25F, RouterContent::extreme},
      {2, 12, kSigmoidRule, 0.25F, RouterContent::with_nan},  // among dweights
      {2, 12, kSoftmaxRule, 0, RouterContent::with_nan},
  });
  static constexpr auto kThoroughCases = std::to_array<RouteBackwardCase>({{5, 1031, kDeepSeekRule, 1e-4F}});
  static void run(Trial& trial, const RouteBackwardCase& c);
};

struct BalanceBiasCase {
  Index experts;
  std::int64_t largest;  // of the loads
  float rate;

  [[nodiscard]] std::string describe() const {
    return fmt::format("{} experts, loads up to {}, rate {}", experts, largest, rate);
  }
};

template <>
struct OpCheck<BalanceBias> {
  static constexpr auto kCases = std::to_array<BalanceBiasCase>({
      {1, 7, 1e-3F},
      {8, 0, 1e-3F},  // all equal
      {8, 1, 1e-3F},
      {64, 4, 0.5F},  // some equal to the mean
      {67, 1000, 1e-3F},
      {256, std::int64_t{1} << 40, 1e-2F},
  });
  static constexpr auto kThoroughCases = std::to_array<BalanceBiasCase>({{1031, 1 << 20, 1e-3F}});
  static void run(Trial& trial, const BalanceBiasCase& c);
};

/// Which experts tokens choose.
enum class Crowd : std::uint8_t { spread, first, last };

struct GroupTokensCase {
  Index rows, top_k, experts;
  Crowd crowd = Crowd::spread;

  [[nodiscard]] std::string describe() const;
};

template <>
struct OpCheck<GroupTokens> {
  static constexpr auto kCases = std::to_array<GroupTokensCase>({
      {0, 2, 4},
      {1, 1, 1},
      {1, 3, 8},
      {17, 2, 5},
      {130, 1, 7},
      {300, 8, 8},
      {300, 2, 6, Crowd::first},
      {300, 2, 6, Crowd::last},
      {257, 4, 64},
      {613, 8, 256},
      {1031, 3, 320},
  });
  static constexpr auto kThoroughCases =
      std::to_array<GroupTokensCase>({{16411, 8, 256}, {16411, 8, 256, Crowd::last}});
  static void run(Trial& trial, const GroupTokensCase& c);
};

}  // namespace octet::ops::selftest
