// The stateless shuffle: a bijection at any size, different by seed and epoch, and pinned for resumed runs.
#include "data/permutation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "core/error.h"

namespace octet {
namespace {

using ::testing::ElementsAre;

std::vector<std::uint64_t> order(std::uint64_t size, std::uint64_t seed, std::uint64_t epoch) {
  const Permutation permutation(size, seed, epoch);
  std::vector<std::uint64_t> values(size);
  for (std::uint64_t place = 0; place < size; ++place) values[place] = permutation(place);
  return values;
}

TEST(Permutation, IsABijectionAtAnySize) {
  std::vector<std::uint64_t> sizes{1023, 1024, 1025, 4095, 4097, 100'003};
  for (std::uint64_t size = 1; size <= 70; ++size) sizes.push_back(size);
  for (const std::uint64_t size : sizes) {
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      auto values = order(size, seed, seed * 3);
      std::ranges::sort(values);
      std::vector<std::uint64_t> all(size);
      std::iota(all.begin(), all.end(), 0);
      ASSERT_EQ(values, all) << size << " elements, seed " << seed;
    }
  }
}

TEST(Permutation, StaysInsideHugeSizes) {
  for (const std::uint64_t size : {std::uint64_t{1} << 40, (std::uint64_t{1} << 61) + 1, std::uint64_t{1} << 62}) {
    const Permutation permutation(size, 5, 0);
    EXPECT_LT(permutation(0), size);
    EXPECT_LT(permutation(size - 1), size);
  }
  EXPECT_THROW(Permutation(0, 1, 1), Failure);
  EXPECT_THROW((void)Permutation(10, 1, 1)(10), Failure);
}

TEST(Permutation, DiffersBySeedAndEpoch) {
  EXPECT_NE(order(100, 1, 0), order(100, 2, 0));
  EXPECT_NE(order(100, 1, 0), order(100, 1, 1));
  EXPECT_NE(order(100, 1, 2), order(100, 2, 1));
  EXPECT_NE(order(100, 1, 1), order(100, 2, 0));
}

TEST(Permutation, LeavesFewElementsInPlaceAndFewNeighboursTogether) {
  constexpr std::uint64_t kSize = 10'000;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const auto values = order(kSize, seed, 0);
    int fixed = 0;
    int neighbours = 0;
    double half = 0;
    for (std::uint64_t place = 0; place < kSize; ++place) {
      fixed += values[place] == place ? 1 : 0;
      neighbours += place > 0 && values[place] == values[place - 1] + 1 ? 1 : 0;
      if (place < kSize / 2) half += static_cast<double>(values[place]);
    }
    // Of a uniform shuffle one of each is expected; ten or more come once in ten million.
    EXPECT_LT(fixed, 10) << seed;
    EXPECT_LT(neighbours, 10) << seed;
    // The mean of the first half: 4,999.5 with a standard deviation of 28.9.
    EXPECT_NEAR(half / 5000, 4999.5, 6 * 28.9) << seed;
  }
}

TEST(Permutation, NeverChangesBetweenVersions) {
  EXPECT_THAT(order(10, 42, 3), ElementsAre(6, 5, 2, 4, 3, 1, 8, 0, 9, 7));
}

}  // namespace
}  // namespace octet
