// The scale rule: edge values, the power of two for every bf16 amax, and the published fault that must stay unwritable.
#include "fp8/scale.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "fp8/demonstration.h"

namespace octet::fp8 {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr std::array<Format, 4> kAllFormats{Format::e4m3fn, Format::e4m3fnuz, Format::e5m2, Format::e5m2fnuz};

static_assert(!std::is_default_constructible_v<ScaleRule> && !std::is_aggregate_v<ScaleRule>);
static_assert(!std::is_constructible_v<ScaleRule, Format, float, bool>, "a rule is made from its format alone");

template <typename Maximum>
concept MakesARule = requires(Maximum maximum) {
  ScaleRule::of(maximum, true);
};
template <auto kMaximum>
concept MakesARuleAtCompileTime = requires {
  ScaleRule::of<kMaximum>(true);
};
static_assert(MakesARule<Format> && MakesARuleAtCompileTime<Format::e4m3fnuz>);
static_assert(!MakesARule<float> && !MakesARule<double> && !MakesARule<int> && !MakesARule<std::uint8_t>);
static_assert(!MakesARuleAtCompileTime<448> && !MakesARuleAtCompileTime<0>, "a number is no format");
static_assert(!std::is_convertible_v<float, ScaleRule> && !std::is_convertible_v<Format, ScaleRule>);
static_assert(!std::is_assignable_v<ScaleRule&, float>, "nor can one be changed into another by a number");
static_assert(ScaleRule::of<Format::e4m3fnuz>(true).max() == 240.0F);
static_assert(ScaleRule::of(Format::e4m3fnuz, true).max() == 240.0F);
static_assert(demonstration::fnuz_scaled_for_448(false).format() == Format::e4m3fnuz);
static_assert(demonstration::fnuz_scaled_for_448(false).max() == 448.0F);

float plain_scale(Format format, float amax) {
  return ScaleRule::of(format, false).scale(amax);
}
float power_of_two_scale(Format format, float amax) {
  return ScaleRule::of(format, true).scale(amax);
}

TEST(Scale, OfZerosIsFiniteAndThatOfTheFloor) {
  EXPECT_EQ(plain_scale(Format::e4m3fn, 0.0F), 4.48e14F);
  EXPECT_EQ(plain_scale(Format::e4m3fnuz, 0.0F), 2.40e14F);
  EXPECT_EQ(plain_scale(Format::e5m2, 0.0F), 5.7344e16F);
  EXPECT_EQ(power_of_two_scale(Format::e4m3fn, 0.0F), 0x1p48F);
  EXPECT_EQ(power_of_two_scale(Format::e4m3fnuz, 0.0F), 0x1p47F);
  EXPECT_EQ(power_of_two_scale(Format::e5m2, 0.0F), 0x1p55F);
}

TEST(Scale, BelowTheFloorIsThatOfZeros) {
  for (const Format format : kAllFormats) {
    for (const float amax : {std::numeric_limits<float>::denorm_min(), 1e-20F, 9.9e-13F}) {
      EXPECT_EQ(plain_scale(format, amax), plain_scale(format, 0.0F)) << name(format) << ' ' << amax;
    }
    EXPECT_LT(plain_scale(format, 1.01e-12F), plain_scale(format, 0.0F)) << name(format);
  }
}

TEST(Scale, OfOne) {
  EXPECT_EQ(plain_scale(Format::e4m3fn, 1.0F), 448.0F);
  EXPECT_EQ(power_of_two_scale(Format::e4m3fn, 1.0F), 256.0F);
  EXPECT_EQ(power_of_two_scale(Format::e4m3fnuz, 1.0F), 128.0F);
  EXPECT_EQ(power_of_two_scale(Format::e5m2, 1.0F), 32768.0F);
}

TEST(Scale, OfNanAndInfinity) {
  for (const Format format : kAllFormats) {
    for (const bool power_of_two : {false, true}) {
      const ScaleRule rule = ScaleRule::of(format, power_of_two);
      EXPECT_EQ(bits_of(rule.scale(kNan)), bits_of(quiet_nan()));
      EXPECT_EQ(bits_of(rule.scale(float_of(0x7F81'0000))), bits_of(quiet_nan())) << "a signalling NaN";
      EXPECT_EQ(bits_of(rule.scale(kInfinity)), 0U);
    }
  }
  EXPECT_EQ(inverse(0.0F), kInfinity);
  EXPECT_EQ(inverse(256.0F), 0x1p-8F);
  EXPECT_EQ(bits_of(inverse(float_of(0xFFC1'0000))), bits_of(quiet_nan()));
}

TEST(Scale, IsTheQuotientInDoubleForEveryBf16Amax) {
  for (const Format format : kAllFormats) {
    for (unsigned bits = 0; bits < 0x7F80; ++bits) {
      const float amax = to_float(bf16{static_cast<std::uint16_t>(bits)});
      const double exact = static_cast<double>(info(format).max) / std::fmax(static_cast<double>(amax), 1e-12);
      ASSERT_EQ(plain_scale(format, amax), static_cast<float>(exact)) << name(format) << ' ' << amax;
    }
  }
}

TEST(Scale, PowerOfTwoIsTheLargestNotAboveForEveryBf16Amax) {
  for (const Format format : kAllFormats) {
    for (unsigned bits = 0; bits < 0x7F80; ++bits) {
      const float amax = to_float(bf16{static_cast<std::uint16_t>(bits)});
      const float plain = plain_scale(format, amax);
      const float rounded = power_of_two_scale(format, amax);
      int exponent = 0;
      ASSERT_EQ(std::frexp(rounded, &exponent), 0.5F) << name(format) << ' ' << amax;
      ASSERT_TRUE(rounded <= plain && plain < 2 * rounded) << name(format) << ' ' << amax;
    }
  }
}

// floor(log2 s) in float arithmetic gives k here for almost every k.
TEST(Scale, JustBelowAPowerOfTwoRoundsDownNotUp) {
  for (int k = -100; k <= 120; ++k) {
    const float power = std::ldexp(1.0F, k);
    EXPECT_EQ(round_down_to_power_of_two(std::nextafter(power, 0.0F)), power / 2) << k;
    EXPECT_EQ(round_down_to_power_of_two(power), power) << k;
    EXPECT_EQ(round_down_to_power_of_two(std::nextafter(power, kInfinity)), power) << k;
  }
}

TEST(Scale, RoundingDownKeepsWhatHasNoPowerOfTwo) {
  EXPECT_EQ(bits_of(round_down_to_power_of_two(kNan)), bits_of(quiet_nan())) << "never an infinity";
  EXPECT_EQ(bits_of(round_down_to_power_of_two(0.0F)), 0U);
  EXPECT_EQ(round_down_to_power_of_two(kInfinity), kInfinity);
}

TEST(Amax, OfTwoIgnoresSignsAndOrder) {
  const bf16 one = to_bf16(1.0F);
  const bf16 minus_two = to_bf16(-2.0F);
  EXPECT_EQ(to_float(max_magnitude(one, minus_two)), 2.0F);
  EXPECT_EQ(to_float(max_magnitude(minus_two, one)), 2.0F);
  EXPECT_EQ(to_float(max_magnitude(to_bf16(3.0F), minus_two)), 3.0F);
  EXPECT_EQ(to_float(max_magnitude(minus_two, to_bf16(3.0F))), 3.0F);
}

TEST(Amax, IsTheLargestMagnitude) {
  EXPECT_EQ(to_float(amax(std::vector{to_bf16(1.5F), to_bf16(-3.0F), to_bf16(2.0F)})), 3.0F);
  EXPECT_EQ(amax(std::vector{to_bf16(-0.0F)}).bits, 0) << "its sign is cleared";
  EXPECT_EQ(amax({}).bits, 0) << "an empty slice";
  EXPECT_EQ(amax(std::vector{bf16{0x0001}, bf16{0x8002}}).bits, 0x0002) << "subnormals count";
}

TEST(Amax, ANanAnywhereWinsOverEverything) {
  for (const std::uint16_t nan : {std::uint16_t{0x7FC0}, std::uint16_t{0xFFC0}, std::uint16_t{0x7F81}}) {
    for (std::size_t place = 0; place < 3; ++place) {
      std::vector<bf16> x{to_bf16(1.0F), to_bf16(-kInfinity), to_bf16(kInfinity)};
      x[place] = bf16{nan};
      EXPECT_TRUE(std::isnan(to_float(amax(x)))) << nan << " at " << place;
    }
  }
}

// What the published stack did on MI300: values above 240 leave the format.
TEST(Demonstration, AScaleFor448LosesTheLargestValuesInFnuz) {
  const ScaleRule wrong = demonstration::fnuz_scaled_for_448(false);
  const ScaleRule right = ScaleRule::of<Format::e4m3fnuz>(false);
  EXPECT_TRUE(is_nan(encode_non_saturating<Format::e4m3fnuz>(1.0F * wrong.scale(1.0F))));
  EXPECT_FALSE(is_nan(encode_non_saturating<Format::e4m3fnuz>(1.0F * right.scale(1.0F))));

  const float clipped = decode(encode<Format::e4m3fnuz>(1.0F * wrong.scale(1.0F))) * inverse(wrong.scale(1.0F));
  EXPECT_NEAR(clipped, 240.0F / 448.0F, 1e-6F) << "saturating hides it and returns 0.54 for 1";
  EXPECT_NEAR(decode(encode<Format::e4m3fnuz>(1.0F * right.scale(1.0F))) * inverse(right.scale(1.0F)), 1.0F, 1e-6F);
}

}  // namespace
}  // namespace octet::fp8
