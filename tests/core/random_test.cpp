// Philox against published answers, and the moments of the normal numbers made from it.
#include "core/random.h"

#include <gtest/gtest.h>

#include <string_view>

namespace octet::test {
namespace {

using Words = std::array<std::uint32_t, 4>;

// The known answers that the Random123 library publishes for philox4x32 with ten rounds: zeros, ones, digits of pi.
static_assert(philox(0, 0, 0) == Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
static_assert(philox(0xffffffffffffffff, 0xffffffffffffffff, 0xffffffffffffffff) ==
              Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
static_assert(philox(0x299f31d0a4093822, 0x85a308d3243f6a88, 0x0370734413198a2e) ==
              Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});

static_assert(uniform(0) > 0.0, "the logarithm of a uniform number is finite");
static_assert(uniform(0xffffffff) < 1.0);

// FNV-1a's published answers.
static_assert(stream_of("") == 0xcbf29ce484222325);
static_assert(stream_of("foobar") == 0x85944171f73967e8);

struct Moments {
  double mean = 0, variance = 0, skewness = 0, kurtosis = 0;
};

Moments moments_of(std::uint64_t seed, std::uint64_t stream, std::uint64_t count) {
  std::array<double, 5> power_sums{};
  for (std::uint64_t i = 0; i < count; ++i) {
    const double x = normal(seed, stream, i);
    double power = 1;
    for (double& sum : power_sums) {
      sum += power;
      power *= x;
    }
  }
  const auto raw = [&](std::size_t order) { return power_sums[order] / static_cast<double>(count); };
  return {raw(1), raw(2) - raw(1) * raw(1), raw(3), raw(4)};
}

TEST(Normal, HasTheMomentsOfAStandardNormal) {
  constexpr std::uint64_t count = 400000;
  const Moments moments = moments_of(1, stream_of("layers.0.attention.wqkv.weight"), count);
  // Five standard errors of each: sqrt(1/n), sqrt(2/n), sqrt(15/n), sqrt(96/n).
  const double root = std::sqrt(static_cast<double>(count));
  EXPECT_NEAR(moments.mean, 0, 5 * 1.0 / root);
  EXPECT_NEAR(moments.variance, 1, 5 * std::sqrt(2.0) / root);
  EXPECT_NEAR(moments.skewness, 0, 5 * std::sqrt(15.0) / root);
  EXPECT_NEAR(moments.kurtosis, 3, 5 * std::sqrt(96.0) / root);
}

/// The correlation of two sequences of standard normal numbers.
template <typename First, typename Second>
double correlation(std::uint64_t count, First first, Second second) {
  double sum = 0;
  for (std::uint64_t i = 0; i < count; ++i) sum += first(i) * second(i);
  return sum / static_cast<double>(count);
}

TEST(Normal, StreamsSeedsAndNeighboursAreUncorrelated) {
  constexpr std::uint64_t count = 100000;
  const double allowed = 5 / std::sqrt(static_cast<double>(count));
  const std::uint64_t stream = stream_of("output.weight");
  const auto base = [&](std::uint64_t i) { return normal(1, stream, i); };
  EXPECT_LT(std::abs(correlation(count, base, [&](std::uint64_t i) { return normal(2, stream, i); })), allowed);
  EXPECT_LT(std::abs(correlation(count, base, [&](std::uint64_t i) { return normal(1, stream + 1, i); })), allowed);
  EXPECT_LT(std::abs(correlation(count, base, [&](std::uint64_t i) { return normal(1, stream, i + 1); })), allowed);
}

}  // namespace
}  // namespace octet::test
