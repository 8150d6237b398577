// Compiled conversions of every bf16 value against src/fp8, and compiled matrix instructions against plain products.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "fp8/bf16.h"
#include "fp8/formats.h"
#include "sim/gpu.h"

namespace octet::sim {
namespace {

using fp8::Format;

class FormatKernels : public testing::TestWithParam<Generation> {};

template <Format F>
void expect_converted(float value, u32 code, float decoded) {
  const fp8::Code<F> expected = fp8::encode_non_saturating<F>(value);
  if (fp8::is_nan(expected)) {
    ASSERT_TRUE(fp8::is_nan(fp8::Code<F>{static_cast<std::uint8_t>(code)})) << value;
    ASSERT_TRUE(std::isnan(decoded)) << value;
  } else {
    ASSERT_EQ(code, expected.bits) << value;
    ASSERT_EQ(std::bit_cast<u32>(decoded), std::bit_cast<u32>(fp8::decode(expected))) << value;
  }
}

TEST_P(FormatKernels, EveryBf16ToFp8AndBack) {
  constexpr u32 kCount = 65536;
  Gpu gpu("formats", GetParam());
  const u64 codes = gpu.upload(std::vector<u32>(kCount), "codes");
  const u64 values = gpu.upload(std::vector<float>(2 * kCount), "values");
  gpu.launch("convert", {{kCount / 256, 1, 1}, {256, 1, 1}, 0}, codes, values);
  const auto got = gpu.download<u32>(codes, kCount);
  const auto decoded = gpu.download<float>(values, 2 * kCount);
  for (u32 i = 0; i < kCount; ++i) {
    const float value = to_float(bf16{static_cast<std::uint16_t>(i)});
    const u32 fp8_code = got[i] & 0xFFU;
    const u32 bf8_code = got[i] >> 8;
    if (GetParam() == Generation::cdna3) {
      expect_converted<Format::e4m3fnuz>(value, fp8_code, decoded[2 * i]);
      expect_converted<Format::e5m2fnuz>(value, bf8_code, decoded[2 * i + 1]);
    } else {
      expect_converted<Format::e4m3fn>(value, fp8_code, decoded[2 * i]);
      expect_converted<Format::e5m2>(value, bf8_code, decoded[2 * i + 1]);
    }
  }
}

/// A finite value with no random bits set: cut off to the next code towards zero.
template <Format F>
void expect_cut_off(float value, u32 code) {
  const auto magnitude = [code](u32 more) {
    return std::fabs(fp8::decode(fp8::Code<F>{static_cast<std::uint8_t>((code & 0x7FU) + more)}));
  };
  ASSERT_LE(magnitude(0), std::fabs(value)) << value;
  ASSERT_GT(magnitude(1), std::fabs(value)) << value;
  if (magnitude(0) > 0) {
    ASSERT_EQ(code >> 7, std::signbit(value) ? 1U : 0U) << value;
  }
}

TEST_P(FormatKernels, StochasticRounding) {
  constexpr u32 kCount = 65536;
  Gpu gpu("formats", GetParam());
  const u64 codes = gpu.upload(std::vector<u32>(kCount), "codes");
  const u64 randoms = gpu.upload(std::vector<u32>(kCount), "randoms");
  gpu.launch("convert_stochastically", {{kCount / 256, 1, 1}, {256, 1, 1}, 0}, randoms, codes);
  const auto got = gpu.download<u32>(codes, kCount);
  for (u32 i = 0; i < kCount; ++i) {
    const float value = to_float(bf16{static_cast<std::uint16_t>(i)});
    if (!(std::fabs(value) < 200)) continue;  // in the range of all four formats
    if (GetParam() == Generation::cdna3) {
      expect_cut_off<Format::e5m2fnuz>(value, got[i] & 0xFFU);
      expect_cut_off<Format::e4m3fnuz>(value, got[i] >> 16 & 0xFFU);
    } else {
      expect_cut_off<Format::e5m2>(value, got[i] & 0xFFU);
      expect_cut_off<Format::e4m3fn>(value, got[i] >> 16 & 0xFFU);
    }
  }
}

/// c [16, 16] + a b^T for a and b [16, depth]; with integers as factors exact in any order.
std::vector<float> plain_product(const std::vector<float>& a, const std::vector<float>& b, std::vector<float> c,
                                 u32 depth) {
  for (u32 row = 0; row < 16; ++row) {
    for (u32 column = 0; column < 16; ++column) {
      for (u32 k = 0; k < depth; ++k) c[row * 16 + column] += a[row * depth + k] * b[column * depth + k];
    }
  }
  return c;
}

struct Factors {
  std::vector<float> a, b, c;
};

Factors random_factors(u32 depth) {
  std::mt19937 engine(9);
  Factors factors;
  for (u32 i = 0; i < 16 * depth; ++i) {
    factors.a.push_back(static_cast<float>(engine() % 33) - 16);
    factors.b.push_back(static_cast<float>(engine() % 17) - 8);
  }
  for (u32 i = 0; i < 256; ++i) factors.c.push_back(static_cast<float>(engine() % 100));
  return factors;
}

TEST_P(FormatKernels, Fp8Product) {
  const Factors factors = random_factors(32);
  const auto codes = [](const std::vector<float>& values) {
    std::vector<std::uint8_t> encoded;
    for (const float value : values) {
      encoded.push_back(GetParam() == Generation::cdna3 ? fp8::encode<Format::e4m3fnuz>(value).bits
                                                        : fp8::encode<Format::e4m3fn>(value).bits);
    }
    return encoded;
  };
  Gpu gpu("formats", GetParam());
  const u64 c = gpu.upload(factors.c, "c");
  gpu.launch("multiply_fp8", {{1, 1, 1}, {64, 1, 1}, 0}, gpu.upload(codes(factors.a), "a"),
             gpu.upload(codes(factors.b), "b"), c);
  EXPECT_EQ(gpu.download<float>(c, 256), plain_product(factors.a, factors.b, factors.c, 32));
}

TEST_P(FormatKernels, Bf16Product) {
  const Factors factors = random_factors(16);
  const auto rounded = [](const std::vector<float>& values) {
    std::vector<bf16> encoded;
    for (const float value : values) encoded.push_back(to_bf16(value));
    return encoded;
  };
  Gpu gpu("formats", GetParam());
  const u64 c = gpu.upload(factors.c, "c");
  gpu.launch("multiply_bf16", {{1, 1, 1}, {64, 1, 1}, 0}, gpu.upload(rounded(factors.a), "a"),
             gpu.upload(rounded(factors.b), "b"), c);
  EXPECT_EQ(gpu.download<float>(c, 256), plain_product(factors.a, factors.b, factors.c, 16));
}

TEST_P(FormatKernels, ProductsOfDoubles) {
  std::mt19937 engine(9);
  std::array<std::vector<double>, 3> matrices;  // a, b, c: [4, 4, 4]
  for (auto& matrix : matrices) {
    for (u32 i = 0; i < 64; ++i) matrix.push_back(static_cast<double>(engine() % 2001) - 1000);
  }
  const auto& [a, b, c] = matrices;
  std::vector<double> expected = c;
  for (u32 i = 0; i < 64; ++i) {
    for (u32 k = 0; k < 4; ++k) expected[i] += a[i / 4 * 4 + k] * b[i / 16 * 16 + k * 4 + i % 4];
  }
  Gpu gpu("formats", GetParam());
  const u64 result = gpu.upload(c, "c");
  gpu.launch("multiply_doubles", {{1, 1, 1}, {64, 1, 1}, 0}, gpu.upload(a, "a"), gpu.upload(b, "b"), result);
  EXPECT_EQ(gpu.download<double>(result, 64), expected);
}

TEST(Cdna4Kernels, ScaledProduct) {
  constexpr u32 kDepth = 128;
  const Factors factors = random_factors(kDepth);
  std::mt19937 engine(5);
  std::array<std::vector<std::uint8_t>, 2> codes;   // [16, kDepth]
  std::array<std::vector<std::uint8_t>, 2> scales;  // [16, kDepth / 32]
  std::array<std::vector<float>, 2> scaled{factors.a, factors.b};
  for (std::size_t side = 0; side < 2; ++side) {
    for (u32 i = 0; i < 16 * kDepth / 32; ++i) scales[side].push_back(static_cast<std::uint8_t>(125 + engine() % 5));
    for (u32 i = 0; i < 16 * kDepth; ++i) {
      codes[side].push_back(fp8::encode<Format::e4m3fn>(scaled[side][i]).bits);
      scaled[side][i] *= std::exp2(static_cast<float>(scales[side][i / 32]) - 127);
    }
  }
  Gpu gpu("formats", Generation::cdna4);
  const u64 c = gpu.upload(factors.c, "c");
  gpu.launch("multiply_scaled", {{1, 1, 1}, {64, 1, 1}, 0}, gpu.upload(codes[0], "a"), gpu.upload(codes[1], "b"),
             gpu.upload(scales[0], "scales of a"), gpu.upload(scales[1], "scales of b"), c);
  EXPECT_EQ(gpu.download<float>(c, 256), plain_product(scaled[0], scaled[1], factors.c, kDepth));
}

TEST(Cdna4Kernels, ThroughFp4) {
  const std::vector<float> values{0, 0.49F, 0.5F, 1.75F, -1.26F, 2.5F, 3.51F, -5, 100, -0.24F};
  const std::vector<float> rounded{0, 0, 0, 2, -1, 2, 4, -4, 12, 0};  // with the scale 2: of 0, 1, 2, 3, 4, 6, 8, 12
  std::vector<float> many(512);
  for (std::size_t i = 0; i < many.size(); ++i) many[i] = values[i % values.size()];
  Gpu gpu("formats", Generation::cdna4);
  const u64 results = gpu.upload(std::vector<float>(512), "results");
  gpu.launch("through_fp4", {{1, 1, 1}, {256, 1, 1}, 0}, gpu.upload(many, "values"), results, 2.0F);
  const auto got = gpu.download<float>(results, 512);
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i], rounded[i % rounded.size()]) << many[i];
}

INSTANTIATE_TEST_SUITE_P(Generations, FormatKernels, testing::Values(Generation::cdna3, Generation::cdna4),
                         [](const auto& generation) { return std::string(processor(generation.param)); });

}  // namespace
}  // namespace octet::sim
