// The four formats: every code, every tie, every bf16 value, and what must not compile.
#include "fp8/formats.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <type_traits>

#include "fp8/bf16.h"
#include "fp8/format_family.h"
#include "fp8/reference_codec.h"

namespace octet::fp8 {
namespace {

using test::Overflow;
using test::ReferenceCodec;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

template <typename A, typename B>
concept Comparable = requires(A a, B b) {
  a == b;
};

template <Format F, typename Bytes>
concept Decodable = requires(Bytes bytes) {
  decode<F>(bytes);
};

static_assert(sizeof(e4m3fn) == 1 && std::is_trivially_copyable_v<e4m3fn>);
static_assert(Comparable<e4m3fn, e4m3fn> && !Comparable<e4m3fn, e4m3fnuz> && !Comparable<e5m2, e5m2fnuz>);
static_assert(Decodable<Format::e4m3fn, e4m3fn> && !Decodable<Format::e4m3fnuz, e4m3fn>);
static_assert(!Decodable<Format::e4m3fn, std::uint8_t>, "a bare byte has no value");
static_assert(!std::is_constructible_v<e4m3fnuz, e4m3fn> && !std::is_assignable_v<e4m3fnuz&, e4m3fn>);
static_assert(!std::is_convertible_v<std::uint8_t, e4m3fn> && !std::is_convertible_v<e4m3fn, float>);

static_assert(decode(encode<Format::e4m3fn>(448.0F)) == 448.0F);
static_assert(decode(e4m3fn{0x40}) == 2 * decode(e4m3fnuz{0x40}), "the same byte means half as much on MI300");
static_assert(parse_format("e5m2fnuz") == Format::e5m2fnuz && !parse_format("e4m3") && !parse_format(""));

static_assert(family_of_arch("gfx942:sramecc+:xnack-") == FormatFamily::fnuz);
static_assert(family_of_arch("gfx940") == FormatFamily::fnuz && family_of_arch("gfx941") == FormatFamily::fnuz);
static_assert(family_of_arch("gfx950") == FormatFamily::ocp && family_of_arch("gfx90a") == FormatFamily::ocp);
static_assert(family_of_arch("gfx1201") == FormatFamily::ocp && family_of_arch("") == FormatFamily::ocp);
static_assert(forward_format(FormatFamily::ocp) == Format::e4m3fn);
static_assert(gradient_format(FormatFamily::ocp) == Format::e5m2);
static_assert(forward_format(FormatFamily::fnuz) == Format::e4m3fnuz);
static_assert(gradient_format(FormatFamily::fnuz) == Format::e5m2fnuz);
static_assert(format_of(Precision::e4m3, FormatFamily::ocp) == Format::e4m3fn);
static_assert(format_of(Precision::e4m3, FormatFamily::fnuz) == Format::e4m3fnuz);
static_assert(format_of(Precision::e5m2, FormatFamily::ocp) == Format::e5m2);
static_assert(format_of(Precision::e5m2, FormatFamily::fnuz) == Format::e5m2fnuz);
static_assert(!format_of(Precision::bf16, FormatFamily::fnuz));

template <Format F>
struct Of {
  static constexpr Format format = F;
};

template <typename T>
class Formats : public ::testing::Test {
 protected:
  static constexpr Format F = T::format;
  const ReferenceCodec reference{F};

  static unsigned saturated(float x) { return encode<F>(x).bits; }
  static unsigned escaped(float x) { return encode_non_saturating<F>(x).bits; }

