// The rotary table against its definition, and the three zones of Llama 3.1's frequency scaling.
#include "ops/rope_table.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "core/error.h"

namespace octet::ops {
namespace {

TEST(RopeTable, HoldsCosinesThenSinesOfPositionTimesFrequency) {
  const std::vector<float> table = rope_table(4, 6, 1000, std::nullopt);
  ASSERT_EQ(table.size(), 24U);
  const double frequencies[] = {1, 0.1, 0.01};  // 1000^(-2i/6) = 10^-i
  for (int position = 0; position < 4; ++position) {
    for (int i = 0; i < 3; ++i) {
      EXPECT_NEAR(table[position * 6 + i], std::cos(position * frequencies[i]), 1e-7);
      EXPECT_NEAR(table[position * 6 + 3 + i], std::sin(position * frequencies[i]), 1e-7);
    }
  }
}

// Llama 3.1: theta 500,000, head dimension 128, factor 8 over 8,192 positions. Wavelengths below 8192 / 4 are kept,
// those above 8192 / 1 stretched eightfold.
TEST(RopeTable, ScalesLlama31FrequenciesByWavelength) {
  const RopeScaling scaling{};
  const std::vector<double> plain = rope_frequencies(128, 500000, std::nullopt);
  const std::vector<double> scaled = rope_frequencies(128, 500000, scaling);
  int zones[3] = {0, 0, 0};
  for (std::size_t i = 0; i < plain.size(); ++i) {
    const double wavelength = 2 * std::numbers::pi / plain[i];
    if (wavelength < 2048) {
      ++zones[0];
      EXPECT_EQ(scaled[i], plain[i]);
    } else if (wavelength > 8192) {
      ++zones[2];
      EXPECT_EQ(scaled[i], plain[i] / 8);
    } else {
      ++zones[1];
      const double smooth = (8192 / wavelength - 1) / 3;
      EXPECT_NEAR(scaled[i], (1 - smooth) * plain[i] / 8 + smooth * plain[i], 1e-15);
    }
  }
  EXPECT_EQ(zones[0], 29);
  EXPECT_EQ(zones[1], 6);
  EXPECT_EQ(zones[2], 29);
}

TEST(RopeTable, RefusesWhatHasNoTable) {
  EXPECT_THROW((void)rope_frequencies(5, 1000, std::nullopt), Failure);
  EXPECT_THROW((void)rope_frequencies(4, 0, std::nullopt), Failure);
  EXPECT_THROW((void)rope_frequencies(4, 1000, RopeScaling{.low_freq_factor = 4, .high_freq_factor = 4}), Failure);
}

// DeepSeek-V3: theta 10,000, a rotated part of 64, factor 40 over 4,096 positions, 32 and 1 turns. The pair that turns
// 32 times has index 64 ln(4096 / (32 * 2 pi)) / (2 ln 10000) = 10.47, the one that turns once 22.51.
TEST(RopeTable, MixesYarnFrequenciesByPair) {
  const YarnScaling scaling{};
  const std::vector<double> plain = rope_frequencies(64, 10000, std::nullopt);
  const std::vector<double> scaled = yarn_frequencies(64, 10000, scaling);
  for (std::size_t i = 0; i <= 10; ++i) EXPECT_EQ(scaled[i], plain[i]) << i;
  for (std::size_t i = 23; i < 32; ++i) EXPECT_NEAR(scaled[i], plain[i] / 40, 1e-18) << i;
  for (std::size_t i = 11; i < 23; ++i) {
    const double divided = (static_cast<double>(i) - 10) / 13;
    EXPECT_NEAR(scaled[i], plain[i] * (1 - divided) + plain[i] / 40 * divided, 1e-12) << i;
  }
  EXPECT_NEAR(scaling.attention_growth(), 1.8738, 1e-4) << "(0.1 ln 40 + 1)^2";
  EXPECT_EQ(scaling.rotated_magnitude(), 1);
  const YarnScaling without{.mscale = 1, .mscale_all_dim = 0};
  EXPECT_NEAR(without.rotated_magnitude(), 1.36889, 1e-5);
  EXPECT_EQ(without.attention_growth(), 1);
}

}  // namespace
}  // namespace octet::ops
