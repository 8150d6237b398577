// Compiled kernels from arguments to results: the simulator's whole way, on both generations.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "core/error.h"
#include "sim/gpu.h"

namespace octet::sim {
namespace {

class BasicKernels : public testing::TestWithParam<Generation> {
 protected:
  [[nodiscard]] float value() { return std::uniform_real_distribution<float>(-8, 8)(engine_); }
  [[nodiscard]] u64 bits() { return engine_(); }
  std::mt19937_64 engine_{7};
};

TEST_P(BasicKernels, AddVectors) {
  constexpr u32 kCount = 1000;
  std::vector<float> a(kCount);
  std::vector<float> b(kCount);
  for (u32 i = 0; i < kCount; ++i) {
    a[i] = value();
    b[i] = value();
  }
  Gpu gpu("basics", GetParam());
  const u64 sums = gpu.upload(std::vector<float>(kCount, -1), "sums");
  const LaunchResult result = gpu.launch("vector_add", blocks(4), gpu.upload(a, "a"), gpu.upload(b, "b"), sums, kCount);
  const auto got = gpu.download<float>(sums, kCount);
  for (u32 i = 0; i < kCount; ++i) ASSERT_EQ(got[i], a[i] + b[i]) << i;
  EXPECT_GT(result.total(), 100U);
}

TEST_P(BasicKernels, PlacesInThreeDimensions) {
  constexpr std::array<u32, 3> kGroups{3, 2, 2};
  constexpr std::array<u32, 3> kSize{5, 3, 7};  // 105 lanes: the second wave is not full
  constexpr std::array<u32, 3> kGrid{15, 6, 14};
  Gpu gpu("basics", GetParam());
  const std::size_t count = std::size_t{12} * kGrid[0] * kGrid[1] * kGrid[2];
  const u64 out = gpu.upload(std::vector<u32>(count), "out");
  gpu.launch("places", {{kGroups[0], kGroups[1], kGroups[2]}, {kSize[0], kSize[1], kSize[2]}, 0}, out);
  const auto got = gpu.download<u32>(out, count);
  std::size_t at = 0;
  for (u32 z = 0; z < kGrid[2]; ++z) {
    for (u32 y = 0; y < kGrid[1]; ++y) {
      for (u32 x = 0; x < kGrid[0]; ++x) {
        const std::array<u32, 3> place{x, y, z};
        for (std::size_t axis = 0; axis < 3; ++axis) {
          ASSERT_EQ(got[at + axis], place[axis] / kSize[axis]);
          ASSERT_EQ(got[at + 3 + axis], place[axis] % kSize[axis]);
          ASSERT_EQ(got[at + 6 + axis], kSize[axis]);
          ASSERT_EQ(got[at + 9 + axis], kGrid[axis]);
        }
        at += 12;
      }
    }
  }
}

TEST_P(BasicKernels, ReduceByDppPermutesAndLds) {
  constexpr u32 kBlocks = 5;
  std::vector<float> values(kBlocks * 256);
  for (float& entry : values) entry = std::round(value() * 16);  // sums are exact in any order
  Gpu gpu("basics", GetParam());
  const u64 sums = gpu.upload(std::vector<float>(kBlocks), "sums");
  gpu.launch("reduce", blocks(kBlocks), gpu.upload(values, "values"), sums);
  const auto got = gpu.download<float>(sums, kBlocks);
  for (u32 block = 0; block < kBlocks; ++block) {
    float expected = 0;
    for (u32 i = 0; i < 256; ++i) expected += values[block * 256 + i];
    EXPECT_EQ(got[block], expected) << block;
  }
}

TEST_P(BasicKernels, DivideFloatsAsIeee754Does) {
  std::vector<float> a;
  std::vector<float> b;
  for (const float x : {0.0F, -0.0F, 1.0F, -3.0F, 0x1p-149F, 0x1p-126F, 0x1.fffffep127F, INFINITY, -INFINITY, 1e-30F}) {
    for (const float y : {0.0F, -0.0F, 1.0F, -3.0F, 0x1p-149F, 0x1p-126F, 0x1.fffffep127F, INFINITY, 3e38F, 1e20F}) {
      a.push_back(x);
      b.push_back(y);
    }
  }
  while (a.size() < 65536) {
    a.push_back(std::bit_cast<float>(static_cast<u32>(bits())));
    b.push_back(std::bit_cast<float>(static_cast<u32>(bits())));
  }
  const auto count = static_cast<u32>(a.size());
  Gpu gpu("basics", GetParam());
  const u64 quotients = gpu.upload(std::vector<float>(count), "quotients");
  gpu.launch("divide", blocks((count + 255) / 256), gpu.upload(a, "a"), gpu.upload(b, "b"), quotients, count);
  const auto got = gpu.download<float>(quotients, count);
  for (u32 i = 0; i < count; ++i) {
    const float expected = a[i] / b[i];
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(got[i])) << a[i] << " / " << b[i] << " gave " << got[i];
    } else {
      ASSERT_EQ(std::bit_cast<u32>(got[i]), std::bit_cast<u32>(expected))
          << std::hexfloat << a[i] << " / " << b[i] << " gave " << got[i] << ", not " << expected;
    }
  }
}

