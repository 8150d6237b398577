// A cast is the same whether it reads a matrix or its transpose: operands along the other axis are transposed first.
#include "ops/reference/linear.h"

#include <cmath>

#include "ops/reference/gemm.h"

namespace octet::ops::reference {
namespace {

/// One side of a product before its cast, [outer, contraction].
struct Source {
  std::span<const bf16> values;
  Index outer, contraction;
};

class Emulation {
 public:
  Emulation(const fp8::Recipe& recipe, fp8::FormatFamily family) : recipe_(recipe), family_(family) {}

  [[nodiscard]] LinearProduct product(const fp8::Gemm& gemm, const Source& left, const Source& right) const {
    LinearProduct d{operand(gemm.left, left), operand(gemm.right, right), {}};
    d.exact = reference::gemm(d.left.values, d.right.values, left.outer, right.outer, left.contraction);
    for (Index i = 0; i < left.outer; ++i) {
      for (Index j = 0; j < right.outer; ++j) {
        d.exact[i * right.outer + j] *=
            scale_inverse_of_row(d.left.codes.scale_inverse, i) * scale_inverse_of_row(d.right.codes.scale_inverse, j);
      }
    }
    return d;
  }

 private:
  [[nodiscard]] LinearOperand operand(const fp8::Operand& operand, const Source& source) const {
    const std::optional<fp8::Format> format = fp8::format_of(operand.precision, family_);
    if (!format) return {std::nullopt, {}, widen(source.values)};
    const auto rule = fp8::ScaleRule::of(*format, recipe_.power_of_two);
    Codes codes = operand.scale_axis == fp8::ScaleAxis::row
                      ? quantize_rows(source.values, source.outer, source.contraction, rule)
                      : quantize_tensor(source.values, rule);
    Vector values = decode(codes.codes, *format);
    return {format, std::move(codes), std::move(values)};
  }

  const fp8::Recipe& recipe_;
  fp8::FormatFamily family_;
};

double sum_of_magnitudes(View a) {
  double sum = 0;
  for (const double value : a) sum += std::abs(value);
  return sum;
}

double dot_of_magnitudes(View a, View b) {
  double sum = 0;
  for (Index i = 0; i < std::ssize(a); ++i) sum += std::abs(a[i] * b[i]);
  return sum;
}

}  // namespace

LinearEmulation emulate_linear(const fp8::Recipe& recipe, fp8::FormatFamily family, std::span<const bf16> x,
                               std::span<const bf16> weight, std::span<const bf16> dy, Index rows, Index in,
                               Index out) {
  const std::vector<bf16> x_t = transpose(x, rows, in);
  const std::vector<bf16> weight_t = transpose(weight, out, in);
  const std::vector<bf16> dy_t = transpose(dy, rows, out);
  const Emulation emulation(recipe, family);
  return {emulation.product(recipe.forward, {x, rows, in}, {weight, out, in}),
          emulation.product(recipe.dgrad, {dy, rows, out}, {weight_t, in, out}),
          emulation.product(recipe.wgrad, {dy_t, out, rows}, {x_t, in, rows})};
}

Vector fp32_error_bound(const LinearProduct& product, Index contraction) {
  constexpr double kUnitRoundoff = 0x1p-24;
  constexpr double kSmallestNormal = 0x1p-126;
  const auto terms = static_cast<double>(contraction);
  const double roundings = terms + 2;
  const double gamma = roundings * kUnitRoundoff / (1 - roundings * kUnitRoundoff);
  const Index left_outer = std::ssize(product.left.values) / contraction;
  const Index right_outer = std::ssize(product.right.values) / contraction;
  Vector bound;
  for (Index i = 0; i < left_outer; ++i) {
    for (Index j = 0; j < right_outer; ++j) {
      const View a = row(product.left.values, i, contraction);
      const View b = row(product.right.values, j, contraction);
      const double scales = scale_inverse_of_row(product.left.codes.scale_inverse, i) *
                            scale_inverse_of_row(product.right.codes.scale_inverse, j);
      const double lost = kSmallestNormal * (sum_of_magnitudes(a) + sum_of_magnitudes(b) + 2 * terms);
      bound.push_back((gamma * dot_of_magnitudes(a, b) + lost) * scales + kSmallestNormal);
    }
  }
  return bound;
}

}  // namespace octet::ops::reference
