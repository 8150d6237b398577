// Conversions with scales: what the scale does, of which source and into which part of which register elements go, and
// what is left alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>
#include <vector>

#include "core/error.h"
#include "sim/elements.h"
#include "sim/one_wave.h"

namespace octet::sim {
namespace {

struct Format {
  const char* name;
  const Element* element;
  Narrowing narrowing;
};

/// Those of parts of registers, the narrower first.
const std::vector<Format> kNarrow{{"fp4", &elements::kFp4, {elements::kFp4, 7, 7, 7}},
                                  {"fp8", &elements::kFp8Ocp, {elements::kFp8Ocp, 0x7E, 0x7F, 0x7F}},
                                  {"bf8", &elements::kBf8Ocp, {elements::kBf8Ocp, 0x7B, 0x7C, 0x7F}}};
const std::vector<Format> kSixBits{{"fp6", &elements::kFp6, {elements::kFp6, 0x1F, 0x1F, 0x1F}},
                                   {"bf6", &elements::kBf6, {elements::kBf6, 0x1F, 0x1F, 0x1F}}};
const std::vector<Format> kSixteenBits{{"f16", &elements::kHalf, {elements::kHalf, 0x7BFF, 0x7C00, 0x7E00}},
                                       {"bf16", &elements::kBf16, {elements::kBf16, 0x7F7F, 0x7F80, 0x7FC0}}};

u32 bits_of(double value) {
  return std::bit_cast<u32>(static_cast<float>(value));
}

/// A scale whose exponent differs from lane to lane over all of its range, and of which sign and mantissa, which do not
/// count, differ as well.
void fill_scales(Lanes& lanes) {
  for (u32 lane = 0; lane < kLanes; ++lane)
    lanes[lane] = lane * 4 << 23 | lane * 0x0801'0035U % 0x0080'0000U | lane << 31;
  lanes[62] = 254U << 23;
  lanes[63] = 255U << 23;
}

/// 2 to the exponent of that lane's scale.
double scale_of(const Lanes& lanes, std::size_t lane) {
  const u32 exponent = lanes[lane] >> 23 & 0xFFU;
  return exponent == 255 ? std::nan("") : std::exp2(static_cast<int>(exponent) - 127);
}

u32 field(OneWave& one, std::size_t first, std::size_t lane, std::size_t width, std::size_t item) {
  const std::size_t bit = width * item;
  u64 bits = one.v(first + bit / 32)[lane];
  if (bit % 32 + width > 32) bits |= u64{one.v(first + bit / 32 + 1)[lane]} << 32;
  return static_cast<u32>(bits >> bit % 32 & ((u64{1} << width) - 1));
}

/// A float whose code bits are given against the one that is right; any NaN is as good as another.
void expect_float(u32 bits, double expected) {
  if (std::isnan(expected)) {
    ASSERT_TRUE(std::isnan(std::bit_cast<float>(bits)));
  } else {
    ASSERT_EQ(bits, bits_of(expected));
  }
}

TEST(ScaledConversion, WiderValuesAreMultiplied) {
  OneWave one;
  Operands operands;
  fill_scales(one.v(1));
  for (const Format& narrow : kNarrow) {
    const auto width = static_cast<std::size_t>(narrow.element->bits);
    for (int trial = 0; trial < 20; ++trial) {
      operands.fill(one.v(0));
      one.run(std::string("v_cvt_scalef32_pk_f32_") + narrow.name + " v[2:3], v0, v1", kCdna4);
      one.run(std::string("v_cvt_scalef32_pk_f16_") + narrow.name + " v4, v0, v1", kCdna4);
      one.run(std::string("v_cvt_scalef32_pk_bf16_") + narrow.name + " v5, v0, v1", kCdna4);
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        for (std::size_t item = 0; item < 2; ++item) {
          const u32 code = field(one, 0, lane, width, item);
          if (width == 8 && (code & 0x7FU) > (narrow.name[0] == 'f' ? 0x7EU : 0x7BU)) continue;
          const double expected = narrow.element->value(code) * scale_of(one.v(1), lane);
          expect_float(one.v(2 + item)[lane], expected);
          for (std::size_t format = 0; format < 2; ++format) {
            const u32 got = field(one, 4 + format, lane, 16, item);
            ASSERT_EQ(got & 0x7FFFU, kSixteenBits[format].narrowing(expected) & 0x7FFFU)
                << narrow.name << " " << expected;
            if (std::isnan(expected)) continue;
            ASSERT_EQ(got >> 15, std::signbit(expected) ? 1U : 0U);
          }
        }
      }
    }
  }
}

TEST(ScaledConversion, ThirtyTwoOfSixBitsAreMultiplied) {
  OneWave one;
  Operands operands;
  fill_scales(one.v(1));
  for (const Format& six : kSixBits) {
    for (std::size_t dword = 2; dword < 8; ++dword) operands.fill(one.v(dword));
    one.run(std::string("v_cvt_scalef32_pk32_f32_") + six.name + " v[32:63], v[2:7], v1", kCdna4);
    one.run(std::string("v_cvt_scalef32_pk32_f16_") + six.name + " v[64:79], v[2:7], v1", kCdna4);
    one.run(std::string("v_cvt_scalef32_pk32_bf16_") + six.name + " v[80:95], v[2:7], v1", kCdna4);
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      for (std::size_t item = 0; item < 32; ++item) {
        const double expected = six.element->value(field(one, 2, lane, 6, item)) * scale_of(one.v(1), lane);
        expect_float(one.v(32 + item)[lane], expected);
        if (std::isnan(expected)) continue;
        ASSERT_EQ(field(one, 64, lane, 16, item), kSixteenBits[0].narrowing(expected)) << six.name << " " << expected;
        ASSERT_EQ(field(one, 80, lane, 16, item), kSixteenBits[1].narrowing(expected)) << six.name << " " << expected;
      }
    }
  }
}

