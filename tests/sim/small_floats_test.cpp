// FP6, BF6, FP4 and, with scales, FP8: every code decoded, every bf16 value encoded, against values by the formula and
// the nearest of them by search; and stochastic rounding at the random bits where it turns.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/elements.h"
#include "sim/one_wave.h"

namespace octet::sim {
namespace {

const Narrowing kToFp8Ocp(elements::kFp8Ocp, 0x7E, 0x7F, 0x7F);
const Narrowing kToBf8Ocp(elements::kBf8Ocp, 0x7B, 0x7C, 0x7F);
const Narrowing kToFp6(elements::kFp6, 0x1F, 0x1F, 0x1F);
const Narrowing kToBf6(elements::kBf6, 0x1F, 0x1F, 0x1F);
const Narrowing kToFp4(elements::kFp4, 7, 7, 7);

u32 bits_of(float value) {
  return std::bit_cast<u32>(value);
}

/// The 32 elements of 6 bits that a lane has from `first` on.
u32 six_bits(OneWave& one, std::size_t first, std::size_t lane, std::size_t item) {
  const std::size_t bit = 6 * item;
  const u64 low = one.v(first + bit / 32)[lane];
  const u64 high = bit / 32 + 1 < 6 ? one.v(first + bit / 32 + 1)[lane] : 0;
  return static_cast<u32>((low | high << 32) >> bit % 32) & 63U;
}

TEST(SmallFloats, ValuesOfEveryCode) {
  OneWave one;
  for (u32 lane = 0; lane < kLanes; ++lane) one.v(0)[lane] = lane % 16 * 0x11;
  one.run("v_cvt_scalef32_pk_f32_fp4 v[2:3], v0, 1.0", kCdna4);
  constexpr std::array<float, 8> kFp4Values{0, 0.5, 1, 1.5, 2, 3, 4, 6};
  for (u32 code = 0; code < 16; ++code) {
    const float expected = code < 8 ? kFp4Values[code] : -kFp4Values[code - 8];
    EXPECT_EQ(one.v(2)[code], bits_of(expected)) << code;
    EXPECT_EQ(one.v(3)[code], bits_of(expected)) << code;
  }
  for (const auto& [name, element, largest] :
       {std::tuple("fp6", elements::kFp6, 7.5F), {"bf6", elements::kBf6, 28.0F}}) {
    for (std::size_t item = 0; item < 32; ++item) {  // lane l has codes l, l + 1, ...
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        for (std::size_t bit = 0; bit < 6; ++bit) {
          const std::size_t at = 6 * item + bit;
          u32& dword = one.v(8 + at / 32)[lane];
          dword = (dword & ~(1U << at % 32)) | static_cast<u32>((lane + item) >> bit & 1) << at % 32;
        }
      }
    }
    one.run(std::string("v_cvt_scalef32_pk32_f32_") + name + " v[32:63], v[8:13], 1.0", kCdna4);
    for (std::size_t item = 0; item < 32; ++item) {
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        const u64 code = (lane + item) % 64;
        ASSERT_EQ(one.v(32 + item)[lane], bits_of(static_cast<float>(element.value(code)))) << name << " " << code;
      }
    }
    EXPECT_EQ(one.v(63)[0], bits_of(largest));  // code 31
  }
}

