// e8m0: every code, and both directions of rounding around every power of two.
#include "fp8/e8m0.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace octet::fp8 {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

float value_of(unsigned code) {
  return std::ldexp(1.0F, static_cast<int>(code) - 127);
}
unsigned down(float x) {
  return encode_e8m0_down(x).bits;
}
unsigned up(float x) {
  return encode_e8m0_up(x).bits;
}

TEST(E8m0, EveryCodeIsAPowerOfTwo) {
  for (unsigned code = 0; code < 255; ++code) {
    EXPECT_EQ(decode(e8m0{static_cast<std::uint8_t>(code)}), value_of(code));
    EXPECT_EQ(down(value_of(code)), code);
    EXPECT_EQ(up(value_of(code)), code);
  }
  EXPECT_TRUE(std::isnan(decode(e8m0{255})));
}

TEST(E8m0, RoundsTheWayItsNameSays) {
  for (unsigned code = 1; code < 254; ++code) {
    const float below = std::nextafter(value_of(code), 0.0F);
    const float above = std::nextafter(value_of(code), kInfinity);
    EXPECT_EQ(down(below), code - 1);
    EXPECT_EQ(up(below), code);
    EXPECT_EQ(down(above), code);
    EXPECT_EQ(up(above), code + 1);
  }
}

TEST(E8m0, EndsOfTheRangeHold) {
  EXPECT_EQ(up(std::numeric_limits<float>::max()), 254U);
  EXPECT_EQ(down(std::numeric_limits<float>::max()), 254U);
  EXPECT_EQ(up(0.0F), 0U);
  EXPECT_EQ(down(0.0F), 0U);
  EXPECT_EQ(down(std::numeric_limits<float>::denorm_min()), 0U);
  EXPECT_EQ(up(std::numeric_limits<float>::denorm_min()), 0U);
}

TEST(E8m0, WhatHasNoPowerOfTwoIsNan) {
  for (const float x : {kInfinity, -kInfinity, std::numeric_limits<float>::quiet_NaN(), -1.0F, -0.0F}) {
    EXPECT_EQ(down(x), 255U) << x;
    EXPECT_EQ(up(x), 255U) << x;
  }
}

}  // namespace
}  // namespace octet::fp8
