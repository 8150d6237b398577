// Bytes and segments of global accesses, counted by hand and through a kernel with good and bad strides.
#include "sim/counters/traffic.h"

#include <gtest/gtest.h>

#include <vector>

#include "sim/counters/access_counts.h"
#include "sim/gpu.h"

namespace octet::sim {
namespace {

/// Lanes 0, 1, ... at the addresses given.
Traffic traffic_at(const std::vector<u64>& addresses, u32 bytes, Space space = Space::global) {
  const Instruction instruction;
  Access access{instruction, space, AccessKind::read, bytes, 0, 0};
  for (std::size_t lane = 0; lane < addresses.size(); ++lane) {
    access.lanes |= u64{1} << lane;
    access.addresses[lane] = addresses[lane];
  }
  return traffic_of(access);
}

TEST(TrafficTest, DistinctBytesAndSegments) {
  EXPECT_EQ(traffic_at({0, 4, 8}, 4), (Traffic{1, 12, 1, 1, 1, 1}));
  EXPECT_EQ(traffic_at({100, 100, 100}, 4), (Traffic{1, 4, 1, 1, 1, 1}));
  EXPECT_EQ(traffic_at({62}, 4), (Traffic{1, 4, 2, 1, 1, 1}));
  EXPECT_EQ(traffic_at({126}, 4), (Traffic{1, 4, 2, 2, 1, 1}));
  EXPECT_EQ(traffic_at({128, 0, 64}, 16), (Traffic{1, 48, 3, 2, 1, 1}));
  EXPECT_EQ(traffic_at({0, 2}, 4), (Traffic{1, 6, 1, 1, 1, 1}));
  EXPECT_EQ(traffic_at({0, 16, 32, 48, 64, 80, 96, 112}, 16), (Traffic{1, 128, 2, 1, 2, 1}));
  EXPECT_EQ(traffic_at({}, 4), Traffic{});
  EXPECT_EQ(traffic_at({0}, 4, Space::lds), Traffic{});
}

TEST(TrafficTest, SharesAreTheLeastAgainstWhatWasTouched) {
  EXPECT_DOUBLE_EQ(traffic_at({0, 256}, 4).share_64(), 0.5);
  EXPECT_DOUBLE_EQ(traffic_at({60}, 8).share_64(), 0.5);
  EXPECT_DOUBLE_EQ(traffic_at({60}, 8).share_128(), 1);
  EXPECT_DOUBLE_EQ(Traffic{}.share_64(), 1);
}

TEST(TrafficTest, AStrideShowsInTheReadsOfAKernel) {
  for (const u32 stride : {1U, 32U}) {
    Gpu gpu("basics", Generation::cdna3);
    const AccessCounter counter(gpu.program(), 2);
    gpu.listen(counter.listeners());
    const u64 out = gpu.upload(std::vector<u32>(1024), "out");
    gpu.launch("gather", {{4, 1, 1}, {256, 1, 1}, 0}, gpu.upload(std::vector<u32>(1024 * stride), "values"), out,
               stride);
    const ByKind<Traffic> global = counter.total().global;
    EXPECT_EQ(global.write, (Traffic{16, 4096, 64, 32, 64, 32}));
    EXPECT_EQ(global.read, (stride == 1 ? Traffic{16, 4096, 64, 32, 64, 32} : Traffic{16, 4096, 1024, 1024, 64, 32}));
    EXPECT_EQ(global.update, Traffic{});
  }
}

}  // namespace
}  // namespace octet::sim
