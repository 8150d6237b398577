// Double precision against the host's; literals; moves of 64 bits by DPP.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <string>

#include "sim/one_wave.h"

namespace octet::sim {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double wide(OneWave& one, std::size_t row, std::size_t lane) {
  return std::bit_cast<double>(one.v(row)[lane] | u64{one.v(row + 1)[lane]} << 32);
}

void fill(OneWave& one, std::size_t row, double value) {
  one.v(row).fill(static_cast<u32>(std::bit_cast<u64>(value)));
  one.v(row + 1).fill(static_cast<u32>(std::bit_cast<u64>(value) >> 32));
}

/// Upper halves of special floats make special doubles: zeros, infinities, NaNs, denormals among random ones.
void fill(OneWave& one, std::size_t row, Operands& operands) {
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    u32 high = operands.next();
    if (high % 4 == 0) high = 0x3FF0'0000U + (high >> 8 & 0x000F'FFFFU);  // near one another
    if ((high & 0x7F80'0000U) == 0x7F80'0000U) high |= 0x7FF0'0000U;
    one.v(row)[lane] = high % 3 == 0 ? 0 : operands.next();
    one.v(row + 1)[lane] = high;
  }
}

using Reference = std::function<double(double x, double y, double z)>;

void expect_doubles(const std::string& text, const Reference& reference) {
  OneWave one;
  Operands operands;
  for (int trial = 0; trial < 100; ++trial) {
    for (const std::size_t row : {0, 2, 4}) fill(one, row, operands);
    one.run(text);
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const double x = wide(one, 0, lane);
      const double y = wide(one, 2, lane);
      const double z = wide(one, 4, lane);
      const double expected = reference(x, y, z);
      const double got = wide(one, 10, lane);
      if (std::isnan(expected)) {
        ASSERT_TRUE(std::isnan(got)) << text << ": " << x << ", " << y << ", " << z << " gave " << got;
      } else {
        ASSERT_EQ(std::bit_cast<u64>(got), std::bit_cast<u64>(expected))
            << text << std::hexfloat << ": " << x << ", " << y << ", " << z << " gave " << got;
      }
    }
  }
}

bool is_signalling(double x) {
  return std::isnan(x) && (std::bit_cast<u64>(x) >> 51 & 1U) == 0;
}
double larger(double x, double y) {
  if (is_signalling(x) || is_signalling(y)) return std::nan("");
  if (std::isnan(x) || std::isnan(y)) return std::isnan(x) ? y : x;
  if (x == y) return std::signbit(x) ? y : x;
  return x > y ? x : y;
}

TEST(VectorDouble, Arithmetic) {
  expect_doubles("v_add_f64 v[10:11], v[0:1], v[2:3]", [](double x, double y, double) { return x + y; });
  expect_doubles("v_add_f64 v[10:11], v[0:1], -|v[2:3]|", [](double x, double y, double) { return x - std::fabs(y); });
  expect_doubles("v_mul_f64 v[10:11], v[0:1], v[2:3]", [](double x, double y, double) { return x * y; });
  expect_doubles("v_mul_f64 v[10:11], v[0:1], v[2:3] clamp",
                 [](double x, double y, double) { return x * y > 0 ? std::fmin(x * y, 1.0) : 0.0; });
  expect_doubles("v_fma_f64 v[10:11], v[0:1], v[2:3], v[4:5]",
                 [](double x, double y, double z) { return std::fma(x, y, z); });
  expect_doubles("v_max_f64 v[10:11], v[0:1], v[2:3]", [](double x, double y, double) { return larger(x, y); });
  expect_doubles("v_min_f64 v[10:11], v[0:1], v[2:3]", [](double x, double y, double) { return -larger(-x, -y); });
  expect_doubles("v_floor_f64_e32 v[10:11], v[0:1]", [](double x, double, double) { return std::floor(x); });
  expect_doubles("v_ceil_f64_e32 v[10:11], v[0:1]", [](double x, double, double) { return std::ceil(x); });
  expect_doubles("v_trunc_f64_e32 v[10:11], v[0:1]", [](double x, double, double) { return std::trunc(x); });
  expect_doubles("v_rndne_f64_e32 v[10:11], v[0:1]", [](double x, double, double) { return std::nearbyint(x); });
  expect_doubles("v_fract_f64_e32 v[10:11], v[0:1]", [](double x, double, double) {
    return std::isfinite(x) ? std::fmin(x - std::floor(x), 1 - 0x1p-53) : std::nan("");
  });
  expect_doubles("v_rcp_f64_e32 v[10:11], v[0:1]", [](double x, double, double) { return 1 / x; });
  expect_doubles("v_sqrt_f64_e32 v[10:11], v[0:1]", [](double x, double, double) { return std::sqrt(x); });
  expect_doubles("v_frexp_mant_f64_e32 v[10:11], v[0:1]", [](double x, double, double) {
    int exponent = 0;
    return std::isfinite(x) ? std::frexp(x, &exponent) : x;
  });
  expect_doubles("v_ldexp_f64 v[10:11], v[0:1], v2", [](double x, double y, double) {
    return std::ldexp(x, static_cast<i32>(static_cast<u32>(std::bit_cast<u64>(y))));
  });
}

