// Occupancy of kernels that each run out of one thing, worked out by hand.
#include "sim/counters/occupancy.h"

#include <gtest/gtest.h>

namespace octet::sim {
namespace {

Kernel kernel(std::uint32_t vgprs, std::uint32_t sgprs, std::uint32_t lds_bytes) {
  Kernel kernel{};
  kernel.vgprs = vgprs;
  kernel.sgprs = sgprs;
  kernel.lds_bytes = lds_bytes;
  return kernel;
}

struct Expected {
  std::uint32_t workgroups;
  std::uint32_t waves;
  Resource limit;
};

void expect(const Occupancy& found, const Expected& expected) {
  EXPECT_EQ(found.workgroups_per_cu, expected.workgroups);
  EXPECT_EQ(found.waves_per_cu, expected.waves);
  EXPECT_EQ(name(found.limited_by), name(expected.limit));
}

TEST(OccupancyTest, PlacesForWaves) {
  const Kernel small = kernel(32, 24, 0);
  expect(occupancy(small, Generation::cdna3, 256), {8, 32, Resource::waves});
  expect(occupancy(small, Generation::cdna3, 64), {32, 32, Resource::waves});
  expect(occupancy(small, Generation::cdna3, 65), {16, 32, Resource::waves});
  expect(occupancy(small, Generation::cdna3, 320), {6, 30, Resource::waves});
  expect(occupancy(small, Generation::cdna3, 1024), {2, 32, Resource::waves});
  EXPECT_EQ(occupancy(small, Generation::cdna3, 65).waves_per_workgroup, 2U);
  EXPECT_EQ(occupancy(small, Generation::cdna3, 65).workgroups_by.count(Resource::lds), 0U);
}

TEST(OccupancyTest, VectorRegistersAreGivenOutInEights) {
  expect(occupancy(kernel(64, 24, 0), Generation::cdna3, 256), {8, 32, Resource::waves});
  expect(occupancy(kernel(65, 24, 0), Generation::cdna3, 256), {7, 28, Resource::vgprs});
  expect(occupancy(kernel(72, 24, 0), Generation::cdna4, 256), {7, 28, Resource::vgprs});
  expect(occupancy(kernel(100, 24, 0), Generation::cdna3, 256), {4, 16, Resource::vgprs});  // 104: not five times
  expect(occupancy(kernel(128, 24, 0), Generation::cdna4, 256), {4, 16, Resource::vgprs});
  expect(occupancy(kernel(512, 24, 0), Generation::cdna4, 64), {4, 4, Resource::vgprs});
  expect(occupancy(kernel(512, 24, 0), Generation::cdna4, 320), {0, 0, Resource::vgprs});
  expect(occupancy(kernel(0, 0, 0), Generation::cdna3, 256), {8, 32, Resource::waves});
}

TEST(OccupancyTest, ScalarRegistersAreGivenOutInSixteens) {
  expect(occupancy(kernel(32, 96, 0), Generation::cdna3, 256), {8, 32, Resource::waves});
  expect(occupancy(kernel(32, 97, 0), Generation::cdna3, 256), {7, 28, Resource::sgprs});
}

TEST(OccupancyTest, LdsIsLargerOnCdna4) {
  expect(occupancy(kernel(32, 24, 20'000), Generation::cdna3, 256), {3, 12, Resource::lds});
  expect(occupancy(kernel(32, 24, 20'000), Generation::cdna4, 256), {8, 32, Resource::waves});
  expect(occupancy(kernel(32, 24, 0), Generation::cdna3, 256, 32 * 1024), {2, 8, Resource::lds});
  expect(occupancy(kernel(32, 24, 32 * 1024), Generation::cdna3, 256, 1), {1, 4, Resource::lds});
  expect(occupancy(kernel(32, 24, 32 * 1024), Generation::cdna4, 256), {4, 16, Resource::lds});
  expect(occupancy(kernel(32, 24, 13'000), Generation::cdna3, 256), {4, 16, Resource::lds});  // 13312: not five times
  expect(occupancy(kernel(32, 24, 54'400), Generation::cdna4, 256), {2, 8, Resource::lds});   // 55040: not three times
  expect(occupancy(kernel(32, 24, 96 * 1024), Generation::cdna3, 256), {0, 0, Resource::lds});
}

}  // namespace
}  // namespace octet::sim
