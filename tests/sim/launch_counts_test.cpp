// Counts of whole launches whose numbers follow from what the kernels are meant to do.
#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "sim/counters/access_counts.h"
#include "sim/counters/instruction_counts.h"
#include "sim/gpu.h"

namespace octet::sim {
namespace {

constexpr LaunchConfig kOneWorkgroup{{1, 1, 1}, {256, 1, 1}, 0};

TEST(LaunchCountsTest, OperationsOfAProduct) {
  for (const Generation generation : {Generation::cdna3, Generation::cdna4}) {
    Gpu gpu("training", generation);
    const u64 codes = gpu.upload(std::vector<std::uint8_t>(128 * 96), "codes");
    const u64 c = gpu.upload(std::vector<float>(128 * 128), "c");
    const InstructionCounts counts =
        count_instructions(gpu.program(), gpu.launch("multiply_tiles", kOneWorkgroup, codes, codes, c, 128U, 96U));
    const u64 operations = u64{2} * 128 * 128 * 96;
    EXPECT_EQ(counts.all_matrix().operations, operations);
    ASSERT_EQ(counts.matrix.size(), 1U);
    EXPECT_EQ(counts.matrix.begin()->first, "v_mfma_f32_32x32x16_fp8_fp8");
    EXPECT_EQ(counts.matrix.begin()->second.instructions, operations / (2 * 32 * 32 * 16));
    EXPECT_EQ(counts.of_family.at(Family::matrix), counts.all_matrix().instructions);
    EXPECT_EQ(counts.barriers, 4U * 2 * 3);  // waves, barriers of an iteration, iterations
    EXPECT_EQ(counts.global_atomics + counts.lds_atomics + counts.cache_maintenance, 0U);
  }
}

TEST(LaunchCountsTest, BranchesThatWavesTake) {
  Gpu gpu("basics", Generation::cdna3);
  const u64 values = gpu.upload(std::vector<float>(1024), "values");
  const u64 sums = gpu.upload(std::vector<float>(1024), "sums");
  const InstructionCounts counts = count_instructions(
      gpu.program(), gpu.launch("vector_add", {{4, 1, 1}, {256, 1, 1}, 0}, values, values, sums, 300U));
  EXPECT_EQ(counts.branches, 16U);        // a wave each, around all that is conditional
  EXPECT_EQ(counts.branches_taken, 11U);  // by those without a lane below 300
  EXPECT_EQ(counts.of_mnemonic.at("global_store_dword"), 5U);
  EXPECT_EQ(counts.total, std::accumulate(counts.of_mnemonic.begin(), counts.of_mnemonic.end(), u64{0},
                                          [](u64 sum, const auto& count) { return sum + count.second; }));
  EXPECT_GE(counts.scalar_load_bytes, 16U * 4);  // the count, by each wave
}

TEST(LaunchCountsTest, AtomicsOfBothMemories) {
  Gpu gpu("basics", Generation::cdna3);
  const AccessCounter counter(gpu.program(), 2);
  gpu.listen(counter.listeners());
  const u64 values = gpu.upload(std::vector<u32>(512), "values");
  const u64 histogram = gpu.upload(std::vector<u32>(16), "histogram");
  const u64 sum = gpu.upload(std::vector<float>(1), "sum");
  const LaunchConfig config{{2, 1, 1}, {256, 1, 1}, 0};
  const InstructionCounts global =
      count_instructions(gpu.program(), gpu.launch("accumulate", config, values, histogram, sum));
  EXPECT_GE(global.global_atomics, 8U);
  EXPECT_EQ(global.lds_atomics, 0U);
  EXPECT_EQ(counter.total().global.update.accesses, global.global_atomics);
  EXPECT_EQ(counter.total().lds, ByKind<LdsCost>{});
  const u64 counts = gpu.upload(std::vector<u32>(512), "counts");
  const InstructionCounts lds =
      count_instructions(gpu.program(), gpu.launch("count_in_lds", config, values, counts, 1U));
  EXPECT_GE(lds.lds_atomics, 8U);
  EXPECT_EQ(lds.global_atomics, 0U);
  EXPECT_EQ(counter.total().lds.update.accesses, lds.lds_atomics);
}

TEST(LaunchCountsTest, SpilledRegistersAreAccessesToScratch) {
  Gpu gpu("counting", Generation::cdna3);
  const Kernel& kernel = gpu.program().object().kernel("spill");
  ASSERT_GT(kernel.spilled_vgprs, 0U);
  const AccessCounter counter(gpu.program(), 2);
  gpu.listen(counter.listeners());
  std::vector<u32> values(6400);
  std::iota(values.begin(), values.end(), 1);
  const u64 out = gpu.upload(std::vector<u32>(6400), "out");
  const LaunchResult result = gpu.launch("spill", {{2, 1, 1}, {64, 1, 1}, 0}, gpu.upload(values, "values"), out);
  const AccessCounts counts = counter.total();
  EXPECT_GE(counts.scratch_accesses, u64{2} * 2 * kernel.spilled_vgprs / 4);  // out and back, up to four at a time
  EXPECT_GE(counts.scratch_bytes, u64{2} * 2 * 64 * 4 * kernel.spilled_vgprs);
  EXPECT_EQ(count_instructions(gpu.program(), result).of_family.at(Family::scratch), counts.scratch_accesses);
  EXPECT_EQ(counts.global.read.bytes, 2U * 100 * 64 * 4);
  EXPECT_EQ(counts.global.write.bytes, 2U * 100 * 64 * 4);
  EXPECT_EQ(gpu.download<u32>(out, 2)[1], 2U * (100U * 2 + 64U * 99 * 50));
}

TEST(LaunchCountsTest, AreTheSameForAnyNumberOfThreads) {
  std::vector<std::vector<AccessCounts>> accesses;
  std::vector<LaunchResult> results;
  for (const int threads : {1, 2, 3}) {
    Gpu gpu("basics", Generation::cdna4, threads);
    const AccessCounter counter(gpu.program(), threads);
    gpu.listen(counter.listeners());
    std::vector<float> values(256 * 7);
    std::iota(values.begin(), values.end(), 0.5F);
    const u64 sums = gpu.upload(std::vector<float>(7), "sums");
    results.push_back(gpu.launch("reduce", {{7, 1, 1}, {256, 1, 1}, 0}, gpu.upload(values, "values"), sums));
    accesses.push_back(counter.by_instruction());
  }
  EXPECT_GT(results[0].branches_taken, 0U);
  for (const std::size_t other : {1U, 2U}) {
    EXPECT_EQ(results[0].executed, results[other].executed);
    EXPECT_EQ(results[0].branches_taken, results[other].branches_taken);
    EXPECT_TRUE(accesses[0] == accesses[other]);
  }
}

}  // namespace
}  // namespace octet::sim
