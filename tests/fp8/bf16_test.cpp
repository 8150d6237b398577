// bf16: every value there and back, and rounding at every midpoint.
#include "fp8/bf16.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

namespace octet {
namespace {

static_assert(std::is_trivially_copyable_v<bf16> && sizeof(bf16) == 2);
static_assert(to_bf16(1.0F).bits == 0x3F80);
static_assert(to_float(bf16{0xC000}) == -2.0F);
static_assert(!std::is_convertible_v<float, bf16> && !std::is_convertible_v<bf16, float>);

unsigned rounded(float x) {
  return to_bf16(x).bits;
}

TEST(Bf16, EveryValueSurvivesTheRoundTrip) {
  for (unsigned bits = 0; bits <= 0xFFFF; ++bits) {
    const float value = to_float(bf16{static_cast<std::uint16_t>(bits)});
    if (std::isnan(value)) {
      EXPECT_EQ(rounded(value), 0x7FC0U) << bits;
    } else {
      ASSERT_EQ(rounded(value), bits);
    }
  }
}

TEST(Bf16, ValueIsTheUpperHalfOfAFloat) {
  EXPECT_EQ(to_float(bf16{0x0001}), std::ldexp(1.0F, -133));
  EXPECT_EQ(to_float(bf16{0x0080}), std::numeric_limits<float>::min());
  EXPECT_EQ(to_float(bf16{0x7F7F}), std::ldexp(255.0F, 120));
  EXPECT_TRUE(std::signbit(to_float(bf16{0x8000})));
}

TEST(Bf16, TiesGoToEvenAndNeighboursOfTiesToTheNearest) {
  for (unsigned bits = 0; bits < 0x7F80; ++bits) {
    const float tie = std::bit_cast<float>((bits << 16) | 0x8000U);
    const unsigned even = bits + (bits & 1U);
    ASSERT_EQ(rounded(tie), even);
    ASSERT_EQ(rounded(-tie), even | 0x8000U);
    ASSERT_EQ(rounded(std::bit_cast<float>(std::bit_cast<std::uint32_t>(tie) - 1)), bits);
    ASSERT_EQ(rounded(std::bit_cast<float>(std::bit_cast<std::uint32_t>(tie) + 1)), bits + 1);
  }
}

TEST(Bf16, SpecialValues) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(rounded(kInfinity), 0x7F80U);
  EXPECT_EQ(rounded(-kInfinity), 0xFF80U);
  EXPECT_EQ(rounded(-0.0F), 0x8000U);
  EXPECT_EQ(rounded(std::numeric_limits<float>::max()), 0x7F80U) << "rounds beyond the largest finite value";
  // The payload lies in the half that is dropped: truncation would make an infinity of this NaN.
  EXPECT_EQ(rounded(std::bit_cast<float>(0x7F80'0001U)), 0x7FC0U);
  EXPECT_EQ(rounded(std::bit_cast<float>(0xFFFF'FFFFU)), 0x7FC0U) << "rounding up would wrap to zero";
}

}  // namespace
}  // namespace octet