TEST(VectorDouble, AccumulationAndLiterals) {
  OneWave one;
  fill(one, 0, 3);
  fill(one, 2, 5);
  fill(one, 4, 7);
  one.run("v_fmac_f64_e32 v[4:5], v[0:1], v[2:3]");
  EXPECT_EQ(wide(one, 4, 63), 22);
  one.run("v_ceil_f64_e32 v[10:11], 0x40590000");  // the upper half of 100
  EXPECT_EQ(wide(one, 10, 0), 100);
  one.run("v_add_f64 v[10:11], v[0:1], 0.5");
  EXPECT_EQ(wide(one, 10, 0), 3.5);
  one.run("v_mul_f64 v[10:11], v[0:1], -4.0");
  EXPECT_EQ(wide(one, 10, 0), -12);
  one.set_s64(2, std::bit_cast<u64>(0.25));
  one.run("v_add_f64 v[10:11], s[2:3], v[0:1]");
  EXPECT_EQ(wide(one, 10, 0), 3.25);
}

TEST(VectorDouble, LanesThatExecDoesNotNameStay) {
  OneWave one;
  fill(one, 0, 3);
  fill(one, 10, -1);
  one.set_exec(0xF0);
  one.run("v_add_f64 v[10:11], v[0:1], v[0:1]");
  EXPECT_EQ(wide(one, 10, 3), -1);
  EXPECT_EQ(wide(one, 10, 4), 6);
}

TEST(VectorDouble, Conversions) {
  OneWave one;
  Operands operands;
  for (int trial = 0; trial < 100; ++trial) {
    fill(one, 0, operands);
    operands.fill(one.v(2));
    one.run("v_cvt_f32_f64_e32 v3, v[0:1]");
    one.run("v_cvt_i32_f64_e32 v4, v[0:1]");
    one.run("v_cvt_u32_f64_e32 v5, v[0:1]");
    one.run("v_frexp_exp_i32_f64_e32 v6, v[0:1]");
    one.run("v_cvt_f64_f32_e32 v[8:9], v2");
    one.run("v_cvt_f64_i32_e32 v[10:11], v2");
    one.run("v_cvt_f64_u32_e32 v[12:13], v2");
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const double x = wide(one, 0, lane);
      const auto single = std::bit_cast<float>(one.v(2)[lane]);
      if (std::isnan(x)) {
        ASSERT_TRUE(std::isnan(std::bit_cast<float>(one.v(3)[lane])));
      } else {
        ASSERT_EQ(one.v(3)[lane], std::bit_cast<u32>(static_cast<float>(x))) << x;
      }
      const double whole = std::isnan(x) ? 0 : std::trunc(x);
      ASSERT_EQ(static_cast<i32>(one.v(4)[lane]), std::fmin(std::fmax(whole, -0x1p31), 0x1p31 - 1)) << x;
      ASSERT_EQ(one.v(5)[lane], std::fmin(std::fmax(whole, 0), 0x1p32 - 1)) << x;
      const int exponent = std::isfinite(x) && x != 0 ? std::ilogb(x) + 1 : 0;
      ASSERT_EQ(static_cast<i32>(one.v(6)[lane]), exponent) << x;
      if (!std::isnan(single)) {
        ASSERT_EQ(wide(one, 8, lane), double{single});
      }
      ASSERT_EQ(wide(one, 10, lane), static_cast<i32>(one.v(2)[lane]));
      ASSERT_EQ(wide(one, 12, lane), one.v(2)[lane]);
    }
  }
}