/// Values of about the scale's size and of any other, so that some are denormal and some overflow.
void fill_floats(Lanes& lanes, const Lanes& scales, Operands& operands) {
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    const u32 random = operands.next();
    const u32 exponent = (scales[lane] >> 23 & 0xFFU) + random % 16;
    lanes[lane] = random % 5 == 0 ? operands.next() : (random & 0x807F'FFFFU) | std::min(exponent, 254U) << 23;
  }
}

TEST(ScaledConversion, NarrowerValuesAreDivided) {
  OneWave one;
  Operands operands;
  fill_scales(one.v(2));
  for (const Format& narrow : kNarrow) {
    const auto width = static_cast<std::size_t>(narrow.element->bits);
    for (int trial = 0; trial < 20; ++trial) {
      fill_floats(one.v(0), one.v(2), operands);
      fill_floats(one.v(1), one.v(2), operands);
      one.run(std::string("v_cvt_scalef32_pk_") + narrow.name + "_f32 v3, v0, -|v1|, v2", kCdna4);
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        const double scale = scale_of(one.v(2), lane);
        const double a = std::bit_cast<float>(one.v(0)[lane]) / scale;
        const double b = -std::fabs(std::bit_cast<float>(one.v(1)[lane])) / scale;
        const u32 sign = 1U << (width - 1);
        const u32 kept = std::isnan(scale) ? ~sign : ~0U;  // the sign of what NaN makes of a value says nothing
        ASSERT_EQ(field(one, 3, lane, width, 0) & kept, narrow.narrowing(a) & kept) << narrow.name << " " << a;
        ASSERT_EQ(field(one, 3, lane, width, 1) & kept, narrow.narrowing(b) & kept) << narrow.name << " " << b;
      }
    }
  }
}

TEST(ScaledConversion, HalvesAreDivided) {
  OneWave one;
  Operands operands;
  for (u32 lane = 0; lane < kLanes; ++lane) one.v(1)[lane] = (112 + lane / 2) << 23;
  for (int trial = 0; trial < 20; ++trial) {
    operands.fill(one.v(0));
    for (const Format& wide : kSixteenBits) {
      for (const Format& narrow : kNarrow) {
        const auto width = static_cast<std::size_t>(narrow.element->bits);
        one.run(std::string("v_cvt_scalef32_pk_") + narrow.name + "_" + wide.name + " v3, v0, v1", kCdna4);
        for (std::size_t lane = 0; lane < kLanes; ++lane) {
          for (std::size_t item = 0; item < 2; ++item) {
            const u32 code = field(one, 0, lane, 16, item);
            if ((code & 0x7FFFU) >= (wide.name[0] == 'f' ? 0x7C00U : 0x7F80U)) continue;
            const double value = wide.element->value(code) / scale_of(one.v(1), lane);
            ASSERT_EQ(field(one, 3, lane, width, item), narrow.narrowing(value)) << narrow.name << " " << value;
          }
        }
      }
    }
  }
}

