// Kernels as training has them, against src/fp8 and plain products; at the sizes that the simulator shall run quickly.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "fp8/bf16.h"
#include "fp8/formats.h"
#include "sim/gpu.h"

namespace octet::sim {
namespace {

using u8 = std::uint8_t;

fp8::Format format_of(Generation generation) {
  return generation == Generation::cdna3 ? fp8::Format::e4m3fnuz : fp8::Format::e4m3fn;
}

u8 encode(Generation generation, float value) {
  if (generation == Generation::cdna3) return fp8::encode<fp8::Format::e4m3fnuz>(value).bits;
  return fp8::encode<fp8::Format::e4m3fn>(value).bits;
}

float decode(Generation generation, u8 code) {
  if (generation == Generation::cdna3) return fp8::decode(fp8::e4m3fnuz{code});
  return fp8::decode(fp8::e4m3fn{code});
}

class TrainingKernels : public testing::TestWithParam<Generation> {};

TEST_P(TrainingKernels, RowCastGivesTheCodesOfSrcFp8) {
  constexpr u32 kRows = 512;
  constexpr u32 kColumns = 4096;
  std::mt19937 engine(3);
  std::vector<bf16> x(std::size_t{kRows} * kColumns);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t row = i / kColumns;
    x[i] = to_bf16((static_cast<float>(engine() >> 8) * 0x1p-23F - 1) * static_cast<float>(1 + row));
  }
  Gpu gpu("training", GetParam());
  const u64 codes = gpu.upload(std::vector<u8>(x.size()), "codes");
  const u64 scales = gpu.upload(std::vector<float>(kRows), "scales");
  gpu.launch("quantize_rows", {{kRows, 1, 1}, {256, 1, 1}, 0}, gpu.upload(x, "x"), codes, scales, kColumns);
  const auto got = gpu.download<u8>(codes, x.size());
  const auto got_scales = gpu.download<float>(scales, kRows);
  const float largest = fp8::info(format_of(GetParam())).max;
  for (u32 row = 0; row < kRows; ++row) {
    float amax = 0;
    for (u32 i = 0; i < kColumns; ++i) amax = std::fmax(amax, std::fabs(to_float(x[row * kColumns + i])));
    const float scale = largest / amax;
    ASSERT_EQ(got_scales[row], scale) << row;
    for (u32 i = 0; i < kColumns; ++i) {
      const std::size_t at = row * kColumns + i;
      ASSERT_EQ(got[at], encode(GetParam(), to_float(x[at]) * scale)) << row << ", " << i;
    }
  }
}

TEST_P(TrainingKernels, TilesGiveThePlainProduct) {
  constexpr u32 kSize = 512;
  std::mt19937 engine(4);
  std::vector<u8> a(kSize * kSize);
  std::vector<u8> b(kSize * kSize);
  std::vector<float> a_values(a.size());
  std::vector<float> b_values(b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    a[i] = encode(GetParam(), static_cast<float>(engine() % 33) - 16);  // integers: sums are exact
    b[i] = encode(GetParam(), static_cast<float>(engine() % 9) - 4);
    a_values[i] = decode(GetParam(), a[i]);
    b_values[i] = decode(GetParam(), b[i]);
  }
  Gpu gpu("training", GetParam());
  const u64 c = gpu.upload(std::vector<float>(a.size()), "c");
  gpu.launch("multiply_tiles", {{kSize / 128 * kSize / 128, 1, 1}, {256, 1, 1}, 0}, gpu.upload(a, "a"),
             gpu.upload(b, "b"), c, kSize, kSize);
  const auto got = gpu.download<float>(c, a.size());
  for (u32 m = 0; m < kSize; ++m) {
    for (u32 n = 0; n < kSize; n += 7) {
      float sum = 0;
      for (u32 k = 0; k < kSize; ++k) sum += a_values[m * kSize + k] * b_values[n * kSize + k];
      ASSERT_EQ(got[m * kSize + n], sum) << m << ", " << n;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Generations, TrainingKernels, testing::Values(Generation::cdna3, Generation::cdna4),
                         [](const auto& generation) { return std::string(processor(generation.param)); });

}  // namespace
}  // namespace octet::sim
