// Races in LDS: single cases as a launch would tell of them, kernels with the planted fault, and kernels without one.
#include "sim/detectors/lds_races.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/error.h"
#include "sim/gpu.h"

namespace octet::sim {
namespace {

class LdsRacesTest : public testing::Test {
 protected:
  LdsRacesTest() : gpu_("basics", Generation::cdna3), detector_(gpu_.program()) {
    gpu_.listen({&detector_, &detector_});
  }

  /// Four bytes at `address` by lane 3 of a wave.
  void access(std::uint32_t wave, AccessKind kind, u64 address, Space space = Space::lds) {
    Access told{gpu_.program().instructions().front(), space, kind, 4, wave, 8};
    told.addresses[3] = address;
    detector_.on_access(told);
  }
  void barrier() { detector_.on_barrier({}, 0); }

  Gpu gpu_;
  LdsRaces detector_;
};

constexpr auto kRead = AccessKind::read;
constexpr auto kWrite = AccessKind::write;
constexpr auto kUpdate = AccessKind::update;

TEST_F(LdsRacesTest, ByCases) {
  detector_.on_workgroup(64);
  access(0, kWrite, 0);
  access(0, kRead, 0);
  access(0, kWrite, 2);
  EXPECT_THROW(access(1, kRead, 4), Failure);  // byte 5 is of the second write
  EXPECT_THROW(access(1, kWrite, 0), Failure);
  EXPECT_THROW(access(1, kUpdate, 0), Failure);
  access(1, kRead, 8);
  access(2, kRead, 8);
  access(3, kRead, 8);
  EXPECT_THROW(access(1, kWrite, 8), Failure);
  EXPECT_THROW(access(3, kWrite, 8), Failure);
  access(1, kUpdate, 16);
  access(2, kUpdate, 16);
  EXPECT_THROW(access(3, kRead, 16), Failure);
  EXPECT_THROW(access(3, kWrite, 16), Failure);
  access(3, kWrite, 0, Space::global);
  barrier();
  access(1, kWrite, 0);
  access(2, kWrite, 8);
  access(3, kRead, 16);
  detector_.on_workgroup(64);
  access(0, kRead, 0);
  access(0, kRead, 62);  // what leaves LDS is another fault, which the access itself meets
}

TEST_F(LdsRacesTest, AMissingBarrierIsFoundAndBothInstructionsNamed) {
  const u64 sums = gpu_.upload(std::vector<float>(2), "sums");
  const u64 values = gpu_.upload(std::vector<float>(512), "values");
  try {
    gpu_.launch("reduce_without_barrier", {{2, 1, 1}, {256, 1, 1}, 0}, values, sums);
    FAIL() << "nothing was found";
  } catch (const Failure& failure) {
    const std::string message = failure.what();
    for (const char* part :
         {"kernel reduce_without_barrier, workgroup (", "ds_write_b32", "lane 0 writes byte 0x4 of LDS",
          "which wave 0 reads with no barrier between", "ds_read"}) {
      EXPECT_NE(message.find(part), std::string::npos) << message;
    }
  }
}

TEST_F(LdsRacesTest, KernelsWithTheirBarriersPass) {
  const u64 values = gpu_.upload(std::vector<float>(512), "values");
  gpu_.launch("reduce", {{2, 1, 1}, {256, 1, 1}, 0}, values, gpu_.upload(std::vector<float>(2), "sums"));
  const u64 counts = gpu_.upload(std::vector<u32>(512), "counts");
  gpu_.launch("count_in_lds", {{2, 1, 1}, {256, 1, 1}, 0}, values, counts, 1U);
  EXPECT_THROW(gpu_.launch("count_in_lds", {{2, 1, 1}, {256, 1, 1}, 0}, values, counts, 0U), Failure);
}

TEST(LdsRacesOfTraining, TheProductByTilesHasNone) {
  Gpu gpu("training", Generation::cdna4);
  LdsRaces detector(gpu.program());
  gpu.listen({&detector, &detector});
  const u64 codes = gpu.upload(std::vector<std::uint8_t>(128 * 128), "codes");
  gpu.launch("multiply_tiles", {{1, 1, 1}, {256, 1, 1}, 0}, codes, codes,
             gpu.upload(std::vector<float>(128 * 128), "c"), 128U, 128U);
}

}  // namespace
}  // namespace octet::sim
