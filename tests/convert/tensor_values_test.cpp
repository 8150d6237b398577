// Stored weights: halves against arithmetic of their own, FP8 blocks with sizes that no block divides.
#include "convert/tensor_values.h"

#include <cmath>

#include "convert/small_models.h"

namespace octet::test {
namespace {

TEST(HalfToFloat, IsTheValueOfTheFormat) {
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    const unsigned exponent = bits >> 10U & 0x1FU;
    const double fraction = (bits & 0x3FFU) / 1024.0;
    const double sign = (bits & 0x8000U) != 0 ? -1 : 1;
    const float value = half_to_float(static_cast<std::uint16_t>(bits));
    if (exponent == 31) {
      EXPECT_TRUE(fraction == 0 ? std::isinf(value) && value * sign > 0 : std::isnan(value)) << bits;
    } else {
      const double expected =
          exponent == 0 ? fraction * std::pow(2, -14) : (1 + fraction) * std::pow(2, int(exponent) - 15);
      EXPECT_EQ(value, sign * expected) << bits;
      EXPECT_EQ(std::signbit(value), sign < 0) << bits;
    }
  }
}

/// 130 x 257: blocks of 128 x 128 and what is left of them. 0x38 is 1, 0x40 is 2.
TEST(Fp8Blocks, EachValueHasTheScaleOfItsBlock) {
  std::vector<std::byte> codes(130 * 257, std::byte{0x38});
  codes[129 * 257 + 256] = std::byte{0x40};
  codes[5] = std::byte{0x7F};
  std::vector<float> scales = {1, 2, 3, 4, 5, 6};
  const FileTensor weight{"w", FileDType::f8_e4m3, {130, 257}, codes};
  const FileTensor inverse{"w_scale_inv", FileDType::f32, {2, 3}, std::as_bytes(std::span(scales))};
  std::vector<float> values(130 * 257 - 3);
  read_values({&weight, &inverse}, 3, values);  // not from the beginning of a row
  const auto at = [&](std::size_t row, std::size_t column) { return values[row * 257 + column - 3]; };
  EXPECT_EQ(at(0, 127), 1);
  EXPECT_EQ(at(0, 128), 2);
  EXPECT_EQ(at(127, 256), 3);
  EXPECT_EQ(at(128, 0), 4);
  EXPECT_EQ(at(129, 255), 5);
  EXPECT_EQ(at(129, 256), 12);
  EXPECT_TRUE(std::isnan(at(0, 5)));
}

}  // namespace
}  // namespace octet::test
