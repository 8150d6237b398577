// One linear layer in each recipe against its three products in double precision.
#include <gtest/gtest.h>

#include "core/random.h"
#include "model/agreement.h"
#include "ops/reference/gemm.h"

namespace octet::test {
namespace {

using ops::reference::Vector;

constexpr std::int64_t kTokens = 96;
constexpr std::int64_t kOut = 80;
constexpr std::int64_t kIn = 128;

/// What a recipe keeps, in dB. A product of two e4m3 operands keeps about 28, one with an e5m2 operand about 25; the
/// issue of an FP8 recipe is held to 23 for outputs and 21 for gradients in the field.
struct LinearCase {
  const char* recipe;
  fp8::FormatFamily family;
  double output, input_gradient, weight_gradient;
};

void PrintTo(const LinearCase& linear, std::ostream* out) {
  *out << linear.recipe << " " << fp8::name(fp8::forward_format(linear.family));
}

class LinearAgainstOracle : public testing::TestWithParam<LinearCase> {
 protected:
  /// Normal numbers, exact in bf16, whose rows differ in size: one scale for all of them would lose some.
  static Vector random_matrix(std::string_view name, std::int64_t rows, std::int64_t cols) {
    Vector values;
    for (std::int64_t i = 0; i < rows * cols; ++i) {
      const double row_size = std::exp2(static_cast<double>(i / cols % 5) - 2);
      const double value = row_size * normal(2, stream_of(name), static_cast<std::uint64_t>(i));
      values.push_back(to_float(to_bf16(static_cast<float>(value))));
    }
    return values;
  }
};

}  // namespace
}  // namespace octet::test
