// What clang expands into sequences of instructions, against the host: exact division of floats, 64-bit integers, calls
// with memory of their own in scratch, atomics in LDS, scans of a wave by DPP.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/gpu.h"

namespace octet::sim {
namespace {

using i32 = std::int32_t;
using i64 = std::int64_t;

class ArithmeticKernels : public testing::TestWithParam<Generation> {
 protected:
  [[nodiscard]] u64 bits() { return engine_(); }
  [[nodiscard]] u32 below(u32 end) { return static_cast<u32>(engine_() % end); }
  /// Signs, exponents at the ends and around where the sequence scales, mantissas of few bits, of all, and random ones.
  [[nodiscard]] float hostile_float();
  /// A numerator and a denominator whose quotient is, or nearly is, half way between two denormals.
  [[nodiscard]] std::pair<float, float> nearly_halfway();
  [[nodiscard]] u64 hostile_integer();

 private:
  std::mt19937_64 engine_{11};
};

constexpr LaunchConfig in_blocks(u32 count) {
  return {{count, 1, 1}, {256, 1, 1}, 0};
}

float ArithmeticKernels::hostile_float() {
  constexpr std::array<u32, 20> kExponents{0,   0,   1,   2,   22,  23,  24,  63,  64,  95,
                                           103, 126, 127, 128, 150, 191, 223, 252, 253, 254};
  const u32 special = kExponents[below(20)];
  const u32 exponent = below(2) == 0 ? special : below(256);
  const std::array<u32, 6> mantissas{0, 1, 0x7F'FFFF, 0x40'0000, 1U << below(23), below(1U << 23)};
  const u32 mantissa = mantissas[below(6)];
  return std::bit_cast<float>(below(2) << 31 | exponent << 23 | mantissa);
}

std::pair<float, float> ArithmeticKernels::nearly_halfway() {
  const auto few_bits = static_cast<float>(1 + below(1U << 12));
  const float denominator = std::ldexp(few_bits, static_cast<int>(below(100)));
  const double quotient = below(1U << 11) + 0.5;  // in units of the least denormal
  const auto numerator = static_cast<float>(std::ldexp(quotient * double{denominator}, -149));
  const std::array<float, 3> choices{numerator, std::nextafter(numerator, INFINITY), std::nextafter(numerator, 0.0F)};
  return {choices[below(3)], denominator};
}

u64 ArithmeticKernels::hostile_integer() {
  constexpr std::array<u64, 10> kSpecial{1,
                                         2,
                                         3,
                                         0x7FFF'FFFF,
                                         0x8000'0000,
                                         0xFFFF'FFFF,
                                         0x1'0000'0000,
                                         0x7FFF'FFFF'FFFF'FFFF,
                                         0x8000'0000'0000'0000,
                                         0xFFFF'FFFF'FFFF'FFFF};
  if (below(4) == 0) return kSpecial[below(10)];
  return bits() >> below(64);
}

TEST_P(ArithmeticKernels, QuotientsOfFloatsAreRoundedAsIeee754Asks) {
  constexpr u32 kCount = 1U << 18;
  std::vector<float> a(kCount);
  std::vector<float> b(kCount);
  for (u32 i = 0; i < kCount; ++i) {
    if (i % 4 == 0) {
      std::tie(a[i], b[i]) = nearly_halfway();
    } else {
      a[i] = hostile_float();
      b[i] = hostile_float();
    }
  }
  Gpu gpu("basics", GetParam());
  const u64 quotients = gpu.upload(std::vector<float>(kCount), "quotients");
  gpu.launch("divide", in_blocks(kCount / 256), gpu.upload(a, "a"), gpu.upload(b, "b"), quotients, kCount);
  const auto got = gpu.download<float>(quotients, kCount);
  for (u32 i = 0; i < kCount; ++i) {
    const float expected = a[i] / b[i];
    const bool same =
        std::isnan(expected) ? std::isnan(got[i]) : std::bit_cast<u32>(got[i]) == std::bit_cast<u32>(expected);
    ASSERT_TRUE(same) << std::hexfloat << a[i] << " / " << b[i] << " gave " << got[i] << ", not " << expected;
  }
}

/// As the kernel wide_integers; in 128 bits, so that nothing overflows.
std::array<u64, 16> wide_reference(u64 x, u64 y) {
  __extension__ using Wide = __int128;
  __extension__ using UnsignedWide = unsigned __int128;
  const auto p = static_cast<i64>(x);
  const auto q = static_cast<i64>(y);
  const u64 shift = y % 64;
  u64 shifted = x;
  u64 halved = x;
  u64 bit_count = 0;
  i64 floored = p;
  for (u64 step = 0; step < shift; ++step) {
    shifted += shifted;
    halved /= 2;
    floored = (floored - (floored % 2 != 0 && floored < 0 ? 1 : 0)) / 2;
  }
  for (u64 rest = x; rest != 0; rest /= 2) bit_count += rest % 2;
  const u64 comparisons =
      u64{x < y} + u64{x <= y} * 2 + u64{p < q} * 4 + u64{p <= q} * 8 + u64{x == y} * 16 + u64{x != y} * 32;
  const UnsignedWide product = UnsignedWide{x} * y;
  return {static_cast<u64>(UnsignedWide{x} + y),
          static_cast<u64>(Wide{p} - q),
          static_cast<u64>(product),
          static_cast<u64>(product >> 64),
          shifted,
          halved,
          static_cast<u64>(floored),
          x / y,
          x % y,
          static_cast<u64>(Wide{p} / q),
          static_cast<u64>(Wide{p} % q),
          comparisons,
          std::min(x, y),
          static_cast<u64>(std::max(p, q)),
          bit_count,
          (x & y) ^ (x | ~y)};
}

TEST_P(ArithmeticKernels, WideIntegers) {
  constexpr u32 kCount = 8192;
  std::vector<u64> a(kCount);
  std::vector<u64> b(kCount);
  for (u32 i = 0; i < kCount; ++i) {
    a[i] = hostile_integer();
    b[i] = std::max<u64>(hostile_integer(), 1);
    const bool overflows = a[i] == u64{1} << 63 && b[i] == ~u64{0};
    if (overflows) b[i] = 5;
  }
  Gpu gpu("arithmetic", GetParam());
  const u64 out = gpu.upload(std::vector<u64>(std::size_t{kCount} * 16), "out");
  gpu.launch("wide_integers", in_blocks(kCount / 256), gpu.upload(a, "a"), gpu.upload(b, "b"), out, kCount);
  const auto got = gpu.download<u64>(out, std::size_t{kCount} * 16);
  for (std::size_t i = 0; i < kCount; ++i) {
    const std::array<u64, 16> expected = wide_reference(a[i], b[i]);
    for (std::size_t k = 0; k < 16; ++k) {
      ASSERT_EQ(got[i * 16 + k], expected[k]) << "number " << k << " of " << std::hex << a[i] << " and " << b[i];
    }
  }
}

TEST_P(ArithmeticKernels, PreloadedArgumentsNeedNoCodeThatLoadsThem) {
  const Gpu gpu("arithmetic", GetParam());
  const Kernel& kernel = gpu.program().object().kernel("wide_integers");
  ASSERT_GE(kernel.initial.preloaded_dwords, 7U);  // three addresses and a count
  EXPECT_EQ(gpu.program().address(gpu.program().entry(kernel)), kernel.entry + 256);
}

u32 walk(std::array<u32, 16>& table, u32 steps) {
  std::array<u32, 24> visits{};
  u32 at = 0;
  for (u32 k = 0; k < steps; ++k) {
    at = table[at] % 16;
    table[at] += k;
    visits[(at + k) % 24] += at;
  }
  u32 sum = 0;
  for (const u32 visit : visits) sum = sum * 31 + visit;
  return sum;
}

TEST_P(ArithmeticKernels, ACallHasItsOwnFrameInScratch) {
  std::vector<u32> values(256);
  for (u32& entry : values) entry = static_cast<u32>(bits());
  Gpu gpu("arithmetic", GetParam());
  const Kernel& kernel = gpu.program().object().kernel("call_with_scratch");
  ASSERT_GE(kernel.scratch_bytes, 4U * (16 + 24));  // both frames
  const u64 out = gpu.upload(std::vector<u32>(512), "out");
  gpu.launch("call_with_scratch", in_blocks(2), gpu.upload(values, "values"), out);
  const auto got = gpu.download<u32>(out, 512);
  for (u32 i = 0; i < 512; ++i) {
    std::array<u32, 16> table{};
    for (u32 k = 0; k < 16; ++k) table[k] = values[(i + k * 5) % 256];
    u32 sum = walk(table, i % 16);
    sum = sum * 31 + walk(table, 20);
    for (const u32 entry : table) sum = sum * 31 + entry;
    ASSERT_EQ(got[i], sum) << i;
  }
}

TEST_P(ArithmeticKernels, AtomicsBehindACallGiveTheSameBitsForAnyNumberOfThreads) {
  std::vector<float> values(64 * 256);
  for (float& value : values) value = static_cast<float>(below(1000)) * 0.1F;
  std::vector<u32> sums;
  for (const int threads : {1, 2, 5}) {
    Gpu gpu("arithmetic", GetParam(), threads);
    const u64 sum = gpu.upload(std::vector<float>(1), "sum");
    gpu.launch("add_by_calls", in_blocks(64), gpu.upload(values, "values"), sum);
    sums.push_back(gpu.download<u32>(sum, 1)[0]);
    EXPECT_TRUE(gpu.program().order_matters(gpu.program().object().kernel("add_by_calls")));
    EXPECT_FALSE(gpu.program().order_matters(gpu.program().object().kernel("sum_waves")));
  }
  EXPECT_EQ(sums[0], sums[1]);
  EXPECT_EQ(sums[0], sums[2]);
}

TEST_P(ArithmeticKernels, AtomicsInLds) {
  std::vector<u32> values(256);
  for (u32& value : values) value = static_cast<u32>(bits());
  std::array<std::array<u32, 8>, 9> expected{};
  for (u32 k = 0; k < 72; ++k) expected[k / 8][k % 8] = 0x1000'0000U * (k % 8) + k;
  for (const u32 value : values) {
    const auto apply = [&](std::size_t operation, u32 with) { expected[operation][value % 8] = with; };
    const auto now = [&](std::size_t operation) { return expected[operation][value % 8]; };
    apply(0, now(0) + value);
    apply(1, now(1) - value);
    apply(2, now(2) & value);
    apply(3, now(3) | value);
    apply(4, now(4) ^ value);
    apply(5, std::max(now(5), value));
    apply(6, std::min(now(6), value));
    apply(7, static_cast<u32>(std::max(static_cast<i32>(now(7)), static_cast<i32>(value))));
    apply(8, static_cast<u32>(std::min(static_cast<i32>(now(8)), static_cast<i32>(value))));
  }
  Gpu gpu("arithmetic", GetParam());
  const u64 words = gpu.upload(std::vector<u32>(72), "words");
  const u64 tickets = gpu.upload(std::vector<u32>(256), "tickets");
  const u64 exchanged = gpu.upload(std::vector<u32>(256), "exchanged");
  gpu.launch("lds_atomics", in_blocks(1), gpu.upload(values, "values"), words, tickets, exchanged);
  const auto got = gpu.download<u32>(words, 72);
  for (std::size_t k = 0; k < 72; ++k) EXPECT_EQ(got[k], expected[k / 8][k % 8]) << k / 8 << ", " << k % 8;

  // Whatever the order is: tickets of a word count up from 0, and an exchange returns each other thread's number once.
  const auto got_tickets = gpu.download<u32>(tickets, 256);
  const auto got_exchanged = gpu.download<u32>(exchanged, 256);
  for (u32 word = 0; word < 8; ++word) {
    std::set<u32> taken;
    std::set<u32> before;
    u32 count = 0;
    for (u32 thread = 0; thread < 256; ++thread) {
      if (values[thread] % 8 != word) continue;
      ++count;
      taken.insert(got_tickets[thread]);
      before.insert(got_exchanged[thread]);
      EXPECT_TRUE(got_exchanged[thread] == ~0U || values[got_exchanged[thread]] % 8 == word) << thread;
    }
    EXPECT_EQ(taken.size(), count);
    EXPECT_EQ(before.size(), count);
    EXPECT_EQ(*taken.rbegin(), count - 1);
    EXPECT_EQ(*before.rbegin(), ~0U);
  }
}

TEST_P(ArithmeticKernels, SumsOfWavesByDpp) {
  std::vector<u32> values(512);
  for (u32& value : values) value = static_cast<u32>(bits());
  Gpu gpu("arithmetic", GetParam());
  const u64 sums = gpu.upload(std::vector<u32>(512 * 5), "sums");
  gpu.launch("sum_waves", in_blocks(2), gpu.upload(values, "values"), sums);
  const auto got = gpu.download<u32>(sums, 512 * 5);
  const auto sum = [&](std::size_t first, std::size_t end) {
    u32 total = 0;
    for (std::size_t i = first; i < end; ++i) total += values[i];
    return total;
  };
  for (std::size_t i = 0; i < 512; ++i) {
    const std::size_t wave = i / 64 * 64;
    const std::size_t row = i / 16 * 16;
    EXPECT_EQ(got[i * 5], sum(wave, i + 1)) << i;
    EXPECT_EQ(got[i * 5 + 1], sum(row, row + 16)) << i;
    EXPECT_EQ(got[i * 5 + 2], sum(row, row + 16)) << i;
    EXPECT_EQ(got[i * 5 + 3], sum(wave, wave + 64)) << i;
    EXPECT_EQ(got[i * 5 + 4], sum(i, wave + 64)) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Generations, ArithmeticKernels, testing::Values(Generation::cdna3, Generation::cdna4),
                         [](const auto& generation) { return std::string(processor(generation.param)); });

}  // namespace
}  // namespace octet::sim
