// Compiled kernels of doubles, halves, short integers and indexed registers, on both generations, against the host.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "sim/gpu.h"
#include "sim/half_reference.h"

namespace octet::sim {
namespace {

constexpr LaunchConfig workgroups(u32 count) {
  return {{count, 1, 1}, {256, 1, 1}, 0};
}

class NumberTypeKernels : public testing::TestWithParam<Generation> {
 protected:
  [[nodiscard]] u64 bits() { return engine_(); }
  /// Whether any instruction of the program has this mnemonic.
  [[nodiscard]] static bool executes(const Gpu& gpu, std::string_view mnemonic) {
    for (u32 number = 0; number < gpu.program().instructions().size(); ++number) {
      if (gpu.program().text(number).starts_with(mnemonic)) return true;
    }
    return false;
  }
  std::mt19937_64 engine_{11};
};

void expect_same(double got, double expected, double a, double b) {
  if (std::isnan(expected)) {
    ASSERT_TRUE(std::isnan(got)) << a << ", " << b << " gave " << got;
  } else {
    ASSERT_EQ(std::bit_cast<u64>(got), std::bit_cast<u64>(expected))
        << std::hexfloat << a << ", " << b << " gave " << got << ", not " << expected;
  }
}

TEST_P(NumberTypeKernels, DoublesAsIeee754HasThem) {
  std::vector<double> a;
  std::vector<double> b;
  const std::array<double, 13> special{0.0,
                                       -0.0,
                                       1.0,
                                       -3.0,
                                       0x1p-1074,
                                       0x1p-1022,
                                       INFINITY,
                                       -INFINITY,
                                       0x1.fffffffffffffp1023,
                                       1e-300,
                                       -1e300,
                                       0x1.8p1023,
                                       0x1.5555555555555p-1040};
  for (const double x : special) {
    for (const double y : special) {
      a.push_back(x);
      b.push_back(y);
    }
  }
  while (a.size() < 16384) {
    a.push_back(std::bit_cast<double>(bits()));
    b.push_back(std::bit_cast<double>(bits()));
  }
  while (a.size() < 32768) {  // quotients that are denormal, of few bits, so that many lie between two of these
    const auto numerator = static_cast<double>(bits() >> (32 + bits() % 28) | 1U);
    const auto denominator = static_cast<double>(bits() >> (32 + bits() % 28) | 1U);
    const int power = 1030 + static_cast<int>(bits() % 40);
    a.push_back(std::ldexp(numerator, -power / 2 - 100));
    b.push_back(std::ldexp(denominator, power - power / 2 - 100));
  }
  const auto count = static_cast<u32>(a.size());
  Gpu gpu("number_types", GetParam());
  const u64 results = gpu.upload(std::vector<double>(std::size_t{4} * count), "results");
  gpu.launch("double_arithmetic", workgroups(count / 256), gpu.upload(a, "a"), gpu.upload(b, "b"), results, count);
  const auto got = gpu.download<double>(results, std::size_t{4} * count);
  for (u32 i = 0; i < count; ++i) {
    expect_same(got[4 * i], a[i] / b[i], a[i], b[i]);
    expect_same(got[4 * i + 1], std::sqrt(std::fabs(a[i])), a[i], b[i]);
    expect_same(got[4 * i + 2], std::fma(a[i], b[i], a[i]), a[i], b[i]);
    expect_same(got[4 * i + 3], a[i] - std::nearbyint(a[i]), a[i], b[i]);
    if (HasFatalFailure()) return;
  }
}

TEST_P(NumberTypeKernels, Exponential) {
  std::vector<double> a(1024);
  for (double& x : a) x = std::uniform_real_distribution<double>(-740, 700)(engine_);
  Gpu gpu("number_types", GetParam());
  const u64 results = gpu.upload(std::vector<double>(a.size()), "results");
  gpu.launch("double_exponential", workgroups(4), gpu.upload(a, "a"), results, 1024U);
  const auto got = gpu.download<double>(results, a.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_NEAR(got[i], std::exp(a[i]), 4e-16 * std::exp(a[i]) + 0x1p-1074) << a[i];
  }
}

TEST_P(NumberTypeKernels, ConversionsOfDoubles) {
  std::vector<double> a(256);
  for (double& x : a)
    x = std::ldexp(std::uniform_real_distribution<double>(-1, 1)(engine_), static_cast<int>(bits() % 63));
  Gpu gpu("number_types", GetParam());
  const u64 whole = gpu.upload(std::vector<u64>(256), "whole");
  const u64 again = gpu.upload(std::vector<double>(256), "again");
  const u64 ranks = gpu.upload(std::vector<u32>(256), "ranks");
  gpu.launch("double_conversions", workgroups(1), gpu.upload(a, "a"), whole, again, ranks);
  const auto got_whole = gpu.download<std::int64_t>(whole, 256);
  const auto got_again = gpu.download<double>(again, 256);
  const auto got_ranks = gpu.download<u32>(ranks, 256);
  for (std::size_t i = 0; i < 256; ++i) {
    EXPECT_EQ(got_whole[i], static_cast<std::int64_t>(a[i]));
    EXPECT_EQ(got_again[i], static_cast<double>(got_whole[i]) + static_cast<double>(static_cast<float>(a[i])));
    u32 rank = 0;
    for (std::size_t k = 0; k < 256; ++k) rank += a[k] < a[i] || (a[k] == a[i] && k < i) ? 1 : 0;
    EXPECT_EQ(got_ranks[i], rank);
  }
}

TEST_P(NumberTypeKernels, Halves) {
  constexpr u32 kCount = 16384;
  std::vector<std::uint16_t> a(kCount);
  std::vector<std::uint16_t> b(kCount);
  std::vector<std::uint16_t> c(kCount);
  HalfOperands operands;
  for (auto* const values : {&a, &b, &c}) {
    for (std::uint16_t& value : *values) value = static_cast<std::uint16_t>(operands.next());
  }
  Gpu gpu("number_types", GetParam());
  const u64 results = gpu.upload(std::vector<std::uint16_t>(std::size_t{3} * kCount), "results");
  gpu.launch("half_arithmetic", workgroups(kCount / 256), gpu.upload(a, "a"), gpu.upload(b, "b"), gpu.upload(c, "c"),
             results, kCount);
  const auto got = gpu.download<std::uint16_t>(results, std::size_t{3} * kCount);
  for (u32 i = 0; i < kCount; ++i) {
    const long double x = half_value(a[i]);
    const long double y = half_value(b[i]);
    const long double z = half_value(c[i]);
    ASSERT_TRUE(same_half(got[3 * i], nearest_half(x * y + z))) << std::hex << a[i] << " " << b[i] << " " << c[i];
    ASSERT_TRUE(same_half(got[3 * i + 1], nearest_half(x / y))) << std::hex << a[i] << " " << b[i];
    ASSERT_EQ(half_value(got[3 * i + 2]) == std::fmax(x, z), !std::isnan(x) || !std::isnan(z));
  }
}

TEST_P(NumberTypeKernels, PairsOfHalves) {
  constexpr u32 kCount = 512;
  std::vector<std::uint16_t> a(kCount * 16);
  std::vector<std::uint16_t> b(kCount * 16);
  for (auto* const values : {&a, &b}) {
    for (std::uint16_t& value : *values) value = static_cast<std::uint16_t>((bits() & 0x83FFU) | 0x3800U);  // 0.5 to 1
  }
  Gpu gpu("number_types", GetParam());
  const u64 sums = gpu.upload(std::vector<std::uint16_t>(2 * kCount), "sums");
  const u64 dots = gpu.upload(std::vector<float>(kCount), "dots");
  const u64 mixed = gpu.upload(std::vector<float>(kCount), "mixed");
  gpu.launch("half_pairs", workgroups(kCount / 256), gpu.upload(a, "a"), gpu.upload(b, "b"), sums, dots, mixed);
  EXPECT_TRUE(executes(gpu, "v_pk_fma_f16") && executes(gpu, "v_dot2"));
  const auto got_sums = gpu.download<std::uint16_t>(sums, 2 * kCount);
  const auto got_dots = gpu.download<float>(dots, kCount);
  const auto got_mixed = gpu.download<float>(mixed, kCount);
  for (std::size_t i = 0; i < kCount; ++i) {
    std::array<u32, 2> sum{};
    float dot = 0;
    float mix = 1;
    for (std::size_t k = 0; k < 8; ++k) {
      std::array<double, 2> x{};
      std::array<double, 2> y{};
      for (std::size_t half = 0; half < 2; ++half) {
        x[half] = half_value(a[16 * i + 2 * k + half]);
        y[half] = half_value(b[16 * i + 2 * k + half]);
        const u32 fused = nearest_half(x[half] * y[half] + half_value(sum[half]));
        sum[half] = nearest_half(half_value(fused) - y[half]);
      }
      dot = static_cast<float>(x[0] * y[0] + x[1] * y[1] + double{dot});
      mix = static_cast<float>(x[1] * y[0] + double{mix});
    }
    ASSERT_EQ(got_sums[2 * i], sum[0]) << i;
    ASSERT_EQ(got_sums[2 * i + 1], sum[1]) << i;
    ASSERT_EQ(got_dots[i], dot) << i;
    ASSERT_EQ(got_mixed[i], mix) << i;
  }
}

TEST_P(NumberTypeKernels, PairsOfShortIntegers) {
  constexpr u32 kCount = 1024;
  std::vector<u32> a(kCount);
  std::vector<u32> b(kCount);
  for (u32 i = 0; i < kCount; ++i) {
    a[i] = static_cast<u32>(bits());
    b[i] = static_cast<u32>(bits());
  }
  Gpu gpu("number_types", GetParam());
  const u64 sums = gpu.upload(std::vector<u32>(kCount), "sums");
  const u64 products = gpu.upload(std::vector<u32>(kCount), "products");
  const u64 dots = gpu.upload(std::vector<u32>(kCount), "dots");
  gpu.launch("short_arithmetic", workgroups(kCount / 256), gpu.upload(a, "a"), gpu.upload(b, "b"), sums, products,
             dots);
  EXPECT_TRUE(executes(gpu, "v_pk_add_i16") && executes(gpu, "v_pk_mad_u16") && executes(gpu, "v_dot4"));
  const auto got_sums = gpu.download<u32>(sums, kCount);
  const auto got_products = gpu.download<u32>(products, kCount);
  const auto got_dots = gpu.download<u32>(dots, kCount);
  const auto in_range = [](int value) { return std::min(std::max(value, -32768), 32767); };
  for (u32 i = 0; i < kCount; ++i) {
    u32 sum = 0;
    u32 product = 0;
    for (u32 half = 0; half < 2; ++half) {
      const int x = static_cast<std::int16_t>(a[i] >> 16 * half);
      const int y = static_cast<std::int16_t>(b[i] >> 16 * half);
      const int value = in_range(in_range(x + y) - (y >> (half == 0 ? 3 : 5)));
      sum |= (static_cast<u32>(value) & 0xFFFFU) << 16 * half;
      product |= (static_cast<u32>(x * y + (half == 0 ? 7 : 9)) & 0xFFFFU) << 16 * half;
    }
    int dot = 1000;
    for (u32 byte = 0; byte < 32; byte += 8) {
      dot += static_cast<std::int8_t>(a[i] >> byte) * static_cast<std::int8_t>(b[i] >> byte);
    }
    ASSERT_EQ(got_sums[i], sum) << i;
    ASSERT_EQ(got_products[i], product) << i;
    ASSERT_EQ(got_dots[i], static_cast<u32>(dot)) << i;
  }
}

TEST_P(NumberTypeKernels, IndexedRegisters) {
  constexpr u32 kCount = 512;
  constexpr u32 kSteps = 50;
  std::vector<u32> values(kCount * 16);
  for (u32& value : values) value = static_cast<u32>(bits());
  std::vector<u32> places(2 * kSteps);
  for (u32& place : places) place = static_cast<u32>(bits());
  Gpu gpu("number_types", GetParam());
  ASSERT_EQ(gpu.program().object().kernel("index_registers").scratch_bytes, 0U);
  ASSERT_TRUE(executes(gpu, "s_set_gpr_idx_on"));
  const u64 out = gpu.upload(std::vector<u32>(values.size()), "out");
  gpu.launch("index_registers", workgroups(kCount / 256), gpu.upload(values, "values"), gpu.upload(places, "places"),
             out, kSteps);
  const auto got = gpu.download<u32>(out, values.size());
  for (std::size_t i = 0; i < kCount; ++i) {
    std::array<u32, 16> local{};
    for (std::size_t k = 0; k < 16; ++k) local[k] = values[16 * i + k];
    u32 sum = 0;
    for (std::size_t k = 0; k < kSteps; ++k) {
      sum = sum * 31 + local[places[2 * k] & 15U];
      local[places[2 * k + 1] & 15U] = sum;
    }
    for (std::size_t k = 0; k < 16; ++k) ASSERT_EQ(got[16 * i + k], local[k]) << i << " " << k;
  }
}

TEST_P(NumberTypeKernels, RegistersIndexedByLane) {
  constexpr u32 kCount = 512;
  std::vector<u32> values(kCount * 8);
  for (u32& value : values) value = static_cast<u32>(bits());
  Gpu gpu("number_types", GetParam());
  ASSERT_EQ(gpu.program().object().kernel("index_registers_by_lane").scratch_bytes, 0U);
  const u64 out = gpu.upload(std::vector<u32>(values.size()), "out");
  gpu.launch("index_registers_by_lane", workgroups(kCount / 256), gpu.upload(values, "values"), out);
  const auto got = gpu.download<u32>(out, values.size());
  for (u32 i = 0; i < kCount; ++i) {
    std::array<u32, 8> local{};
    for (u32 k = 0; k < 8; ++k) local[k] = values[8 * i + k];
    u32 at = i & 7U;
    for (u32 k = 0; k < 8; ++k) {
      local[at] += k;
      at = local[at] & 7U;
    }
    for (u32 k = 0; k < 8; ++k) ASSERT_EQ(got[8 * i + k], local[k]) << i << " " << k;
  }
}

INSTANTIATE_TEST_SUITE_P(Generations, NumberTypeKernels, testing::Values(Generation::cdna3, Generation::cdna4),
                         [](const auto& generation) { return std::string(processor(generation.param)); });

}  // namespace
}  // namespace octet::sim
