// Kernels with barriers that not all lanes reach, and the same without.
#include "sim/detectors/divergent_barriers.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/error.h"
#include "sim/gpu.h"

namespace octet::sim {
namespace {

/// What is found when `diverge` does it so; empty for nothing.
std::string found(u32 how, Generation generation) {
  Gpu gpu("basics", generation);
  DivergentBarriers detector(gpu.program());
  gpu.listen({&detector, &detector});
  try {
    gpu.launch("diverge", {{1, 1, 1}, {256, 1, 1}, 0}, gpu.upload(std::vector<u32>(256), "out"), how);
  } catch (const Failure& failure) {
    return failure.what();
  }
  return "";
}

TEST(DivergentBarriersTest, AreFound) {
  for (const Generation generation : {Generation::cdna3, Generation::cdna4}) {
    const std::string lanes = found(0, generation);
    EXPECT_NE(lanes.find("kernel diverge, workgroup (0, 0, 0): divergent barrier: lane 32 of wave 0, and 32 lanes"),
              std::string::npos)
        << lanes;
    const std::string ended = found(1, generation);
    EXPECT_NE(ended.find("wave 0 waits at"), std::string::npos) << ended;
    EXPECT_NE(ended.find("3 waves have ended without reaching it"), std::string::npos) << ended;
    const std::string places = found(2, generation);
    EXPECT_NE(places.find("divergent barriers: wave 0 waits at"), std::string::npos) << places;
    EXPECT_NE(places.find("; wave 2 at"), std::string::npos) << places;
    EXPECT_EQ(found(3, generation), "");
  }
}

TEST(DivergentBarriersTest, AWaveThatIsNotFullReachesThem) {
  Gpu gpu("basics", Generation::cdna3);
  DivergentBarriers detector(gpu.program());
  gpu.listen({&detector, &detector});
  gpu.launch("diverge", {{1, 1, 1}, {100, 1, 1}, 0}, gpu.upload(std::vector<u32>(256), "out"), 3U);
}

}  // namespace
}  // namespace octet::sim