  void expect_as_reference(float x) const {
    ASSERT_EQ(saturated(x), reference.encode(x, Overflow::saturates)) << x;
    ASSERT_EQ(escaped(x), reference.encode(x, Overflow::escapes)) << x;
  }
};

struct FormatNames {
  template <typename T>
  static std::string GetName(int /*index*/) {
    return std::string(name(T::format));
  }
};

using AllFormats = ::testing::Types<Of<Format::e4m3fn>, Of<Format::e4m3fnuz>, Of<Format::e5m2>, Of<Format::e5m2fnuz>>;
TYPED_TEST_SUITE(Formats, AllFormats, FormatNames);

TYPED_TEST(Formats, DecodesEveryCode) {
  for (unsigned bits = 0; bits < 256; ++bits) {
    const Code<TestFixture::F> code{static_cast<std::uint8_t>(bits)};
    const double expected = this->reference.value(bits);
    EXPECT_EQ(is_nan(code), std::isnan(expected)) << bits;
    EXPECT_EQ(is_infinite(code), std::isinf(expected)) << bits;
    if (std::isnan(expected)) {
      EXPECT_EQ(bits_of(decode(code)), bits_of(quiet_nan())) << bits;
    } else {
      EXPECT_EQ(bits_of(decode(code)), std::bit_cast<std::uint32_t>(static_cast<float>(expected))) << bits;
    }
  }
}

TYPED_TEST(Formats, EveryCodeSurvivesTheRoundTrip) {
  for (unsigned bits = 0; bits < 256; ++bits) {
    const Code<TestFixture::F> code{static_cast<std::uint8_t>(bits)};
    const float value = decode(code);
    if (is_nan(code)) {
      EXPECT_EQ(this->saturated(value), Limits<TestFixture::F>::nan_code) << bits;
      EXPECT_EQ(this->escaped(value), Limits<TestFixture::F>::nan_code) << bits;
      continue;
    }
    EXPECT_EQ(this->escaped(value), bits);
    const unsigned largest = Limits<TestFixture::F>::max_code | (bits & 0x80U);
    EXPECT_EQ(this->saturated(value), is_infinite(code) ? largest : bits);
  }
}

TYPED_TEST(Formats, TiesAndTheirNeighboursRoundAsTheReference) {
  for (unsigned code = 0; code <= this->reference.max_code(); ++code) {
    const auto tie = static_cast<float>(this->reference.midpoint(code));
    ASSERT_EQ(static_cast<double>(tie), this->reference.midpoint(code)) << "a tie is a float";
    for (const float x : {std::nextafter(tie, 0.0F), tie, std::nextafter(tie, kInfinity)}) {
      this->expect_as_reference(x);
      this->expect_as_reference(-x);
    }
  }
}

TYPED_TEST(Formats, EncodesEveryBf16AsTheReference) {
  for (unsigned bits = 0; bits <= 0xFFFF; ++bits) {
    this->expect_as_reference(to_float(bf16{static_cast<std::uint16_t>(bits)}));
  }
}

TYPED_TEST(Formats, LimitsAreWhatTheCodesSay) {
  using L = Limits<TestFixture::F>;
  const auto value = [](unsigned bits) { return decode(Code<TestFixture::F>{static_cast<std::uint8_t>(bits)}); };
  EXPECT_EQ(this->reference.max_code(), L::max_code);
  EXPECT_EQ(value(L::max_code), L::max);
  EXPECT_EQ(value(1), L::min_subnormal);
  EXPECT_EQ(value(1U << static_cast<unsigned>(L::mantissa_bits)), L::min_normal);
  EXPECT_EQ(1 + L::exponent_bits + L::mantissa_bits, 8);
  EXPECT_EQ(std::ldexp(1.0F, 1 - L::bias), L::min_normal);
  EXPECT_TRUE(std::isnan(value(L::nan_code)));
  EXPECT_EQ(parse_format(name(TestFixture::F)), TestFixture::F);
}

TYPED_TEST(Formats, NothingButNanEncodesToNan) {
  EXPECT_EQ(this->saturated(kInfinity), Limits<TestFixture::F>::max_code);
  EXPECT_EQ(this->saturated(-kInfinity), Limits<TestFixture::F>::max_code | 0x80U);
  EXPECT_EQ(this->saturated(std::numeric_limits<float>::max()), Limits<TestFixture::F>::max_code);
  for (const std::uint32_t nan : {0x7F80'0001U, 0x7FC0'0000U, 0x7FFF'FFFFU, 0xFF80'0001U, 0xFFC0'0000U}) {
    EXPECT_EQ(this->saturated(float_of(nan)), Limits<TestFixture::F>::nan_code) << nan;
    EXPECT_EQ(this->escaped(float_of(nan)), Limits<TestFixture::F>::nan_code) << nan;
  }
}

TYPED_TEST(Formats, NegativeZeroKeepsItsSignOnlyWhereThereIsOne) {
  const unsigned expected = Limits<TestFixture::F>::has_negative_zero ? 0x80 : 0x00;
  EXPECT_EQ(this->saturated(-0.0F), expected);
  EXPECT_EQ(this->saturated(-Limits<TestFixture::F>::min_subnormal / 2), expected) << "the tie goes to zero";
  EXPECT_EQ(this->saturated(-std::numeric_limits<float>::denorm_min()), expected);
  EXPECT_EQ(this->saturated(0.0F), 0U);
}

// The table of known values, written out: the tests above compare with arithmetic, this one with the formats' papers.
TEST(FormatValues, KnownCodes) {
  EXPECT_EQ(encode<Format::e4m3fn>(1.0F).bits, 0x38);
  EXPECT_EQ(encode<Format::e4m3fnuz>(1.0F).bits, 0x40);
  EXPECT_EQ(encode<Format::e5m2>(1.0F).bits, 0x3C);
  EXPECT_EQ(encode<Format::e5m2fnuz>(1.0F).bits, 0x40);
  EXPECT_EQ(encode<Format::e4m3fn>(1000.0F).bits, 0x7E);
  EXPECT_EQ(encode<Format::e4m3fn>(464.0F).bits, 0x7E);
  EXPECT_EQ(encode_non_saturating<Format::e4m3fn>(464.0F).bits, 0x7E) << "a tie to the even 448";
  EXPECT_EQ(encode_non_saturating<Format::e4m3fn>(-465.0F).bits, 0xFF);
  EXPECT_EQ(encode_non_saturating<Format::e4m3fnuz>(248.0F).bits, 0x80) << "a tie away from the odd 240";
  EXPECT_EQ(encode_non_saturating<Format::e5m2>(61440.0F).bits, 0x7C);
  EXPECT_EQ(encode_non_saturating<Format::e5m2>(-kInfinity).bits, 0xFC);
  EXPECT_EQ(encode_non_saturating<Format::e5m2fnuz>(kInfinity).bits, 0x80);
}

}  // namespace
}  // namespace octet::fp8
