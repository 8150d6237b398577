// The linear layer against torchao's Float8Linear in its three recipes and both format families.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "model/product_agreement.h"
#include "model/small_llama.h"
#include "torchao/vectors.h"

namespace octet::test {
namespace {

using ops::reference::LinearEmulation;
using ops::reference::LinearProduct;
using ops::reference::Vector;

struct TorchaoCase {
  const char* operands;  ///< "finite", or "non_finite" with a NaN in X and an infinity in dY
  const char* recipe;    ///< torchao's name
  const char* family;
};

void PrintTo(const TorchaoCase& c, std::ostream* out) {
  *out << c.operands << " " << c.family << " " << c.recipe;
}

class TorchaoLinear : public testing::TestWithParam<TorchaoCase> {
 protected:
  [[nodiscard]] LinearOperands operands() const {
    return {vectors_.bf16s(operands_ + ".x"), vectors_.bf16s(operands_ + ".weight"), vectors_.bf16s(operands_ + ".dy")};
  }
  [[nodiscard]] LinearShape shape() const {
    return {vectors_.rows(operands_ + ".x"), vectors_.rows(operands_ + ".weight"), vectors_.cols(operands_ + ".x")};
  }

  void expect_operand(const std::string& name, const UsedOperand& used) const {
    SCOPED_TRACE(name);
    ASSERT_EQ(vectors_.has(prefix_ + name + ".codes"), used.dtype != DType::bf16);
    if (used.dtype == DType::bf16) return;
    const std::vector<std::uint8_t> codes = vectors_.codes(prefix_ + name + ".codes");
    EXPECT_EQ(used.codes, with_one_nan(codes, used.dtype));
    const std::vector<float> scale_inverse = vectors_.floats(prefix_ + name + ".scale_inverse");
    ASSERT_EQ(used.scale_inverse.size(), scale_inverse.size());
    for (std::size_t i = 0; i < scale_inverse.size(); ++i) {
      const bool both_nan = std::isnan(used.scale_inverse[i]) && std::isnan(scale_inverse[i]);
      EXPECT_TRUE(both_nan || used.scale_inverse[i] == scale_inverse[i]) << "scale " << i;
    }
  }

  /// torchao rounds every result to bf16, the weight's gradient too. Its emulation divides each code by the scale in
  /// fp32, one more rounding of each term: less than another fp32_error_bound().
  void expect_result(const std::string& name, const LinearProduct& product, std::int64_t contraction) const {
    Vector bound = ops::reference::fp32_error_bound(product, contraction);
    for (double& value : bound) value *= 2;
    const std::vector<bf16> result = vectors_.bf16s(prefix_ + name);
    EXPECT_TRUE(rounds_from(DType::bf16, ops::reference::widen(result), product.exact, bound)) << name;
  }

  TorchaoVectors vectors_;
  std::string operands_ = GetParam().operands;
  std::string prefix_ = operands_ + "." + GetParam().family + "." + GetParam().recipe + ".";

 private:
  /// PyTorch's NaN codes carry a sign, Octet's do not: see casts_test.cpp.
  [[nodiscard]] static std::vector<std::uint8_t> with_one_nan(std::vector<std::uint8_t> codes, DType dtype) {
    const bool signed_nan = dtype == DType::e4m3fn || dtype == DType::e5m2;
    if (signed_nan) std::ranges::replace(codes, std::uint8_t{0xFF}, std::uint8_t{0x7F});
    return codes;
  }
};

TEST_P(TorchaoLinear, OperandsAndResults) {
  const auto [m, n, k] = shape();
  const auto family = std::string_view(GetParam().family) == "fnuz" ? fp8::FormatFamily::fnuz : fp8::FormatFamily::ocp;
  PrecisionPlan plan(precision(GetParam().recipe, family));
  const LinearStep step = run_linear(shape(), plan.decide("linear", m, n, k), WeightCodes::cached, operands());
  expect_operand("forward.left", step.forward.left);
  expect_operand("forward.right", step.forward.right);
  expect_operand("dgrad.left", step.dgrad.left);
  expect_operand("dgrad.right", step.dgrad.right);
  expect_operand("wgrad.left", step.wgrad.left);
  expect_operand("wgrad.right", step.wgrad.right);

  const auto [x, weight, dy] = operands();
  const LinearEmulation emulation =
      ops::reference::emulate_linear(*fp8::find_recipe(GetParam().recipe), family, x, weight, dy, m, k, n);
  expect_result("y", emulation.forward, k);
  expect_result("dx", emulation.dgrad, n);
  expect_result("dweight", emulation.wgrad, m);
}

std::vector<TorchaoCase> cases() {
  std::vector<TorchaoCase> all;
  for (const char* operands : {"finite", "non_finite"}) {
    for (const char* recipe : {"tensorwise", "rowwise", "rowwise_with_gw_hp"}) {
      for (const char* family : {"ocp", "fnuz"}) all.push_back({operands, recipe, family});
    }
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Recipes, TorchaoLinear, testing::ValuesIn(cases()));

}  // namespace
}  // namespace octet::test
