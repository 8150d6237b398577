// Bytes and segments of global accesses, counted by hand and through a kernel with good and bad strides.
#include "sim/counters/traffic.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

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

TEST(TrafficTest, AStrideShowsInTheSegmentsOfItsInstruction) {
  for (const int threads : {1, 3}) {
    for (const u32 stride : {1U, 32U}) {
      Gpu gpu("basics", Generation::cdna3, threads);
      const TrafficCounter counter(gpu.program().instructions().size(), threads);
      gpu.listen(counter.listeners());
      const u64 out = gpu.upload(std::vector<u32>(1024), "out");
      gpu.launch("gather", {{4, 1, 1}, {256, 1, 1}, 0}, gpu.upload(std::vector<u32>(1024 * stride), "values"), out,
                 stride);
      Traffic loads;
      Traffic stores;
      const std::vector<Traffic> traffic = counter.by_instruction();
      for (u32 number = 0; number < traffic.size(); ++number) {
        const bool is_store = gpu.program().text(number).starts_with("global_store");
        (is_store ? stores : loads) += traffic[number];
      }
      EXPECT_EQ(stores, (Traffic{16, 4096, 64, 32, 64, 32}));
      EXPECT_EQ(loads, (stride == 1 ? Traffic{16, 4096, 64, 32, 64, 32} : Traffic{16, 4096, 1024, 1024, 64, 32}));
    }
  }
}

}  // namespace
}  // namespace octet::sim