TEST_P(BasicKernels, DivideIntegers) {
  constexpr u32 kCount = 4096;
  std::vector<u64> a(kCount);
  std::vector<u64> b(kCount);
  for (u32 i = 0; i < kCount; ++i) {
    a[i] = bits() >> (bits() % 64);
    b[i] = (bits() >> (bits() % 64)) | 1;
  }
  Gpu gpu("basics", GetParam());
  const u64 quotients = gpu.upload(std::vector<u64>(kCount), "quotients");
  const u64 narrow = gpu.upload(std::vector<u32>(2 * kCount), "narrow");
  gpu.launch("divide_integers", blocks(kCount / 256), gpu.upload(a, "a"), gpu.upload(b, "b"), quotients, narrow,
             kCount);
  const auto got = gpu.download<u64>(quotients, kCount);
  const auto got_narrow = gpu.download<u32>(narrow, 2 * kCount);
  for (u32 i = 0; i < kCount; ++i) {
    ASSERT_EQ(got[i], a[i] / b[i]) << a[i] << " / " << b[i];
    ASSERT_EQ(got_narrow[2 * i], static_cast<u32>(a[i]) / (static_cast<u32>(b[i]) | 1U));
    const std::int64_t divisor = static_cast<std::int32_t>(b[i] >> 7) | 1;  // 64 bits wide: the least value over -1
    ASSERT_EQ(got_narrow[2 * i + 1], static_cast<u32>(static_cast<std::int32_t>(a[i]) % divisor));
  }
}

TEST_P(BasicKernels, IndexScratchByData) {
  std::vector<u32> values(256);
  for (u32& entry : values) entry = static_cast<u32>(bits());
  Gpu gpu("basics", GetParam());
  ASSERT_GT(gpu.program().object().kernel("permute_in_scratch").scratch_bytes, 0U);
  const u64 out = gpu.upload(std::vector<u32>(512), "out");
  gpu.launch("permute_in_scratch", blocks(2), gpu.upload(values, "values"), out);
  const auto got = gpu.download<u32>(out, 512);
  for (u32 i = 0; i < 512; ++i) {
    std::array<u32, 24> local{};
    for (u32 k = 0; k < 24; ++k) local[k] = values[(i + k * 7) & 255U];
    u32 at = i % 24;
    for (u32 k = 0; k < 24; ++k) {
      const u32 next = local[at] % 24;
      local[at] += k;
      at = next;
    }
    u32 sum = 0;
    for (const u32 entry : local) sum = sum * 31 + entry;
    ASSERT_EQ(got[i], sum) << i;
  }
}

TEST_P(BasicKernels, AtomicsGiveTheSameBitsForAnyNumberOfThreads) {
  std::vector<u32> values(64 * 256);
  for (u32& entry : values) entry = static_cast<u32>(bits()) % 1000;
  std::vector<u32> expected(16);
  for (const u32 entry : values) ++expected[entry & 15U];
  std::vector<u32> sums;
  for (const int threads : {1, 2, 5}) {
    Gpu gpu("basics", GetParam(), threads);
    const u64 histogram = gpu.upload(std::vector<u32>(16), "histogram");
    const u64 sum = gpu.upload(std::vector<float>(1), "sum");
    gpu.launch("accumulate", blocks(64), gpu.upload(values, "values"), histogram, sum);
    EXPECT_EQ(gpu.download<u32>(histogram, 16), expected);
    sums.push_back(gpu.download<u32>(sum, 1)[0]);
  }
  EXPECT_EQ(sums[0], sums[1]);
  EXPECT_EQ(sums[0], sums[2]);
}

TEST_P(BasicKernels, AnAccessPastTheEndNamesAllIsNeededToFindIt) {
  Gpu gpu("basics", GetParam());
  const u64 a = gpu.upload(std::vector<float>(256), "a");
  const u64 sums = gpu.upload(std::vector<float>(255), "sums");
  try {
    gpu.launch("vector_add", blocks(1), a, a, sums, 256U);
    FAIL() << "nothing was found";
  } catch (const Failure& failure) {
    const std::string message = failure.what();
    for (const char* part : {"kernel vector_add, workgroup (0, 0, 0), wave 3", "global_store_dword",
                             "lane 63 accesses 4 bytes at", "4 bytes past the end of 'sums' (1020 bytes"}) {
      EXPECT_NE(message.find(part), std::string::npos) << message;
    }
  }
}

TEST_P(BasicKernels, TheFaultOfTheFirstWorkgroupIsReportedForAnyNumberOfThreads) {
  for (const int threads : {1, 2, 7}) {
    Gpu gpu("basics", GetParam(), threads);
    const u64 a = gpu.upload(std::vector<float>(20 * 256), "a");
    const u64 sums = gpu.upload(std::vector<float>(5 * 256), "sums");
    try {
      gpu.launch("vector_add", blocks(20), a, a, sums, 20 * 256U);
      FAIL() << "nothing was found";
    } catch (const Failure& failure) {
      EXPECT_NE(std::string(failure.what()).find("workgroup (5, 0, 0), wave 0"), std::string::npos) << failure.what();
    }
  }
}

TEST_P(BasicKernels, ALaunchThatTheKernelDoesNotAllowIsAMistakeOfTheUser) {
  Gpu gpu("basics", GetParam());
  EXPECT_THROW(gpu.launch("vector_add", {{1, 1, 1}, {512, 1, 1}, 0}, u64{0}, u64{0}, u64{0}, 0U), UserError);
  EXPECT_THROW(gpu.launch("vector_add", {{0, 1, 1}, {64, 1, 1}, 0}, u64{0}, u64{0}, u64{0}, 0U), UserError);
  EXPECT_THROW(gpu.launch("vector_add", blocks(1), u64{0}), UserError);
  EXPECT_THROW(gpu.launch("no_such_kernel", blocks(1)), UserError);
}

INSTANTIATE_TEST_SUITE_P(Generations, BasicKernels, testing::Values(Generation::cdna3, Generation::cdna4),
                         [](const auto& generation) { return std::string(processor(generation.param)); });

}  // namespace
}  // namespace octet::sim
