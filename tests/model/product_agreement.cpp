#include "model/product_agreement.h"

#include <fmt/format.h>

#include <cmath>

namespace octet::test {
namespace {

using ops::reference::View;

testing::AssertionResult failure(const std::string& what) {
  return testing::AssertionFailure() << what;
}

bool same_scale(float used, float expected) {
  return std::isnan(expected) ? std::isnan(used) : used == expected;  // a scale is never a negative zero
}

double rounded(DType dtype, double value) {
  const auto single = static_cast<float>(value);
  return static_cast<double>(dtype == DType::bf16 ? to_float(to_bf16(single)) : single);
}

bool could_round_to(DType dtype, double result, double exact, double bound) {
  if (std::isnan(exact)) return std::isnan(result);
  if (std::isinf(exact)) return result == exact;
  return rounded(dtype, exact - bound) <= result && result <= rounded(dtype, exact + bound);
}

}  // namespace

testing::AssertionResult same_operand(const UsedOperand& used, const ops::reference::LinearOperand& expected) {
  const DType dtype = expected.format ? dtype_of(*expected.format) : DType::bf16;
  if (used.dtype != dtype) return failure(fmt::format("{} instead of {}", name(used.dtype), name(dtype)));
  const auto& [codes, scale_inverse] = expected.codes;
  if (used.codes.size() != codes.size())
    return failure(fmt::format("{} codes, not {}", used.codes.size(), codes.size()));
  for (std::size_t i = 0; i < codes.size(); ++i) {
    if (used.codes[i] == codes[i]) continue;
    return failure(fmt::format("code {} is {:#04x}, not {:#04x}", i, used.codes[i], codes[i]));
  }
  if (used.scale_inverse.size() != scale_inverse.size()) {
    return failure(fmt::format("{} scales, not {}", used.scale_inverse.size(), scale_inverse.size()));
  }
  for (std::size_t i = 0; i < scale_inverse.size(); ++i) {
    if (same_scale(used.scale_inverse[i], scale_inverse[i])) continue;
    return failure(fmt::format("scale {} is {}, not {}", i, used.scale_inverse[i], scale_inverse[i]));
  }
  return testing::AssertionSuccess();
}

testing::AssertionResult rounds_from(DType dtype, View result, View exact, View bound) {
  if (result.size() != exact.size()) return failure(fmt::format("{} results, not {}", result.size(), exact.size()));
  for (std::size_t i = 0; i < exact.size(); ++i) {
    if (could_round_to(dtype, result[i], exact[i], bound[i])) continue;
    return failure(fmt::format("result {} is {}, exact {} with a bound of {}", i, result[i], exact[i], bound[i]));
  }
  return testing::AssertionSuccess();
}

}  // namespace octet::test
