// The cast of a slice: the table of edge values, a slow second cast, and refusal of a foreign rule.
#include "fp8/cast.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "fp8/reference_codec.h"

namespace octet::fp8 {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

template <Format F, typename Codes>
concept Castable = requires(std::span<const bf16> x, Codes codes, ScaleRule rule) {
  cast_slice<F>(x, codes, rule);
};
static_assert(Castable<Format::e4m3fnuz, std::span<e4m3fnuz>> && !Castable<Format::e4m3fnuz, std::span<e4m3fn>>);

struct Cast {
  float scale;
  std::vector<unsigned> codes;
  std::vector<float> dequantised;
};

template <Format F>
Cast cast(const std::vector<float>& values, bool power_of_two) {
  std::vector<bf16> x(values.size());
  std::transform(values.begin(), values.end(), x.begin(), to_bf16);
  std::vector<Code<F>> codes(x.size());
  Cast result{};
  result.scale = cast_slice<F>(x, codes, ScaleRule::of<F>(power_of_two));
  for (const Code<F> code : codes) {
    result.codes.push_back(code.bits);
    result.dequantised.push_back(decode(code) * inverse(result.scale));
  }
  return result;
}

template <Format F>
struct Of {
  static constexpr Format format = F;
};

template <typename T>
class CastOf : public ::testing::Test {
 protected:
  static constexpr Format F = T::format;
  static constexpr unsigned kNanCode = Limits<F>::nan_code;
  static constexpr unsigned kNegativeZero = Limits<F>::has_negative_zero ? 0x80 : 0x00;
};

struct FormatNames {
  template <typename T>
  static std::string GetName(int /*index*/) {
    return std::string(name(T::format));
  }
};

using AllFormats = ::testing::Types<Of<Format::e4m3fn>, Of<Format::e4m3fnuz>, Of<Format::e5m2>, Of<Format::e5m2fnuz>>;
TYPED_TEST_SUITE(CastOf, AllFormats, FormatNames);

TYPED_TEST(CastOf, ZerosStayZeros) {
  for (const bool power_of_two : {false, true}) {
    const Cast zeros = cast<TestFixture::F>({0.0F, -0.0F, 0.0F}, power_of_two);
    EXPECT_EQ(zeros.codes, (std::vector<unsigned>{0x00, TestFixture::kNegativeZero, 0x00}));
    EXPECT_EQ(zeros.scale, ScaleRule::of<TestFixture::F>(power_of_two).scale(0.0F));
    for (const float value : zeros.dequantised) EXPECT_EQ(value, 0.0F);
  }
}

TYPED_TEST(CastOf, BelowTheFloorIsNotNormalisedAndTheSmallestVanish) {
  const Cast tiny = cast<TestFixture::F>({5e-13F, 1e-38F, -1e-38F}, true);
  EXPECT_EQ(tiny.scale, ScaleRule::of<TestFixture::F>(true).scale(0.0F));
  EXPECT_NE(tiny.codes[0], 0U);
  EXPECT_LT(tiny.codes[0], Limits<TestFixture::F>::max_code);
  EXPECT_EQ(tiny.codes[1], 0U);
  EXPECT_EQ(tiny.codes[2], TestFixture::kNegativeZero);
}

TYPED_TEST(CastOf, AnInfinityShowsAsNan) {
  for (const bool power_of_two : {false, true}) {
    const Cast infinite = cast<TestFixture::F>({1.0F, kInfinity, -kInfinity, -2.0F}, power_of_two);
    EXPECT_EQ(bits_of(infinite.scale), 0U);
    EXPECT_EQ(infinite.codes,
              (std::vector<unsigned>{0x00, TestFixture::kNanCode, TestFixture::kNanCode, TestFixture::kNegativeZero}));
    for (const float value : infinite.dequantised) EXPECT_TRUE(std::isnan(value));
  }
}

TYPED_TEST(CastOf, ANanPoisonsTheSlice) {
  for (const bool power_of_two : {false, true}) {
    for (const float nan : {kNan, -kNan}) {
      const Cast poisoned = cast<TestFixture::F>({1.0F, nan, 0.0F, kInfinity}, power_of_two);
      EXPECT_EQ(bits_of(poisoned.scale), bits_of(quiet_nan()));
      EXPECT_EQ(poisoned.codes, std::vector<unsigned>(4, TestFixture::kNanCode));
    }
  }
}

TYPED_TEST(CastOf, AnEmptySliceHasTheScaleOfZeros) {
  EXPECT_EQ(cast<TestFixture::F>({}, false).scale, ScaleRule::of<TestFixture::F>(false).scale(0.0F));
}

TYPED_TEST(CastOf, TheLargestMagnitudeFillsTheFormat) {
  for (const float amax : {1e-10F, 0.75F, 1.0F, 3.0F, 1e30F}) {
    const Cast full = cast<TestFixture::F>({amax, -amax}, false);
    EXPECT_EQ(full.codes[0], Limits<TestFixture::F>::max_code) << amax;
    EXPECT_EQ(full.codes[1], Limits<TestFixture::F>::max_code | 0x80U) << amax;
  }
}

// amax, division, clamp and nearest value once more, in double and without any bit trick.
TYPED_TEST(CastOf, EqualsASlowCastOnRandomSlices) {
  const test::ReferenceCodec reference(TestFixture::F);
  std::mt19937 random(7);  // NOLINT(cert-msc51-cpp): the same slices on every run
  for (int slice = 0; slice < 200; ++slice) {
    const int magnitude = static_cast<int>(random() % 81) - 40;
    std::vector<float> values(1 + random() % 64);
    for (float& value : values) {
      const double unit = static_cast<double>(random()) / 2147483648.0 - 1.0;
      value = to_float(to_bf16(static_cast<float>(std::ldexp(unit * unit * unit, magnitude))));
    }
    double largest = 1e-12;
    for (const float value : values) largest = std::max(largest, std::fabs(static_cast<double>(value)));
    const auto scale = static_cast<float>(static_cast<double>(info(TestFixture::F).max) / largest);
    const Cast fast = cast<TestFixture::F>(values, false);
    ASSERT_EQ(fast.scale, scale);
    for (std::size_t i = 0; i < values.size(); ++i) {
      ASSERT_EQ(fast.codes[i], reference.encode(values[i] * scale, test::Overflow::saturates)) << values[i];
    }
  }
}

TYPED_TEST(CastOf, DividingByAPowerOfTwoIsExact) {
  for (int step = -20; step <= 20; ++step) {
    const auto value = static_cast<float>(std::pow(1.7, step));
    const Cast once = cast<TestFixture::F>({value, value / 3}, true);
    EXPECT_EQ(cast<TestFixture::F>(once.dequantised, true).dequantised, once.dequantised) << value;
  }
}

TEST(CastRefusals, AForeignRuleAndUnequalLengths) {
  const std::vector<bf16> x(4, to_bf16(1.0F));
  std::vector<e4m3fnuz> codes(4);
  EXPECT_THROW(cast_slice<Format::e4m3fnuz>(x, codes, ScaleRule::of<Format::e4m3fn>(true)), std::invalid_argument);
  codes.pop_back();
  EXPECT_THROW(cast_slice<Format::e4m3fnuz>(x, codes, ScaleRule::of<Format::e4m3fnuz>(true)), std::invalid_argument);
}

}  // namespace
}  // namespace octet::fp8
