// Casts and scales against torchao's, slice by slice in the four formats. Where torchao does otherwise, a test says so.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "fp8/cast.h"
#include "torchao/vectors.h"

namespace octet::test {
namespace {

using fp8::Code;
using fp8::Format;

// Rows of cast.x, as make_vectors.py writes them.
constexpr std::int64_t kNanRow = 9;
constexpr std::int64_t kInfinityRow = 7;

template <Format F>
void compare(bool power_of_two) {
  const TorchaoVectors vectors;
  const std::string name = "cast." + std::string(fp8::name(F)) + (power_of_two ? ".power_of_two" : ".exact");
  const std::vector<bf16> x = vectors.bf16s("cast.x");
  const std::vector<float> scales = vectors.floats(name + ".scale");
  const std::vector<std::uint8_t> codes = vectors.codes(name + ".codes");
  const auto cols = static_cast<std::size_t>(vectors.cols("cast.x"));
  for (std::size_t row = 0; row < scales.size(); ++row) {
    SCOPED_TRACE(name + " row " + std::to_string(row));
    std::vector<Code<F>> ours(cols);
    const std::span<const bf16> slice = std::span(x).subspan(row * cols, cols);
    const float scale = fp8::cast_slice<F>(slice, ours, fp8::ScaleRule::of<F>(power_of_two));
    if (std::isnan(scales[row])) {
      EXPECT_TRUE(std::isnan(scale));
    } else {
      EXPECT_EQ(fp8::bits_of(scale), fp8::bits_of(scales[row]));
    }
    for (std::size_t i = 0; i < cols; ++i) {
      const Code<F> theirs{codes[row * cols + i]};
      EXPECT_EQ(ours[i].bits, is_nan(theirs) ? fp8::Limits<F>::nan_code : theirs.bits) << "column " << i;
    }
  }
}

template <Format F>
void compare() {
  compare<F>(false);
  compare<F>(true);
}

TEST(TorchaoCasts, E4m3fn) {
  compare<Format::e4m3fn>();
}
TEST(TorchaoCasts, E4m3fnuz) {
  compare<Format::e4m3fnuz>();
}
TEST(TorchaoCasts, E5m2) {
  compare<Format::e5m2>();
}
TEST(TorchaoCasts, E5m2fnuz) {
  compare<Format::e5m2fnuz>();
}

// PyTorch's cast keeps the sign of a NaN in the OCP formats. Octet has one NaN code, in every format.
TEST(TorchaoDeviations, NanCodesCarryASign) {
  const TorchaoVectors vectors;
  const auto cols = vectors.cols("cast.x");
  for (const char* format : {"e4m3fn", "e5m2"}) {
    const std::vector<std::uint8_t> codes = vectors.codes(std::string("cast.") + format + ".exact.codes");
    const auto nan_row = codes.begin() + kNanRow * cols;
    const auto infinity_row = codes.begin() + kInfinityRow * cols;
    EXPECT_EQ(std::count(nan_row, nan_row + cols, 0x7F), cols);
    EXPECT_EQ(std::count(infinity_row, infinity_row + cols, 0xFF), 1) << "the NaN of inf * 0, negative on x86";
  }
  EXPECT_EQ(fp8::encode<Format::e4m3fn>(-fp8::quiet_nan()).bits, 0x7F);
  EXPECT_EQ(fp8::encode<Format::e5m2>(-fp8::quiet_nan()).bits, 0x7F);
}

// torchao rounds a scale down with exp2(floor(log2(scale))) in fp32, and the logarithm of the float below a power of
// two may round up to it. Octet clears mantissa bits. No bf16 amax comes to such a scale: the casts above agree.
TEST(TorchaoDeviations, ALogarithmRoundsScalesUp) {
  const TorchaoVectors vectors;
  for (const Format format : {Format::e4m3fn, Format::e4m3fnuz, Format::e5m2, Format::e5m2fnuz}) {
    const std::string name = "logarithm." + std::string(fp8::name(format));
    const std::vector<float> amax = vectors.floats(name + ".amax");
    const std::vector<float> theirs = vectors.floats(name + ".scale");
    std::int64_t rounded_up = 0;
    for (std::size_t i = 0; i < amax.size(); ++i) {
      const float unrounded = fp8::ScaleRule::of(format, false).scale(amax[i]);
      const float ours = fp8::ScaleRule::of(format, true).scale(amax[i]);
      EXPECT_LE(ours, unrounded);
      EXPECT_GT(2 * ours, unrounded);
      if (theirs[i] == ours) continue;
      EXPECT_EQ(theirs[i], 2 * ours) << name << " amax " << amax[i];
      EXPECT_GT(theirs[i], unrounded);
      ++rounded_up;
    }
    EXPECT_GT(rounded_up, 0) << name;
  }
}

}  // namespace
}  // namespace octet::test