/// "2xpk16": elements of the two sources in turns.
TEST(ScaledConversion, ThirtyTwoToSixBits) {
  OneWave one;
  Operands operands;
  one.v(1).fill(bits_of(0.5));
  for (const Format& six : kSixBits) {
    for (std::size_t dword = 32; dword < 64; ++dword) {
      for (u32& lane : one.v(dword)) lane = bits_of((static_cast<int>(operands.next() % 4001) - 2000) / 128.0);
    }
    one.run(std::string("v_cvt_scalef32_2xpk16_") + six.name + "_f32 v[2:7], v[32:47], v[48:63], v1", kCdna4);
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      for (std::size_t item = 0; item < 32; ++item) {
        const u32 from = one.v(32 + item / 2 + item % 2 * 16)[lane];
        ASSERT_EQ(field(one, 2, lane, 6, item), six.narrowing(2 * double{std::bit_cast<float>(from)}));
      }
    }
    for (std::size_t dword = 64; dword < 80; ++dword) {
      for (u32& lane : one.v(dword)) lane = operands.next() & 0x4FFF'4FFFU;  // halves below 32
    }
    one.run(std::string("v_cvt_scalef32_pk32_") + six.name + "_f16 v[2:7], v[64:79], v1", kCdna4);
    one.run(std::string("v_cvt_scalef32_sr_pk32_") + six.name + "_f16 v[8:13], v[64:79], v14, v1", kCdna4);
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      for (std::size_t item = 0; item < 32; ++item) {
        const double value = 2 * elements::kHalf.value(field(one, 64, lane, 16, item));
        ASSERT_EQ(field(one, 2, lane, 6, item), six.narrowing(value)) << six.name << " " << value;
        u32 below = 0;  // v14 is 0, and the generator stays there: all is cut off
        while (below < 31 && six.narrowing.value(below + 1) <= value) ++below;
        ASSERT_EQ(field(one, 8, lane, 6, item), below) << six.name << " " << value;
      }
    }
  }
}

struct Selected {
  const char* text;
  u32 expected;  ///< v4, or v5, of which is no more than the lowest dword
};

