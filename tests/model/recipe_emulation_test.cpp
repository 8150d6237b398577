// The linear layer in every recipe and format family against its emulation: what the products read, bit for bit, and
// what they give, to the rounding of fp32 sums.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/random.h"
#include "model/product_agreement.h"
#include "model/small_llama.h"

namespace octet::test {
namespace {

using ops::reference::LinearEmulation;
using ops::reference::LinearProduct;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kSubnormal = 0x1p-130F;
constexpr float kBelowAmaxFloor = 1e-13F;

/// Where a value that is not finite stands, if anywhere.
enum class NonFinite { nowhere, nan_in_x, infinity_in_dy, negative_infinity_in_weight, nan_in_dy };

struct EmulationCase {
  const char* recipe;
  fp8::FormatFamily family;
  LinearShape shape;
  NonFinite non_finite;
};

void PrintTo(const EmulationCase& c, std::ostream* out) {
  *out << c.recipe << " " << fp8::name(fp8::forward_format(c.family)) << " [" << c.shape.m << ", " << c.shape.n << ", "
       << c.shape.k << "] non-finite " << static_cast<int>(c.non_finite);
}

/// Row 1 is zeros of both signs, row 2 subnormals, row 3 lies below the floor of amax, column 1 is zeros; the others
/// are normal numbers whose rows and columns differ in size. Matrices too small for a row do without it.
std::vector<bf16> edge_matrix(std::string_view name, std::int64_t rows, std::int64_t cols) {
  std::vector<bf16> matrix;
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < cols; ++c) {
      const auto index = static_cast<std::uint64_t>(r * cols + c);
      const double size = std::exp2(static_cast<double>(r % 5 + c % 3) - 3);
      auto value = static_cast<float>(size * normal(3, stream_of(name), index));
      if (r == 2) value = std::copysign(kSubnormal * static_cast<float>(c % 4), value);
      if (r == 3) value *= kBelowAmaxFloor;
      if (r == 1 || c == 1) value = std::copysign(0.0F, value);
      matrix.push_back(to_bf16(value));
    }
  }
  return matrix;
}

LinearOperands edge_operands(const LinearShape& shape, NonFinite non_finite) {
  LinearOperands operands{edge_matrix("x", shape.m, shape.k), edge_matrix("weight", shape.n, shape.k),
                          edge_matrix("dy", shape.m, shape.n)};
  const auto middle = [](std::vector<bf16>& matrix) -> bf16& { return matrix[matrix.size() / 2]; };
  if (non_finite == NonFinite::nan_in_x) middle(operands.x) = to_bf16(kNan);
  if (non_finite == NonFinite::infinity_in_dy) middle(operands.dy) = to_bf16(kInfinity);
  if (non_finite == NonFinite::negative_infinity_in_weight) middle(operands.weight) = to_bf16(-kInfinity);
  if (non_finite == NonFinite::nan_in_dy) middle(operands.dy) = to_bf16(kNan);
  return operands;
}

LinearPrecision precision_of(const EmulationCase& c) {
  PrecisionPlan plan(precision(c.recipe, c.family));
  return plan.decide("linear", c.shape.m, c.shape.n, c.shape.k);
}

void expect_product(std::string_view name, const UsedProduct& used, const ops::reference::Vector& result, DType dtype,
                    const LinearProduct& expected, std::int64_t contraction) {
  SCOPED_TRACE(name);
  EXPECT_TRUE(same_operand(used.left, expected.left)) << "left operand";
  EXPECT_TRUE(same_operand(used.right, expected.right)) << "right operand";
  EXPECT_TRUE(rounds_from(dtype, result, expected.exact, ops::reference::fp32_error_bound(expected, contraction)));
}

class RecipeEmulation : public testing::TestWithParam<EmulationCase> {};

TEST_P(RecipeEmulation, CodesScalesAndResults) {
  const EmulationCase& c = GetParam();
  const auto [m, n, k] = c.shape;
  const LinearOperands operands = edge_operands(c.shape, c.non_finite);
  const LinearEmulation expected = ops::reference::emulate_linear(*fp8::find_recipe(c.recipe), c.family, operands.x,
                                                                  operands.weight, operands.dy, m, k, n);
  for (const WeightCodes weight_codes : {WeightCodes::cached, WeightCodes::per_use}) {
    const LinearStep step = run_linear(c.shape, precision_of(c), weight_codes, operands);
    expect_product("forward", step.forward, step.y, DType::bf16, expected.forward, k);
    expect_product("dgrad", step.dgrad, step.dx, DType::bf16, expected.dgrad, n);
    expect_product("wgrad", step.wgrad, step.dweight, DType::f32, expected.wgrad, m);
  }
}

TEST(Accumulation, OfEachProductIsWhatThePlanSays) {
  const LinearShape shape{8, 16, 32};
  const LinearOperands operands = edge_operands(shape, NonFinite::nowhere);
  PrecisionOptions options = precision("rowwise");
  options.accumulation = {fp8::Accumulation::full, fp8::Accumulation::fast, {}};
  PrecisionPlan plan(options);
  const LinearPrecision chosen = plan.decide("linear", shape.m, shape.n, shape.k);
  const LinearStep step = run_linear(shape, chosen, WeightCodes::cached, operands);
  EXPECT_EQ(step.forward.accumulation, fp8::Accumulation::full);
  EXPECT_EQ(step.dgrad.accumulation, fp8::Accumulation::fast);
  EXPECT_EQ(step.wgrad.accumulation, fp8::Accumulation::full);

  const LinearPrecision own = PrecisionPlan(precision("rowwise")).decide("linear", shape.m, shape.n, shape.k);
  const LinearStep same = run_linear(shape, own, WeightCodes::cached, operands);
  EXPECT_EQ(same.forward.accumulation, fp8::Accumulation::fast);
  EXPECT_EQ(same.y, step.y) << "the CPU sums in fp32 either way";
  EXPECT_EQ(same.dx, step.dx);
}

std::vector<EmulationCase> cases() {
  std::vector<EmulationCase> all;
  for (const char* recipe : {"tensorwise", "rowwise", "rowwise_hp_wgrad", "bf16"}) {
    for (const auto family : {fp8::FormatFamily::ocp, fp8::FormatFamily::fnuz}) {
      for (const LinearShape shape : {LinearShape{96, 80, 128}, {33, 48, 272}, {270, 528, 32}, {1, 32, 16}}) {
        all.push_back({recipe, family, shape, NonFinite::nowhere});
      }
      for (const NonFinite non_finite : {NonFinite::nan_in_x, NonFinite::infinity_in_dy,
                                         NonFinite::negative_infinity_in_weight, NonFinite::nan_in_dy}) {
        all.push_back({recipe, family, {19, 32, 48}, non_finite});
      }
    }
  }
  // Where no operand is FP8, N and K may be anything.
  all.push_back({"bf16", fp8::FormatFamily::ocp, {13, 7, 29}, NonFinite::nowhere});
  return all;
}

INSTANTIATE_TEST_SUITE_P(Recipes, RecipeEmulation, testing::ValuesIn(cases()));

}  // namespace
}  // namespace octet::test
