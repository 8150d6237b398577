// Conversions: FP8 for every bf16 value, in both generations' formats, against src/fp8; the others against the host's.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <string>
#include <tuple>

#include "fp8/bf16.h"
#include "fp8/formats.h"
#include "sim/one_wave.h"

namespace octet::sim {
namespace {

using fp8::Format;

constexpr Format fp8_of(Generation generation) {
  return generation == Generation::cdna3 ? Format::e4m3fnuz : Format::e4m3fn;
}
constexpr Format bf8_of(Generation generation) {
  return generation == Generation::cdna3 ? Format::e5m2fnuz : Format::e5m2;
}

/// What src/fp8 gives; NaN codes keep the sign in OCP's formats, which src/fp8 does not do.
template <Format F>
u32 expected_code(float value) {
  const u32 code = fp8::encode_non_saturating<F>(value).bits;
  const bool signed_nan = fp8::Limits<F>::has_negative_zero && std::signbit(value);
  return fp8::is_nan(fp8::Code<F>{static_cast<std::uint8_t>(code)}) && signed_nan ? code | 0x80U : code;
}

/// Every bf16 value in every byte of the destination, whose other half stays.
template <Format F>
void expect_codes(const std::string& mnemonic, Generation generation) {
  OneWave one;
  for (u32 first = 0; first < 65536; first += 2 * kLanes) {
    for (u32 lane = 0; lane < kLanes; ++lane) {
      one.v(0)[lane] = (first + lane) << 16;
      one.v(1)[lane] = (first + kLanes + lane) << 16;
    }
    for (std::size_t swapped = 0; swapped < 2; ++swapped) {
      const std::string sources = swapped == 0 ? ", v0, v1" : ", v1, v0";
      one.v(2).fill(0x1234'5678);
      one.v(3).fill(0x1234'5678);
      one.run(mnemonic + " v2" + sources, generation);
      one.run(mnemonic + " v3" + sources + " op_sel:[0,0,1]", generation);
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        const u32 low = expected_code<F>(std::bit_cast<float>(one.v(swapped)[lane]));
        const u32 high = expected_code<F>(std::bit_cast<float>(one.v(1 - swapped)[lane]));
        ASSERT_EQ(one.v(2)[lane], 0x1234'0000U | high << 8 | low)
            << std::hex << one.v(0)[lane] << " " << one.v(1)[lane];
        ASSERT_EQ(one.v(3)[lane], high << 24 | low << 16 | 0x5678U) << std::hex << one.v(0)[lane];
      }
    }
    one.run(mnemonic + " v2, -v1, |v0|", generation);
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const u32 low = expected_code<F>(-std::bit_cast<float>(one.v(1)[lane]));
      const u32 high = expected_code<F>(std::fabs(std::bit_cast<float>(one.v(0)[lane])));
      ASSERT_EQ(one.v(2)[lane] & 0xFFFFU, high << 8 | low) << std::hex << one.v(0)[lane] << " " << one.v(1)[lane];
    }
  }
}

TEST(VectorConversion, EveryBf16ToFp8) {
  expect_codes<fp8_of(Generation::cdna3)>("v_cvt_pk_fp8_f32", Generation::cdna3);
  expect_codes<bf8_of(Generation::cdna3)>("v_cvt_pk_bf8_f32", Generation::cdna3);
  expect_codes<fp8_of(Generation::cdna4)>("v_cvt_pk_fp8_f32", Generation::cdna4);
  expect_codes<bf8_of(Generation::cdna4)>("v_cvt_pk_bf8_f32", Generation::cdna4);
}

template <Format F>
void expect_value(u32 bits, u32 code) {
  const float expected = fp8::decode(fp8::Code<F>{static_cast<std::uint8_t>(code)});
  if (std::isnan(expected)) {
    EXPECT_TRUE(std::isnan(std::bit_cast<float>(bits))) << code;
  } else {
    EXPECT_EQ(bits, std::bit_cast<u32>(expected)) << code;
  }
}

template <Format F>
void expect_values(const std::string& format, Generation generation) {
  OneWave one;
  for (u32 first = 0; first < 256; first += kLanes) {
    for (u32 lane = 0; lane < kLanes; ++lane) one.v(0)[lane] = (first + lane) * 0x0101'0101U ^ 0x3C00'A500U;
    const auto code = [&](std::size_t lane, int byte) { return one.v(0)[lane] >> (8 * byte) & 0xFFU; };
    for (int byte = 0; byte < 4; ++byte) {
      one.run("v_cvt_f32_" + format + "_sdwa v1, v0 src0_sel:BYTE_" + std::to_string(byte), generation);
      for (std::size_t lane = 0; lane < kLanes; ++lane) expect_value<F>(one.v(1)[lane], code(lane, byte));
    }
    one.run("v_cvt_f32_" + format + "_e32 v1, v0", generation);
    for (std::size_t lane = 0; lane < kLanes; ++lane) expect_value<F>(one.v(1)[lane], code(lane, 0));
    for (int word = 0; word < 2; ++word) {
      one.run("v_cvt_pk_f32_" + format + "_sdwa v[2:3], v0 src0_sel:WORD_" + std::to_string(word), generation);
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        expect_value<F>(one.v(2)[lane], code(lane, 2 * word));
        expect_value<F>(one.v(3)[lane], code(lane, 2 * word + 1));
      }
    }
  }
}

TEST(VectorConversion, EveryFp8Code) {
  expect_values<fp8_of(Generation::cdna3)>("fp8", Generation::cdna3);
  expect_values<bf8_of(Generation::cdna3)>("bf8", Generation::cdna3);
  expect_values<fp8_of(Generation::cdna4)>("fp8", Generation::cdna4);
  expect_values<bf8_of(Generation::cdna4)>("bf8", Generation::cdna4);
}

TEST(VectorConversion, Bf16) {
  OneWave one;
  Operands operands;
  for (int trial = 0; trial < 500; ++trial) {
    operands.fill(one.v(0));
    operands.fill(one.v(1));
    one.run("v_cvt_pk_bf16_f32 v2, v0, v1", Generation::cdna4);
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      for (std::size_t half = 0; half < 2; ++half) {
        const float value = std::bit_cast<float>(one.v(half)[lane]);
        const u32 got = one.v(2)[lane] >> (16 * half) & 0xFFFFU;
        if (std::isnan(value)) {
          EXPECT_TRUE(std::isnan(to_float(bf16{static_cast<std::uint16_t>(got)})));
        } else {
          EXPECT_EQ(got, to_bf16(value).bits);
        }
      }
    }
  }
}

TEST(VectorConversion, EveryBf16ToSingle) {
  OneWave one;
  for (u32 first = 0; first < 65536; first += kLanes) {
    for (u32 lane = 0; lane < kLanes; ++lane) one.v(0)[lane] = (first + lane) | 0x1234'0000U;
    one.run("v_cvt_f32_bf16_e32 v1, v0", Generation::cdna4);
    one.run("v_cvt_f32_bf16_sdwa v2, v0 src0_sel:WORD_1", Generation::cdna4);
    for (u32 lane = 0; lane < kLanes; ++lane) {
      EXPECT_EQ(one.v(1)[lane], (first + lane) << 16);
      EXPECT_EQ(one.v(2)[lane], 0x1234'0000U);
    }
  }
}

/// Each half is what v_cvt_f16_f32 gives.
TEST(VectorConversion, PairsOfHalves) {
  OneWave one;
  Operands operands;
  for (int trial = 0; trial < 100; ++trial) {
    operands.fill(one.v(0));
    operands.fill(one.v(1));
    one.run("v_cvt_pk_f16_f32 v2, -v0, |v1|", Generation::cdna4);
    one.run("v_cvt_f16_f32_e64 v3, -v0");
    one.run("v_cvt_f16_f32_e64 v4, |v1|");
    for (std::size_t lane = 0; lane < kLanes; ++lane) EXPECT_EQ(one.v(2)[lane], one.v(3)[lane] | one.v(4)[lane] << 16);
  }
}

TEST(VectorConversion, EveryHalfThereAndBack) {
  OneWave one;
  for (u32 first = 0; first < 65536; first += kLanes) {
    for (u32 lane = 0; lane < kLanes; ++lane) one.v(0)[lane] = first + lane;
    one.run("v_cvt_f32_f16_e32 v1, v0");
    one.run("v_cvt_f16_f32_e32 v2, v1");
    for (u32 lane = 0; lane < kLanes; ++lane) {
      const u32 half = first + lane;
      const float value = std::bit_cast<float>(one.v(1)[lane]);
      const bool special = (half & 0x7C00U) == 0x7C00U;
      if (special && (half & 0x3FFU) != 0) {
        EXPECT_TRUE(std::isnan(value));
        continue;
      }
      const int exponent = static_cast<int>(half >> 10 & 31U);
      const double magnitude =
          exponent == 0 ? (half & 0x3FFU) * 0x1p-24 : std::exp2(exponent - 15) * (1 + (half & 0x3FFU) / 1024.0);
      if (!special) {
        EXPECT_EQ(std::fabs(value), magnitude) << half;
      }
      EXPECT_EQ(std::signbit(value), half >> 15 != 0);
      EXPECT_EQ(one.v(2)[lane], half);
    }
  }
  for (const auto& [value, half] : {std::pair(65519.0F, 0x7BFFU),
                                    {65520.0F, 0x7C00U},
                                    {0x1p-25F, 0U},
                                    {0x1.8p-25F, 1U},
                                    {1.0F + 0x1p-11F, 0x3C00U},
                                    {1.0F + 0x3p-11F, 0x3C02U}}) {
    one.v(0).fill(std::bit_cast<u32>(value));
    one.run("v_cvt_f16_f32_e32 v1, v0");
    EXPECT_EQ(one.v(1)[0], half) << value;
  }
}

TEST(VectorConversion, IntegersBelowAndNearest) {
  OneWave one;
  for (const auto& [value, below, nearest] : {std::tuple(2.5F, 2, 3),
                                              {-2.5F, -3, -2},
                                              {-0.25F, -1, 0},
                                              {0.49999997F, 0, 0},
                                              {3e9F, 0x7FFF'FFFF, 0x7FFF'FFFF}}) {
    one.v(0).fill(std::bit_cast<u32>(value));
    one.run("v_cvt_flr_i32_f32_e32 v1, v0");
    EXPECT_EQ(static_cast<i32>(one.v(1)[0]), below) << value;
    one.run("v_cvt_rpi_i32_f32_e32 v1, v0");
    EXPECT_EQ(static_cast<i32>(one.v(1)[0]), nearest) << value;
  }
  for (int code = -8; code < 8; ++code) {
    one.v(0).fill(0xABCD'EF00U | (static_cast<u32>(code) & 15U));
    one.run("v_cvt_off_f32_i4_e32 v1, v0");
    EXPECT_EQ(std::bit_cast<float>(one.v(1)[0]), static_cast<float>(code) / 16) << code;
  }
}

TEST(VectorConversion, Integers) {
  OneWave one;
  const auto converted = [&](const char* mnemonic, u32 bits) {
    one.v(0).fill(bits);
    one.run(std::string(mnemonic) + " v1, v0");
    return one.v(1)[63];
  };
  const auto bits = [](float value) { return std::bit_cast<u32>(value); };
  EXPECT_EQ(converted("v_cvt_f32_u32_e32", 0xFFFF'FFFF), bits(0x1p32F));
  EXPECT_EQ(converted("v_cvt_f32_i32_e32", 0xFFFF'FFFF), bits(-1));
  EXPECT_EQ(converted("v_cvt_f32_ubyte0_e32", 0x0403'0201), bits(1));
  EXPECT_EQ(converted("v_cvt_f32_ubyte3_e32", 0x0403'0201), bits(4));
  EXPECT_EQ(converted("v_cvt_u32_f32_e32", bits(-3)), 0U);
  EXPECT_EQ(converted("v_cvt_u32_f32_e32", bits(3.9F)), 3U);
  EXPECT_EQ(converted("v_cvt_u32_f32_e32", bits(1e20F)), ~0U);
  EXPECT_EQ(converted("v_cvt_u32_f32_e32", 0x7FC0'0000), 0U);
  EXPECT_EQ(converted("v_cvt_i32_f32_e32", bits(-3.9F)), 0xFFFF'FFFDU);
  EXPECT_EQ(converted("v_cvt_i32_f32_e32", bits(-1e20F)), 0x8000'0000U);
  EXPECT_EQ(converted("v_cvt_i32_f32_e32", bits(1e20F)), 0x7FFF'FFFFU);
}

}  // namespace
}  // namespace octet::sim
