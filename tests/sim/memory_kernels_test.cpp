// Compiled kernels that use buffers, loads into LDS, flat addresses, atomics and the hardware's state: that what clang
// emits for its builtins is executed, and gives what the builtins promise.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "sim/diary.h"
#include "sim/gpu.h"

namespace octet::sim {
namespace {

class MemoryKernels : public testing::TestWithParam<Generation> {
 protected:
  [[nodiscard]] std::vector<u32> numbers(std::size_t count, u32 below) {
    std::vector<u32> values(count);
    for (u32& value : values) value = static_cast<u32>(engine_()) % below;
    return values;
  }
  std::mt19937 engine_{11};
  Gpu gpu_{"memory", GetParam()};
};

/// Whether the program has an instruction that begins so.
bool has_instruction(const Program& program, const std::string& begin) {
  for (u32 number = 0; number < program.instructions().size(); ++number) {
    if (program.text(number).starts_with(begin)) return true;
  }
  return false;
}

TEST_P(MemoryKernels, Buffers) {
  constexpr u32 kCount = 512;
  constexpr u32 kWithin = 300;  // dwords in the buffers' range
  const std::vector<u32> values = numbers(kCount, 1U << 30);
  const u64 out = gpu_.upload(std::vector<u32>(kCount, 7), "out");
  gpu_.launch("sum_buffers", blocks(2), gpu_.upload(values, "values"), out, 4 * kWithin);
  const auto got = gpu_.download<u32>(out, kCount);
  const auto value = [&](u32 i) { return i < kWithin ? values[i] : 0; };
  for (u32 i = 0; i < kCount; ++i) {
    u32 expected = value(i / 256) + (values[i / 4] >> 8 * (i % 4) & 0xFFU);
    for (u32 k = 0; k < 4; ++k) expected += value(i + k);
    ASSERT_EQ(got[i], i < kWithin ? expected : 7) << i;
  }
}

TEST_P(MemoryKernels, AtomicsOnABuffer) {
  const std::vector<u32> values = numbers(1024, 1000);
  std::vector<u32> expected(16);
  for (const u32 value : values) {
    if (value % 16 < 10) ++expected[value % 16];
  }
  const u64 histogram = gpu_.upload(std::vector<u32>(16), "histogram");
  gpu_.launch("count_by_buffer", blocks(4), gpu_.upload(values, "values"), histogram, 10U);
  EXPECT_EQ(gpu_.download<u32>(histogram, 16), expected);
}

TEST_P(MemoryKernels, LoadsIntoLds) {
  const std::vector<u32> values = numbers(512, ~0U);
  const u64 from = gpu_.upload(values, "values");
  const u64 out = gpu_.upload(std::vector<u32>(512), "out");
  gpu_.launch("reverse_through_lds", blocks(2), from, out);
  auto got = gpu_.download<u32>(out, 512);
  for (u32 i = 0; i < 512; ++i) ASSERT_EQ(got[i], values[i / 256 * 256 + 255 - i % 256]) << i;
  gpu_.launch("reverse_buffer_through_lds", blocks(2), from, out, 4 * 400U);
  got = gpu_.download<u32>(out, 512);
  for (u32 i = 0; i < 512; ++i) {
    const u32 source = i / 256 * 256 + 255 - i % 256;
    ASSERT_EQ(got[i], source < 400 ? values[source] : 0) << i;
  }
}

TEST_P(MemoryKernels, OnePointerToThreeMemories) {
  EXPECT_TRUE(has_instruction(gpu_.program(), "flat_load_dword "));
  EXPECT_TRUE(has_instruction(gpu_.program(), "flat_atomic_add "));
  const std::vector<u32> choices = numbers(64, 16);
  const std::vector<u32> words = numbers(64, 1000);
  const u64 counted = gpu_.upload(words, "words");
  const u64 out = gpu_.upload(std::vector<u32>(64), "out");
  gpu_.launch("choose_by_pointer", {{1, 1, 1}, {64, 1, 1}, 0}, counted, gpu_.upload(choices, "choices"), out);
  const auto got = gpu_.download<u32>(out, 64);
  const auto after = gpu_.download<u32>(counted, 64);
  for (u32 i = 0; i < 64; ++i) {
    const u32 word = words[i] + i % 2 * 5;
    EXPECT_EQ(after[i], word) << i;
    const u32 shared = 1000 + i + (1 - i % 2) * 5;
    const u32 own = 3000 + 16 * i;  // index and choice are the same
    EXPECT_EQ(got[i], choices[i] % 3 == 0 ? word : choices[i] % 3 == 1 ? shared : own) << i;
  }
}

TEST_P(MemoryKernels, ClocksAndMode) {
  const u64 out = gpu_.upload(std::vector<u32>(2), "out");
  gpu_.launch("read_state", blocks(2), out);
  const auto first = gpu_.download<u32>(out, 2);
  EXPECT_GT(first[0], 0U);
  EXPECT_LT(first[0], 100U);
  EXPECT_EQ(first[1], 0x3F0U);
  gpu_.launch("read_state", blocks(2), out);
  EXPECT_EQ(gpu_.download<u32>(out, 2), first);
}

TEST_P(MemoryKernels, AKernelThatGivesUpIsAFault) {
  std::vector<u32> values(512, 1);
  const u64 from = gpu_.upload(values, "values");
  gpu_.launch("give_up", blocks(2), from);
  values[300] = 13;
  const u64 bad = gpu_.upload(values, "values");
  const std::string message = failure_of([&] { gpu_.launch("give_up", blocks(2), bad); });
  EXPECT_NE(message.find("kernel give_up, workgroup (1, 0, 0), wave 0"), std::string::npos) << message;
  EXPECT_NE(message.find("s_trap 2: the kernel stops itself by trap 2"), std::string::npos) << message;
}

TEST_P(MemoryKernels, AtomicsOfAllWidths) {
  const std::vector<u32> values = numbers(1024, 1000);
  std::vector<double> doubles;
  for (const u32 value : values) doubles.push_back(value * 0.25 - 100);
  std::vector<std::int64_t> sums;
  std::vector<double> extremes;
  for (u32 remainder = 0; remainder < 4; ++remainder) {
    sums.insert(sums.end(), {0, -1000, 0});
    extremes.insert(extremes.end(), {0, 1e9, -1e9});
  }
  const u64 sums_at = gpu_.upload(sums, "sums");
  const u64 extremes_at = gpu_.upload(extremes, "extremes");
  const u64 total = gpu_.upload(std::vector<float>(4), "total");
  gpu_.launch("reduce_by_atomics", blocks(4), gpu_.upload(values, "values"), gpu_.upload(doubles, "doubles"), sums_at,
              extremes_at, total);
  std::vector<float> expected_total(4);
  for (u32 i = 0; i < values.size(); ++i) {
    const std::int64_t value = values[i];
    std::int64_t* sum = &sums[values[i] % 4 * 3];
    double* extreme = &extremes[values[i] % 4 * 3];
    sum[0] += value << 20;
    sum[1] = std::max(sum[1], value - 500);
    sum[2] ^= value << 30;
    extreme[0] += doubles[i];  // exact in any order
    extreme[1] = std::min(extreme[1], doubles[i]);
    extreme[2] = std::max(extreme[2], doubles[i]);
    expected_total[i / 256] += static_cast<float>(value);
  }
  EXPECT_EQ(gpu_.download<std::int64_t>(sums_at, 12), sums);
  EXPECT_EQ(gpu_.download<double>(extremes_at, 12), extremes);
  EXPECT_EQ(gpu_.download<float>(total, 4), expected_total);
}

INSTANTIATE_TEST_SUITE_P(Generations, MemoryKernels, testing::Values(Generation::cdna3, Generation::cdna4),
                         [](const auto& generation) { return std::string(processor(generation.param)); });

TEST(MemoryKernelsOfCdna4, TransposedReads) {
  Gpu gpu("memory", Generation::cdna4);
  EXPECT_TRUE(has_instruction(gpu.program(), "ds_read_b64_tr_b8 "));
  std::vector<std::uint8_t> values(512);
  for (u32 i = 0; i < 512; ++i) values[i] = static_cast<std::uint8_t>(i * 31 + i / 256 * 7);
  const u64 out = gpu.upload(std::vector<std::uint8_t>(512), "out");
  gpu.launch("transpose_bytes", {{1, 1, 1}, {64, 1, 1}, 0}, gpu.upload(values, "values"), out);
  const auto got = gpu.download<std::uint8_t>(out, 512);
  for (u32 row = 0; row < 32; ++row) {
    for (u32 column = 0; column < 16; ++column) ASSERT_EQ(got[column * 32 + row], values[row * 16 + column]);
  }
}

TEST(MemoryKernelsOfCdna4, WideLoadsIntoLds) {
  Gpu gpu("memory", Generation::cdna4);
  EXPECT_TRUE(has_instruction(gpu.program(), "global_load_lds_dwordx4 "));
  std::vector<u32> values(2048);
  for (u32 i = 0; i < values.size(); ++i) values[i] = i * 2654435761U;
  const u64 out = gpu.upload(std::vector<u32>(2048), "out");
  gpu.launch("reverse_wide_through_lds", blocks(2), gpu.upload(values, "values"), out);
  const auto got = gpu.download<u32>(out, 2048);
  for (u32 i = 0; i < 2048; ++i) {
    const u32 lane = i / 4 % 256;
    ASSERT_EQ(got[i], values[i / 1024 * 1024 + (255 - lane) * 4 + i % 4]) << i;
  }
}

}  // namespace
}  // namespace octet::sim
