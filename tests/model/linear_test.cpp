// One linear layer in each recipe against its three products in double precision.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/random.h"
#include "model/agreement.h"
#include "model/linear_run.h"
#include "model/small_llama.h"
#include "ops/reference/gemm.h"

namespace octet::test {
namespace {

using ops::reference::Vector;

constexpr std::int64_t kTokens = 96;
constexpr std::int64_t kOut = 80;
constexpr std::int64_t kIn = 128;

/// What a recipe keeps, in dB: just below what is measured. A product of two e4m3 operands keeps about 28, one with an
/// e5m2 operand about 24.
struct LinearCase {
  const char* recipe;
  fp8::FormatFamily family;
  double output, input_gradient, weight_gradient;
};

void PrintTo(const LinearCase& linear, std::ostream* out) {
  *out << linear.recipe << " " << fp8::name(fp8::forward_format(linear.family));
}

/// Normal numbers, exact in bf16, whose rows differ in size: scales of the wrong rows would be seen.
Vector random_matrix(std::string_view name, std::int64_t rows, std::int64_t cols) {
  Vector values;
  for (std::int64_t i = 0; i < rows * cols; ++i) {
    const double row_size = std::exp2(static_cast<double>(i / cols % 5) - 2);
    const double value = row_size * normal(2, stream_of(name), static_cast<std::uint64_t>(i));
    values.push_back(to_float(to_bf16(static_cast<float>(value))));
  }
  return values;
}

std::vector<bf16> narrowed(const Vector& values) {
  std::vector<bf16> narrow(values.size());
  std::ranges::transform(values, narrow.begin(), [](double value) { return to_bf16(static_cast<float>(value)); });
  return narrow;
}

class LinearAgainstOracle : public testing::TestWithParam<LinearCase> {};

TEST_P(LinearAgainstOracle, OutputAndGradients) {
  const LinearCase& linear = GetParam();
  const Vector x = random_matrix("x", kTokens, kIn);
  const Vector weight = random_matrix("weight", kOut, kIn);
  const Vector dy = random_matrix("dy", kTokens, kOut);
  const Vector y = ops::reference::gemm(x, weight, kTokens, kOut, kIn);
  const auto gradients = ops::reference::linear_backward(dy, x, weight, kTokens, kIn, kOut);
  for (const WeightCodes weight_codes : {WeightCodes::cached, WeightCodes::per_use}) {
    PrecisionPlan plan(precision(linear.recipe, linear.family));
    const LinearStep step = run_linear({kTokens, kOut, kIn}, plan.decide("linear", kTokens, kOut, kIn), weight_codes,
                                       {narrowed(x), narrowed(weight), narrowed(dy)});
    const double output = sqnr(step.y, y);
    const double input_gradient = sqnr(step.dx, gradients.dx);
    const double weight_gradient = sqnr(step.dweight, gradients.dweight);
    fmt::print("output {:.1f} dB, input gradient {:.1f} dB, weight gradient {:.1f} dB\n", output, input_gradient,
               weight_gradient);
    EXPECT_GE(output, linear.output);
    EXPECT_GE(input_gradient, linear.input_gradient);
    EXPECT_GE(weight_gradient, linear.weight_gradient);
    EXPECT_EQ(step.forward.left.codes.empty(), std::string_view(linear.recipe) == "bf16");
  }
}

INSTANTIATE_TEST_SUITE_P(Recipes, LinearAgainstOracle,
                         testing::Values(LinearCase{"bf16", kOcp, 50, 50, 120}, LinearCase{"rowwise", kOcp, 27, 27, 27},
                                         LinearCase{"rowwise", kFnuz, 27, 27, 27},
                                         LinearCase{"tensorwise", kOcp, 27, 24, 24},
                                         LinearCase{"tensorwise", kFnuz, 27, 24, 24},
                                         LinearCase{"rowwise_hp_wgrad", kOcp, 27, 27, 120},
                                         LinearCase{"rowwise_hp_wgrad", kFnuz, 27, 27, 120}));

}  // namespace
}  // namespace octet::test
