// All 2^32 floats through every encoder, against the reference: slow, for the nightly run.
#include <gtest/gtest.h>

#include <cstdint>

#include "fp8/formats.h"
#include "fp8/reference_codec.h"

namespace octet::fp8 {
namespace {

using test::Overflow;
using test::ReferenceCodec;

constexpr std::uint32_t kSign = 0x8000'0000;

/// Mismatches among the magnitudes [begin, end), finite or infinite, under both signs. The expected code only ever
/// steps upwards from one magnitude to the next: equality proves that the encoder is monotone as well.
template <Format F>
std::int64_t count_mismatches(const ReferenceCodec& reference, std::uint32_t begin, std::uint32_t end) {
  std::int64_t mismatches = 0;
  unsigned code = 0;
  for (std::uint32_t bits = begin; bits < end; ++bits) {
    while (code <= reference.max_code() && reference.rounds_up(static_cast<double>(float_of(bits)), code)) ++code;
    for (const bool negative : {false, true}) {
      const float x = float_of(negative ? bits | kSign : bits);
      if (encode<F>(x).bits != reference.with_sign(code, negative, Overflow::saturates)) ++mismatches;
      if (encode_non_saturating<F>(x).bits != reference.with_sign(code, negative, Overflow::escapes)) ++mismatches;
    }
  }
  return mismatches;
}

template <Format F>
void check_all_floats() {
  const ReferenceCodec reference(F);
  constexpr std::int64_t kChunk = 1 << 20;
  constexpr std::int64_t kMagnitudes = std::int64_t{kFloatInfinity} + 1;
  std::int64_t mismatches = 0;
#pragma omp parallel for schedule(dynamic) reduction(+ : mismatches)
  for (std::int64_t begin = 0; begin < kMagnitudes; begin += kChunk) {
    const std::int64_t end = begin + kChunk < kMagnitudes ? begin + kChunk : kMagnitudes;
    mismatches += count_mismatches<F>(reference, static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end));
  }
  EXPECT_EQ(mismatches, 0);

  std::int64_t lost_nans = 0;
  for (std::uint32_t bits = kFloatInfinity + 1; bits < kSign; ++bits) {
    for (const float nan : {float_of(bits), float_of(bits | kSign)}) {
      if (encode<F>(nan).bits != reference.nan_code()) ++lost_nans;
      if (encode_non_saturating<F>(nan).bits != reference.nan_code()) ++lost_nans;
    }
  }
  EXPECT_EQ(lost_nans, 0);
}

TEST(AllFloats, E4m3fn) {
  check_all_floats<Format::e4m3fn>();
}
TEST(AllFloats, E4m3fnuz) {
  check_all_floats<Format::e4m3fnuz>();
}
TEST(AllFloats, E5m2) {
  check_all_floats<Format::e5m2>();
}
TEST(AllFloats, E5m2fnuz) {
  check_all_floats<Format::e5m2fnuz>();
}

}  // namespace
}  // namespace octet::fp8