TEST(VectorDouble, ComparisonsAndClasses) {
  OneWave one;
  const std::array<double, 8> values{0.0, -0.0, 1, -1, kInfinity, -kInfinity, std::nan(""), 0x1p-1074};
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    const auto a = std::bit_cast<u64>(values[lane % 8]);
    const auto b = std::bit_cast<u64>(values[lane / 8]);
    one.v(0)[lane] = static_cast<u32>(a);
    one.v(1)[lane] = static_cast<u32>(a >> 32);
    one.v(2)[lane] = static_cast<u32>(b);
    one.v(3)[lane] = static_cast<u32>(b >> 32);
    one.v(4)[lane] = 1U << (lane / 8);
  }
  one.run("v_cmp_lt_f64_e64 s[0:1], v[0:1], v[2:3]");
  one.run("v_cmp_nge_f64_e64 s[2:3], v[0:1], v[2:3]");
  one.run("v_cmp_o_f64_e64 s[4:5], v[0:1], v[2:3]");
  one.run("v_cmp_eq_f64_e64 s[6:7], v[0:1], -v[2:3]");
  one.run("v_cmp_class_f64_e32 vcc, v[0:1], v4");
  const std::array<u32, 8> classes{6, 5, 8, 3, 9, 2, 1, 7};  // bits, of the values above
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    const double x = values[lane % 8];
    const double y = values[lane / 8];
    EXPECT_EQ(one.s64(0) >> lane & 1U, x < y ? 1U : 0U) << x << " " << y;
    EXPECT_EQ(one.s64(2) >> lane & 1U, !(x >= y) ? 1U : 0U) << x << " " << y;
    EXPECT_EQ(one.s64(4) >> lane & 1U, !std::isnan(x) && !std::isnan(y) ? 1U : 0U) << x << " " << y;
    EXPECT_EQ(one.s64(6) >> lane & 1U, x == -y ? 1U : 0U) << x << " " << y;
    EXPECT_EQ(one.wave.vcc() >> lane & 1U, classes[lane % 8] == lane / 8 ? 1U : 0U) << x;
  }
  one.run("v_cmpx_class_f64_e64 s[8:9], v[0:1], v4");
  EXPECT_EQ(one.wave.exec(), one.wave.vcc());
}

/// Segments of 2 / pi add up to it, and for an angle that is 2^k what comes before k bits behind the point is left out.
TEST(VectorDouble, SegmentsOfTwoOverPi) {
  OneWave one;
  const long double two_over_pi = 2 / std::acos(-1.0L);
  fill(one, 0, 1);
  const auto segment = [&](int number) {
    one.run("v_trig_preop_f64 v[10:11], v[0:1], " + std::to_string(number));
    return static_cast<long double>(wide(one, 10, 0));
  };
  const long double first = segment(0);
  EXPECT_LE(first, two_over_pi);
  EXPECT_GT(first, two_over_pi - 0x1p-53L);
  EXPECT_NEAR(static_cast<double>((first + segment(1) - two_over_pi) * 0x1p63L), 0, 2);
  EXPECT_EQ(segment(23), 0);  // behind the last of the 1201 bits
  fill(one, 0, 0x1p60);       // of exponent 1083: six bits less
  EXPECT_EQ(segment(0), std::ldexp(std::trunc(std::ldexp(std::fmod(two_over_pi, 0x1p-6L), 59)), -59));
  fill(one, 0, 0x1p1000);  // bits 946 on, scaled
  const long double scaled = segment(0);
  EXPECT_GT(scaled, 0);
  fill(one, 0, 0x1p947);
  EXPECT_EQ(segment(1), scaled);
  fill(one, 0, 0x1p894);  // of an exponent that is not scaled
  EXPECT_EQ(segment(2) * 0x1p128L, scaled);
}

TEST(VectorDouble, DppMovesBothHalves) {
  OneWave one;
  for (u32 lane = 0; lane < kLanes; ++lane) {
    one.v(2)[lane] = lane;
    one.v(3)[lane] = 1000 + lane;
  }
  one.run("v_mov_b64_dpp v[4:5], v[2:3] row_newbcast:10 row_mask:0xf bank_mask:0xf");
  for (u32 lane = 0; lane < kLanes; ++lane) {
    EXPECT_EQ(one.v(4)[lane], lane / 16 * 16 + 10);
    EXPECT_EQ(one.v(5)[lane], lane / 16 * 16 + 1010);
  }
}

}  // namespace
}  // namespace octet::sim