TEST(ScaledConversion, PartsOfTheDestination) {
  OneWave one;
  one.v(0).fill(bits_of(1));
  one.v(1).fill(bits_of(-2));
  one.v(2).fill(0x4000'3C00);  // halves: 1, 2
  one.v(3).fill(0);
  constexpr u32 kBefore = 0x1122'3344;
  for (const auto& [text, expected] : {Selected{"v_cvt_scalef32_pk_fp8_f32 v4, v0, v1, 1.0", 0x1122'C038},
                                       {"v_cvt_scalef32_pk_fp8_f32 v4, v0, v1, 1.0 op_sel:[0,0,0,1]", 0xC038'3344},
                                       {"v_cvt_scalef32_pk_bf8_f16 v4, v2, 1.0", 0x1122'403C},
                                       {"v_cvt_scalef32_pk_bf8_f16 v4, v2, 1.0 op_sel:[0,0,1]", 0x403C'3344},
                                       {"v_cvt_scalef32_pk_fp4_f32 v4, v0, v1, 1.0", 0x1122'33C2},
                                       {"v_cvt_scalef32_pk_fp4_f32 v4, v0, v1, 1.0 op_sel:[0,0,1,0]", 0x1122'C244},
                                       {"v_cvt_scalef32_pk_fp4_f32 v4, v0, v1, 1.0 op_sel:[0,0,0,1]", 0x11C2'3344},
                                       {"v_cvt_scalef32_pk_fp4_f16 v4, v2, 1.0 op_sel:[0,0,1,1]", 0x4222'3344},
                                       {"v_cvt_scalef32_sr_fp8_f32 v4, v1, v3, 1.0 op_sel:[0,0,1,0]", 0x1122'C044},
                                       {"v_cvt_scalef32_sr_bf8_f16 v4, v2, v3, 1.0 op_sel:[0,0,0,1]", 0x113C'3344},
                                       {"v_cvt_scalef32_sr_pk_fp4_f16 v4, v2, v3, 1.0 op_sel:[0,0,1,1]", 0x4222'3344},
                                       {"v_cvt_sr_fp8_f32 v4, v1, v3 op_sel:[0,0,1,1]", 0xC022'3344},
                                       {"v_cvt_sr_bf8_f32 v4, v1, v3 op_sel:[0,0,1,0]", 0x1122'C044},
                                       {"v_cvt_sr_f16_f32 v4, v1, v3", 0x1122'C000},
                                       {"v_cvt_sr_bf16_f32 v4, v1, v3 op_sel:[0,0,1]", 0xC000'3344}}) {
    one.v(4).fill(kBefore);
    one.set_exec(~u64{2});
    one.run(text, kCdna4);
    EXPECT_EQ(one.v(4)[0], expected) << text;
    EXPECT_EQ(one.v(4)[1], kBefore) << text;  // EXEC is heeded
    EXPECT_EQ(one.v(4)[63], expected) << text;
  }
}

TEST(ScaledConversion, PartsOfTheSource) {
  OneWave one;
  one.v(0).fill(0x4438'3034);  // FP8: 0.75, 0.5, 1, 3
  for (const auto& [text, expected] : {Selected{"v_cvt_scalef32_pk_f32_fp8 v[4:5], v0, 1.0", bits_of(0.75)},
                                       {"v_cvt_scalef32_pk_f32_fp8 v[4:5], v0, 1.0 op_sel:[1,0,0]", bits_of(1)},
                                       {"v_cvt_scalef32_f32_fp8 v4, v0, 1.0", bits_of(0.75)},
                                       {"v_cvt_scalef32_f32_fp8 v4, v0, 1.0 op_sel:[1,0,0]", bits_of(0.5)},
                                       {"v_cvt_scalef32_f32_fp8 v4, v0, 2.0 op_sel:[0,1,0]", bits_of(2)},
                                       {"v_cvt_scalef32_f32_fp8 v4, v0, 1.0 op_sel:[1,1,0]", bits_of(3)},
                                       {"v_cvt_scalef32_f16_fp8 v4, v0, 1.0", 0x1122'3A00},
                                       {"v_cvt_scalef32_f16_fp8 v4, v0, 1.0 op_sel:[1,1,1]", 0x4200'3344},
                                       {"v_cvt_scalef32_pk_f16_fp8 v4, v0, 1.0 op_sel:[1,0,0]", 0x4200'3C00},
                                       {"v_cvt_scalef32_pk_bf16_fp8 v4, v0, 1.0", 0x3F00'3F40},
                                       {"v_cvt_scalef32_pk_bf16_fp4 v4, v0, 1.0", 0x3FC0'4000},
                                       {"v_cvt_scalef32_pk_f32_fp4 v[4:5], v0, 1.0 op_sel:[0,1,0]", bits_of(-0.0)},
                                       {"v_cvt_scalef32_pk_f16_fp4 v4, v0, 1.0 op_sel:[1,1,0]", 0x4000'4000}}) {
    one.v(4).fill(0x1122'3344);
    one.run(text, kCdna4);
    EXPECT_EQ(one.v(4)[7], expected) << text;
  }
  for (const char* text :
       {"v_cvt_scalef32_f32_fp8 v4, v0, 1.0 op_sel:[0,0,1]", "v_cvt_scalef32_pk_f32_fp8 v[4:5], v0, 1.0 op_sel:[0,1,0]",
        "v_cvt_scalef32_pk_fp8_f32 v4, v0, v1, 1.0 op_sel:[1,0,0,0]", "v_cvt_scalef32_pk_fp8_f16 v4, -v0, v1"}) {
    EXPECT_THROW(one.run(text, kCdna4), Failure) << text;
  }
  EXPECT_THROW(one.run("v_cvt_scalef32_f32_fp8 v4, v0, 1.0", Generation::cdna3), Failure);
}

}  // namespace
}  // namespace octet::sim
