// What the machine code of known kernels holds: widths of accesses, loops, and what must not be there.
#include "sim/counters/static_counts.h"

#include <gtest/gtest.h>

#include "sim/gpu.h"

namespace octet::sim {
namespace {

StaticCounts counts_of(const std::string& source, const char* kernel, Generation generation) {
  const Gpu gpu(source, generation);
  return static_counts(gpu.program(), gpu.program().object().kernel(kernel));
}

TEST(StaticCountsTest, ALoopOfWideAccessesAndMatrixInstructions) {
  for (const Generation generation : {Generation::cdna3, Generation::cdna4}) {
    const StaticCounts counts = counts_of("training", "multiply_tiles", generation);
    ASSERT_GE(counts.loops.size(), 1U);  // behind it come those of the stores
    const CodeCounts& loop = counts.loops.front().counts;
    EXPECT_EQ(loop.global_loads, (WidthCounts{{16, 2}}));
    EXPECT_EQ(loop.global_stores, WidthCounts{});
    EXPECT_EQ(loop.lds_stores, (WidthCounts{{16, 2}}));
    EXPECT_EQ(loop.matrix, 8U);
    EXPECT_EQ(loop.barriers, 2U);
    EXPECT_GE(loop.branches, 1U);
    EXPECT_LT(counts.loops.front().begin, counts.loops.front().end);
    EXPECT_LT(loop.instructions, counts.whole.instructions);
    EXPECT_EQ(counts.whole.global_loads, loop.global_loads);
    EXPECT_EQ(counts.whole.matrix, loop.matrix);
    EXPECT_EQ(counts.whole.global_stores, (WidthCounts{{4, 64}}));
    EXPECT_EQ(counts.whole.scratch + counts.whole.cache_maintenance + counts.whole.not_implemented, 0U);
  }
}

TEST(StaticCountsTest, ScratchAtomicsAndStraightCode) {
  EXPECT_GT(counts_of("counting", "spill", Generation::cdna3).whole.scratch, 0U);
  const StaticCounts atomics = counts_of("basics", "accumulate", Generation::cdna3);
  EXPECT_GE(atomics.whole.global_atomics, 2U);
  EXPECT_EQ(atomics.whole.cache_maintenance, 0U);  // relaxed
  const StaticCounts add = counts_of("basics", "vector_add", Generation::cdna4);
  EXPECT_TRUE(add.loops.empty());
  EXPECT_EQ(add.whole.global_loads, (WidthCounts{{4, 2}}));
  EXPECT_EQ(add.whole.global_stores, (WidthCounts{{4, 1}}));
  EXPECT_EQ(add.whole.scratch + add.whole.global_atomics + add.whole.lds_atomics + add.whole.matrix, 0U);
  const StaticCounts wide = counts_of("counting", "exchange_b128", Generation::cdna3);
  EXPECT_EQ(wide.whole.lds_stores, (WidthCounts{{16, 1}}));
  EXPECT_EQ(wide.whole.lds_loads, (WidthCounts{{16, 1}}));
}

TEST(StaticCountsTest, FencesBetweenWorkgroupsAreCacheMaintenance) {
  EXPECT_EQ(counts_of("counting", "publish", Generation::cdna3).whole.cache_maintenance, 2U);
}

}  // namespace
}  // namespace octet::sim
