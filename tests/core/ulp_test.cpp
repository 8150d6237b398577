// Distances between numbers of three formats: across zero, up to infinity, and where there is none.
#include "core/ulp.h"

#include <gtest/gtest.h>

#include <cmath>

namespace octet::test {
namespace {

template <typename Real>
class Ulp : public testing::Test {};
using Formats = testing::Types<float, double>;
TYPED_TEST_SUITE(Ulp, Formats);

TYPED_TEST(Ulp, CountsStepsToTheNextNumber) {
  using Limits = std::numeric_limits<TypeParam>;
  for (const TypeParam start : {TypeParam(1), TypeParam(-3.75), Limits::denorm_min(), Limits::max(), TypeParam(0)}) {
    TypeParam number = start;
    for (std::uint64_t steps = 0; steps < 5; ++steps) {
      EXPECT_EQ(ulp_distance(start, number), std::isinf(number) ? 1 : steps) << start;
      EXPECT_EQ(ulp_distance(number, start), ulp_distance(start, number));
      number = std::nextafter(number, Limits::infinity());
    }
  }
}

TYPED_TEST(Ulp, CrossesZero) {
  const TypeParam tiny = std::numeric_limits<TypeParam>::denorm_min();
  EXPECT_EQ(ulp_distance(TypeParam(-0.0), TypeParam(0.0)), 1U);
  EXPECT_EQ(ulp_distance(-tiny, tiny), 3U);
}

TYPED_TEST(Ulp, NaNIsFarFromEveryNumberAndEqualToNaN) {
  const TypeParam nan = std::numeric_limits<TypeParam>::quiet_NaN();
  const TypeParam inf = std::numeric_limits<TypeParam>::infinity();
  EXPECT_EQ(ulp_distance(nan, -nan), 0U);
  EXPECT_EQ(ulp_distance(nan, inf), kNoUlpDistance);
  EXPECT_EQ(ulp_distance(TypeParam(0), nan), kNoUlpDistance);
  EXPECT_LT(ulp_distance(-inf, inf), kNoUlpDistance);
}

TEST(UlpOfBf16, CountsPatterns) {
  EXPECT_EQ(ulp_distance(bf16{0x3F80}, bf16{0x3F83}), 3U);
  EXPECT_EQ(ulp_distance(bf16{0x8001}, bf16{0x0001}), 3U);
  EXPECT_EQ(ulp_distance(bf16{0x7FC0}, bf16{0xFFC1}), 0U);  // two NaN
  EXPECT_EQ(ulp_distance(bf16{0x7F80}, bf16{0x7F81}), kNoUlpDistance);
}

static_assert(ulp_distance(1.0F, 1.0F + std::numeric_limits<float>::epsilon()) == 1);

}  // namespace
}  // namespace octet::test
