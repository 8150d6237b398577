// How close the row kernels come to plain loops in double: the exponential in ulp, bf16 results in bf16 ulp.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/cpu/isa/exp.h"
#include "ops/cpu/row_kernels.h"
#include "row_kernels_data.h"

namespace octet::ops::cpu {
namespace {

using testing::Values;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

float exp_of(float x) {
  return baseline::first(baseline::exp(baseline::splat(x)));
}

/// Distance between two floats of the same sign, counted in representable values.
std::int64_t ulps(float a, float b) {
  return std::abs(static_cast<std::int64_t>(fp8::bits_of(a)) - static_cast<std::int64_t>(fp8::bits_of(b)));
}

TEST(RowKernelsAccuracy, ExpIsWithinTwoUlp) {
  std::int64_t worst = 0;
  // Every 97th float between -104 and 89, both signs.
  for (const auto& [sign, last] : {std::pair{0U, 89.0F}, {0x8000'0000U, 104.0F}}) {
    for (std::uint32_t bits = 0; bits <= fp8::bits_of(last); bits += 97) {
      const float x = fp8::float_of(bits | sign);
      worst = std::max(worst, ulps(exp_of(x), static_cast<float>(std::exp(static_cast<double>(x)))));
    }
  }
  EXPECT_LE(worst, 2);
}

TEST(RowKernelsAccuracy, ExpAtTheEnds) {
  EXPECT_EQ(exp_of(0.0F), 1.0F);
  EXPECT_EQ(exp_of(-kInfinity), 0.0F);
  EXPECT_EQ(exp_of(-1e30F), 0.0F);
  EXPECT_EQ(exp_of(-104.0F), 0.0F);
  EXPECT_EQ(exp_of(-103.0F), std::numeric_limits<float>::denorm_min());
  EXPECT_EQ(exp_of(88.8F), kInfinity);
  EXPECT_EQ(exp_of(kInfinity), kInfinity);
  EXPECT_EQ(exp_of(1e30F), kInfinity);
  EXPECT_TRUE(std::isnan(exp_of(NAN)));
  EXPECT_TRUE(std::isnan(exp_of(-NAN)));
}

/// Within one unit in the last place of bf16, of the value expected.
void expect_near(bf16 actual, double expected, const char* what, std::size_t i) {
  const double ulp = std::ldexp(1.0, std::max(std::ilogb(expected), -126) - 7);
  EXPECT_NEAR(static_cast<double>(to_float(actual)), expected, expected == 0 ? 0x1p-133 : ulp) << what << " " << i;
}

const RowKernels& best() {
  return row_kernels(detect_cpu_isa());
}

double at(const std::vector<bf16>& x, std::size_t i) {
  return static_cast<double>(to_float(x[i]));
}

TEST(RowKernelsAccuracy, RmsNorm) {
  const Index dim = 333;
  Values values(1);
  const std::vector<bf16> x = values.bf16s(dim);
  const std::vector<bf16> delta = values.bf16s(dim);
  const std::vector<bf16> weight = values.bf16s(dim);
  const std::vector<bf16> dy = values.bf16s(dim);
  std::vector<bf16> sum(333);
  std::vector<bf16> y(333);
  std::vector<bf16> dx(333);
  std::vector<float> dweight(333);
  float rstd = 0;
  best().rmsnorm_forward({x.data(), delta.data(), weight.data(), sum.data(), y.data(), &rstd, RowCodes{},
                          ColumnMaxima{}, 1, dim, 1e-5F, true},
                         0, 1, nullptr, nullptr);
  double squares = 0;
  for (std::size_t i = 0; i < 333; ++i) {
    EXPECT_EQ(sum[i].bits, to_bf16(to_float(x[i]) + to_float(delta[i])).bits);
    squares += at(sum, i) * at(sum, i);
  }
  const double exact_rstd = 1 / std::sqrt(squares / 333 + static_cast<double>(1e-5F));
  EXPECT_NEAR(static_cast<double>(rstd), exact_rstd, 1e-6 * exact_rstd);
  for (std::size_t i = 0; i < 333; ++i) expect_near(y[i], at(sum, i) * exact_rstd * at(weight, i), "y", i);

  best().rmsnorm_backward({dy.data(), sum.data(), weight.data(), &rstd, x.data(), dx.data(), nullptr, RowCodes{},
                           ColumnMaxima{}, 1, dim, true},
                          0, 1, dweight.data(), nullptr);
  double mean = 0;
  for (std::size_t i = 0; i < 333; ++i) mean += at(dy, i) * at(weight, i) * at(sum, i) * exact_rstd / 333;
  for (std::size_t i = 0; i < 333; ++i) {
    const double xhat = at(sum, i) * exact_rstd;
    const double expected = at(x, i) + exact_rstd * (at(dy, i) * at(weight, i) - xhat * mean);
    // Terms that cancel leave the rounding errors of fp32.
    EXPECT_NEAR(static_cast<double>(to_float(dx[i])), expected, 0x1p-8 * std::abs(expected) + 1e-5) << i;
    EXPECT_NEAR(static_cast<double>(dweight[i]), at(dy, i) * xhat, 1e-5) << i;
  }
}

TEST(RowKernelsAccuracy, Swiglu) {
  const Index dim = 1000;
  Values values(2);
  std::vector<bf16> gate_up = values.bf16s(2 * dim);
  for (std::size_t i = 0; i < 200; ++i) gate_up[i] = to_bf16(static_cast<float>(i) - 100.0F);  // into saturation
  const std::vector<bf16> dy = values.bf16s(dim);
  std::vector<bf16> y(1000);
  std::vector<bf16> dgate_up(2000);
  best().swiglu_forward({gate_up.data(), y.data(), RowCodes{}, ColumnMaxima{}, 1, dim}, 0, 1, nullptr, nullptr);
  best().swiglu_backward({gate_up.data(), dy.data(), dgate_up.data(), RowCodes{}, ColumnMaxima{}, 1, dim}, 0, 1,
                         nullptr, nullptr);
  for (std::size_t i = 0; i < 1000; ++i) {
    const double gate = at(gate_up, i);
    const double up = at(gate_up, i + 1000);
    const double s = 1 / (1 + std::exp(-gate));
    expect_near(y[i], gate * s * up, "y", i);
    expect_near(dgate_up[i], at(dy, i) * up * s * (1 + gate / (1 + std::exp(gate))), "dgate", i);
    expect_near(dgate_up[i + 1000], at(dy, i) * gate * s, "dup", i);
  }
}

TEST(RowKernelsAccuracy, RopeTurnsBackToWhereItWas) {
  const Index head_dim = 40;
  Values values(3);
  const std::vector<bf16> before = values.bf16s(2 * head_dim);
  std::vector<float> cos_sin(4 * 40);
  for (std::size_t position = 0; position < 4; ++position) {
    for (std::size_t i = 0; i < 20; ++i) {
      const double angle = 0.3 * static_cast<double>(position * (i + 1));
      cos_sin[position * 40 + i] = static_cast<float>(std::cos(angle));
      cos_sin[position * 40 + 20 + i] = static_cast<float>(std::sin(angle));
    }
  }
  std::vector<bf16> qkv = before;  // one head of two: the other must stay
  Rope op{qkv.data(), cos_sin.data(), 1, 2 * head_dim, 1, head_dim, 1, 3, false};
  best().rope(op, 0, 1, nullptr);
  for (std::size_t i = 0; i < 20; ++i) {
    const double angle = 0.9 * static_cast<double>(i + 1);
    const double a = at(before, i);
    const double b = at(before, i + 20);
    EXPECT_NEAR(at(qkv, i), a * std::cos(angle) - b * std::sin(angle), 0x1p-7);
    EXPECT_NEAR(at(qkv, i + 20), b * std::cos(angle) + a * std::sin(angle), 0x1p-7);
  }
  for (std::size_t i = 40; i < 80; ++i) EXPECT_EQ(qkv[i].bits, before[i].bits);
  op.inverse = true;
  best().rope(op, 0, 1, nullptr);
  for (std::size_t i = 0; i < 40; ++i) EXPECT_NEAR(at(qkv, i), at(before, i), 0x1p-6);
}

TEST(RowKernelsAccuracy, CrossEntropy) {
  const Index vocab = 1003;
  Values values(4);
  const std::vector<bf16> logits = values.bf16s(vocab, 4.0F);
  std::vector<bf16> gradient = logits;
  const std::int32_t target = 1001;
  float loss = 0;
  best().cross_entropy({gradient.data(), &target, &loss, 1, vocab, 0.5F, true}, 0, 1);
  double total = 0;
  for (std::size_t i = 0; i < 1003; ++i) total += std::exp(at(logits, i));
  EXPECT_NEAR(static_cast<double>(loss), std::log(total) - at(logits, 1001), 1e-5);
  for (std::size_t i = 0; i < 1003; ++i) {
    expect_near(gradient[i], 0.5 * (std::exp(at(logits, i)) / total - (i == 1001 ? 1 : 0)), "gradient", i);
  }
}

TEST(RowKernelsAccuracy, SoftmaxRowsAndTheirBackward) {
  const Index keys = 77;
  Values values(6);
  const std::vector<float> scores = values.floats(keys, 10.0F);
  const std::vector<float> dp = values.floats(keys);
  std::vector<bf16> p(80);
  std::vector<bf16> p_again(80, bf16{1});
  std::vector<bf16> ds(80, bf16{1});
  const float lse = best().softmax_row(scores.data(), keys, 80, 0.5F, p.data());
  best().softmax_backward_row(scores.data(), dp.data(), keys, 80, 0.5F, lse, 0.25F, p_again.data(), ds.data());
  double total = 0;
  for (const float score : scores) total += std::exp(0.5 * static_cast<double>(score));
  EXPECT_NEAR(static_cast<double>(lse), std::log(total), 1e-5);
  for (std::size_t i = 0; i < 77; ++i) {
    const double expected = std::exp(0.5 * static_cast<double>(scores[i])) / total;
    expect_near(p[i], expected, "p", i);
    expect_near(p_again[i], expected, "p again", i);
    expect_near(ds[i], expected * (static_cast<double>(dp[i]) - 0.25) * 0.5, "ds", i);
  }
  for (std::size_t i = 77; i < 80; ++i) EXPECT_EQ(p[i].bits | p_again[i].bits | ds[i].bits, 0);
}

TEST(RowKernelsAccuracy, AttentionDecode) {
  const Index heads = 2;
  const Index head_dim = 24;
  const Index length = 5;
  Values values(7);
  const std::vector<bf16> qkv = values.bf16s(4 * head_dim);
  const std::vector<bf16> keys = values.bf16s(8 * head_dim);
  const std::vector<bf16> cached_values = values.bf16s(8 * head_dim);
  std::vector<bf16> out(48);
  std::vector<float> scratch(5);
  best().attention_decode(
      {qkv.data(), keys.data(), cached_values.data(), out.data(), 1, length, 8, heads, 1, head_dim, 0.2F}, 0, heads,
      scratch.data());
  for (std::size_t head = 0; head < 2; ++head) {
    double total = 0;
    std::vector<double> sums(24);
    for (std::size_t position = 0; position < 5; ++position) {
      double score = 0;
      for (std::size_t i = 0; i < 24; ++i) score += at(qkv, head * 24 + i) * at(keys, position * 24 + i);
      const double weight = std::exp(0.2 * score);
      total += weight;
      for (std::size_t i = 0; i < 24; ++i) sums[i] += weight * at(cached_values, position * 24 + i);
    }
    for (std::size_t i = 0; i < 24; ++i) expect_near(out[head * 24 + i], sums[i] / total, "out", i);
  }
}

TEST(RowKernelsAccuracy, SumsAndTheFirstNonFinite) {
  Values values(8);
  std::vector<float> x = values.floats(3000);
  double sum = 0;
  double squares = 0;
  for (const float value : x) {
    sum += static_cast<double>(value);
    squares += static_cast<double>(value) * static_cast<double>(value);
  }
  EXPECT_NEAR(best().sum(x.data(), 0, 3000), sum, 1e-9);
  EXPECT_NEAR(best().sum_of_squares_f32(x.data(), 0, 3000), squares, 1e-9);
  EXPECT_EQ(best().find_non_finite_f32(x.data(), 0, 3000), -1);
  x[2999] = kInfinity;
  x[1234] = NAN;
  EXPECT_EQ(best().find_non_finite_f32(x.data(), 0, 3000), 1234);
  EXPECT_EQ(best().find_non_finite_f32(x.data(), 1235, 3000), 2999);
  EXPECT_TRUE(std::isnan(best().sum_of_squares_f32(x.data(), 0, 3000)));
  EXPECT_EQ(best().sum_of_squares_f32(x.data(), 2000, 3000), static_cast<double>(kInfinity));
}

TEST(RowKernelsAccuracy, SumOfSquaresOfBf16) {
  Values values(9);
  std::vector<bf16> x = values.bf16s(3001);
  double squares = 0;
  for (std::size_t i = 5; i < x.size(); ++i) squares += at(x, i) * at(x, i);
  EXPECT_NEAR(best().sum_of_squares_bf16(x.data(), 5, 3001), squares, 1e-9);
  x[3000] = to_bf16(NAN);
  EXPECT_TRUE(std::isnan(best().sum_of_squares_bf16(x.data(), 5, 3001)));
}

}  // namespace
}  // namespace octet::ops::cpu