/// Runs `convert` for chunks of all bf16 codes, two to a dword, with `dwords` of them in each lane from v0 on.
template <typename Check>
void for_every_bf16(OneWave& one, std::size_t dwords, const std::string& convert, const Check& check) {
  for (u32 first = 0; first < 0x1'0000; first += static_cast<u32>(2 * kLanes * dwords)) {
    for (std::size_t dword = 0; dword < dwords; ++dword) {
      for (u32 lane = 0; lane < kLanes; ++lane) {
        const u32 code = first + 2 * (static_cast<u32>(dword) * kLanes + lane);
        one.v(dword)[lane] = code | (code + 1) << 16;
      }
    }
    one.run(convert, kCdna4);
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      for (std::size_t item = 0; item < 2 * dwords; ++item) {
        const u32 code = one.v(item / 2)[lane] >> (16 * (item % 2)) & 0xFFFFU;
        check(lane, item, std::bit_cast<float>(code << 16));
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

TEST(SmallFloats, EveryBf16ToSixBits) {
  for (const auto& [name, narrowing] : {std::pair("fp6", &kToFp6), {"bf6", &kToBf6}}) {
    OneWave one;
    for_every_bf16(one, 16, std::string("v_cvt_scalef32_pk32_") + name + "_bf16 v[32:37], v[0:15], 1.0",
                   [&one, to = narrowing](std::size_t lane, std::size_t item, float value) {
                     ASSERT_EQ(six_bits(one, 32, lane, item), (*to)(double{value})) << value;
                   });
  }
}

TEST(SmallFloats, EveryBf16ToFp4) {
  OneWave one;
  for_every_bf16(one, 1, "v_cvt_scalef32_pk_fp4_bf16 v32, v0, 1.0",
                 [&one](std::size_t lane, std::size_t item, float value) {
                   ASSERT_EQ(one.v(32)[lane] >> (4 * item) & 15U, kToFp4(double{value})) << value;
                 });
}

TEST(SmallFloats, EveryBf16ToFp8WithAScale) {
  for (const auto& [name, narrowing] : {std::pair("fp8", &kToFp8Ocp), {"bf8", &kToBf8Ocp}}) {
    OneWave one;
    one.v(40).fill(bits_of(0.25F));
    for_every_bf16(one, 1, std::string("v_cvt_scalef32_pk_") + name + "_bf16 v32, v0, v40",
                   [&one, to = narrowing](std::size_t lane, std::size_t item, float value) {
                     ASSERT_EQ(one.v(32)[lane] >> (8 * item) & 0xFFU, (*to)(4 * double{value})) << value;
                   });
  }
}

/// A conversion of one value with a random number: its value, its random number, and the code that is right.
struct Rounded {
  float value;
  u32 random, code;
};

/// Between two neighbouring codes, n / 256 of the way from the lower one, a value becomes the upper one for n / 256 of
/// the random numbers: those whose upper 8 bits are 256 - n at least. Each fraction is tried with the last number that
/// rounds down and the first that rounds up.
std::vector<Rounded> turning_points(const Narrowing& to, u32 first, u32 last, u32 step) {
  std::vector<Rounded> cases;
  for (u32 code = first; code <= last; code += step) {
    for (const u32 fraction : {1U, 77U, 128U, 255U}) {
      const double value = to.value(code) + (to.value(code + 1) - to.value(code)) * fraction / 256;
      const u32 turn = (256U - fraction) << 24;
      cases.push_back({static_cast<float>(value), turn - 1, code});
      cases.push_back({static_cast<float>(value), turn, to(to.value(code + 1))});
    }
    cases.push_back({static_cast<float>(to.value(code)), ~0U, code});  // what is exact is not rounded
  }
  return cases;
}

/// Runs "mnemonic v2, v0, v1" + end, value and random number in v0 and v1, for the cases and for their negatives.
void expect_rounded(const std::string& mnemonic, const std::string& end, Generation generation,
                    const std::vector<Rounded>& cases, u32 sign, bool fnuz = false) {
  const u32 mask = 2 * sign - 1;
  for (std::size_t first = 0; first < cases.size(); first += kLanes) {
    OneWave one;
    const std::size_t count = std::min<std::size_t>(kLanes, cases.size() - first);
    for (std::size_t lane = 0; lane < count; ++lane) {
      one.v(0)[lane] = bits_of(cases[first + lane].value);
      one.v(1)[lane] = cases[first + lane].random;
    }
    one.run(mnemonic + " v2, v0, v1" + end, generation);
    one.run(mnemonic + " v3, -v0, v1" + end, generation);
    for (std::size_t lane = 0; lane < count; ++lane) {
      const Rounded& rounded = cases[first + lane];
      const bool unsigned_code = fnuz && (rounded.code == 0 || rounded.code == sign);
      ASSERT_EQ(one.v(2)[lane] & mask, rounded.code) << mnemonic << " " << rounded.value << " " << rounded.random;
      ASSERT_EQ(one.v(3)[lane] & mask, unsigned_code ? rounded.code : rounded.code | sign) << mnemonic;
    }
  }
}

TEST(SmallFloats, StochasticRoundingTurnsWhereItShould) {
  const Narrowing fp8_fnuz(elements::kFp8Fnuz, 0x7F, 0x80, 0x80);
  const Narrowing bf8_fnuz(elements::kBf8Fnuz, 0x7F, 0x80, 0x80);
  const Narrowing half(elements::kHalf, 0x7BFF, 0x7C00, 0x7E00);
  const Narrowing bf16(elements::kBf16, 0x7F7F, 0x7F80, 0x7FC0);
  expect_rounded("v_cvt_sr_fp8_f32", "", kCdna3, turning_points(fp8_fnuz, 0, 0x7F, 1), 0x80, true);
  expect_rounded("v_cvt_sr_bf8_f32", "", kCdna3, turning_points(bf8_fnuz, 0, 0x7F, 1), 0x80, true);
  expect_rounded("v_cvt_sr_fp8_f32", "", kCdna4, turning_points(kToFp8Ocp, 0, 0x7E, 1), 0x80);
  expect_rounded("v_cvt_sr_bf8_f32", "", kCdna4, turning_points(kToBf8Ocp, 0, 0x7B, 1), 0x80);
  expect_rounded("v_cvt_sr_f16_f32", "", kCdna4, turning_points(half, 0, 0x7BFF, 13), 0x8000);
  expect_rounded("v_cvt_sr_bf16_f32", "", kCdna4, turning_points(bf16, 0, 0x7F7F, 13), 0x8000);
  expect_rounded("v_cvt_scalef32_sr_fp8_f32", ", 1.0", kCdna4, turning_points(kToFp8Ocp, 0, 0x7E, 1), 0x80);
  expect_rounded("v_cvt_scalef32_sr_bf8_f32", ", 1.0", kCdna4, turning_points(kToBf8Ocp, 0, 0x7B, 1), 0x80);
}

/// The first of a pair has the random number itself, each later element the next one of the generator.
TEST(SmallFloats, StochasticRoundingOfManyElements) {
  OneWave one;
  Operands operands;
  operands.fill(one.v(1));
  one.run("v_prng_b32_e32 v2, v1", kCdna4);
  const auto next = [](u32 random) { return (random << 1) ^ ((random & 0x8000'0000U) != 0 ? 0xC5U : 0U); };
  for (std::size_t lane = 0; lane < kLanes; ++lane) EXPECT_EQ(one.v(2)[lane], next(one.v(1)[lane]));
  for (std::size_t dword = 32; dword < 64; ++dword) {
    for (u32& lane : one.v(dword)) lane = bits_of(4 * (static_cast<float>(operands.next() % 4096) - 2048) / 256);
  }
  for (const auto& [name, narrowing, mantissa_bits] : {std::tuple("fp6", &kToFp6, 3), {"bf6", &kToBf6, 2}}) {
    one.run(std::string("v_cvt_scalef32_sr_pk32_") + name + "_f32 v[8:13], v[32:63], v1, 4.0", kCdna4);
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      u32 random = one.v(1)[lane];
      for (std::size_t item = 0; item < 32; ++item, random = next(random)) {
        const double value = double{std::bit_cast<float>(one.v(32 + item)[lane])} / 4;
        u32 code = 0;  // the last code whose value is not above it
        while (code < 31 && narrowing->value(code + 1) <= std::fabs(value)) ++code;
        const double fraction =
            (std::fabs(value) - narrowing->value(code)) / (narrowing->value(code + 1) - narrowing->value(code));
        const double counted = (random >> (9 + mantissa_bits)) * std::exp2(mantissa_bits - 23);
        const u32 rounded = std::min(code + (fraction + counted >= 1 ? 1U : 0U), 31U);
        ASSERT_EQ(six_bits(one, 8, lane, item), rounded | (std::signbit(value) ? 32U : 0U)) << name << " " << value;
      }
    }
  }
  one.run("v_cvt_scalef32_sr_pk_fp4_f32 v20, v[32:33], v1, 4.0", kCdna4);
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    for (std::size_t item = 0; item < 2; ++item) {
      OneWave single;
      single.v(0) = one.v(32 + item);
      single.v(1) = one.v(1 + item);  // v2 is the next random number
      single.run("v_cvt_scalef32_sr_pk_fp4_f32 v2, v[0:1], v1, 4.0", kCdna4);
      ASSERT_EQ(one.v(20)[lane] >> (4 * item) & 15U, single.v(2)[lane] & 15U);
    }
  }
}

}  // namespace
}  // namespace octet::sim
