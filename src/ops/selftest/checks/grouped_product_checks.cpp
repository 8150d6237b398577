// Grouped products against the oracle; FP8 operands are emulated as codes * scale_inverse.
#include "ops/selftest/checks/grouped_product_checks.h"

#include "ops/selftest/checks/gemm_checks.h"

namespace octet::ops::selftest {
namespace {

struct GroupedSide {
  GemmOperand operand;  // in the backend's memory
  Vector values;        // that the codes stand for, scaled
};

std::uint8_t nan_code(fp8::Format format) {
  const bool fnuz = format == fp8::Format::e4m3fnuz || format == fp8::Format::e5m2fnuz;
  return fnuz ? 0x80 : 0x7F;
}

std::vector<bf16> make_values(std::string_view name, Index count, bool non_finite) {
  auto values = random_bf16(name, count);
  if (non_finite) add_non_finite(values);
  return values;
}

GemmOperand fp8_operand(Trial& trial, std::string_view name, DType dtype, const reference::Codes& codes) {
  return {.data = trial.input(name, codes.codes),
          .scale_inverse = trial.input(fmt::format("scale_inverse of {}", name), codes.scale_inverse),
          .dtype = dtype,
          .axis = ScaleAxis::row};
}

/// Rows [used, k], with poison in the rest of the room.
GroupedSide make_rows(Trial& trial, const RoutedRows& routed, const GroupedGemmCase& c) {
  const auto x = make_values("a", routed.used * c.k, c.non_finite);
  const Index spare = routed.rows - routed.used;
  if (c.a == DType::bf16) return {{.data = trial.input("a", with_poison(x, spare * c.k))}, reference::widen(x)};
  const fp8::Format format = format_of(c.a);
  reference::Codes codes = reference::quantize_rows(x, routed.used, c.k, fp8::ScaleRule::of(format, true));
  const Vector values = reference::dequantize(codes, format, routed.used, c.k);
  codes.codes.insert(codes.codes.end(), spare * c.k, nan_code(format));
  codes.scale_inverse = with_poison(codes.scale_inverse, spare);
  return {fp8_operand(trial, "a", c.a, codes), values};
}

/// The matrices of all experts [experts, n, k].
GroupedSide make_matrices(Trial& trial, const GroupedGemmCase& c) {
  const Index experts = c.split.experts;
  const auto x = random_bf16("b", experts * c.n * c.k);
  if (c.b == DType::bf16) {
    std::vector<bf16> stored = x;
    for (Index e = 0; c.b_transposed && e < experts; ++e) {
      const auto of_expert = std::span(x).subspan(e * c.n * c.k, c.n * c.k);
      std::ranges::copy(reference::transpose(of_expert, c.n, c.k), stored.begin() + e * c.n * c.k);
    }
    return {{.data = trial.input("b", stored), .transposed = c.b_transposed}, reference::widen(x)};
  }
  const fp8::Format format = format_of(c.b);
  const reference::Codes codes = reference::quantize_rows(x, experts * c.n, c.k, fp8::ScaleRule::of(format, true));
  return {fp8_operand(trial, "b", c.b, codes), reference::dequantize(codes, format, experts * c.n, c.k)};
}

/// A side of wgrad, whose values [used, cols] are contracted group by group.
GroupedSide make_contracted(Trial& trial, std::string_view name, const RoutedRows& routed, DType dtype, Index cols,
                            bool non_finite) {
  const auto x = make_values(name, routed.used * cols, non_finite);
  if (dtype == DType::bf16) {
    const auto all = with_poison(x, (routed.rows - routed.used) * cols);
    return {{.data = trial.input(name, all), .transposed = true}, reference::widen(x)};
  }
  const fp8::Format format = format_of(dtype);
  const reference::Codes codes =
      reference::cast_groups(x, routed.column_maxima(x, cols), routed.offsets, routed.padded_offsets, cols,
                             routed.padded, fp8::ScaleRule::of(format, true), nan_code(format));
  const Vector decoded = reference::decode(codes.codes, format);
  Vector values(x.size());
  for (Index e = 0; e < routed.groups.experts; ++e) {
    for (Index r = routed.offsets[e]; r < routed.offsets[e + 1]; ++r) {
      for (Index col = 0; col < cols; ++col) {
        const Index place = col * routed.padded + routed.padded_offsets[e] + r - routed.offsets[e];
        values[r * cols + col] = decoded[place] * static_cast<double>(codes.scale_inverse[e * cols + col]);
      }
    }
  }
  return {fp8_operand(trial, name, dtype, codes), values};
}

}  // namespace

std::string GroupedGemmCase::describe() const {
  return fmt::format("{}, n {}, k {}, {} * {}{}{}", split.describe(), n, k, name(a), name(b),
                     b_transposed ? " transposed" : "", non_finite ? ", NaN and infinity" : "");
}

std::string GroupedWgradCase::describe() const {
  return fmt::format("{}, m {}, n {}, {} * {} {} {}{}", split.describe(), m, n, name(a), name(b),
                     accumulate ? "added to" : "to", name(d_dtype), non_finite ? ", NaN and infinity" : "");
}

void OpCheck<GroupedGemm>::run(Trial& trial, const GroupedGemmCase& c) {
  const RoutedRows routed(trial, c.split, 1);
  const GroupedSide a = make_rows(trial, routed, c);
  const GroupedSide b = make_matrices(trial, c);
  const auto d = trial.output<bf16>("d", routed.rows * c.n);
  trial.run(GroupedGemm{a.operand, b.operand, routed.groups, d.data(), c.n, c.k, Accumulation::full});

  const Vector want = reference::grouped_gemm(a.values, b.values, routed.offsets, c.n, c.k);
  const Vector terms = reference::grouped_gemm(magnitudes(a.values), magnitudes(b.values), routed.offsets, c.n, c.k);
  // k additions in any order, each rounding what has been summed so far; two scales.
  const Allowance allowed = fraction(static_cast<double>(c.k + 4) * kRoundoffF32 + trial.sum_error(c.a), terms);
  trial.expect_bf16("d", d.first(want.size()), want, allowed);
  expect_untouched<bf16>(trial, "d", d.subspan(want.size()));
}

void OpCheck<GroupedWgrad>::run(Trial& trial, const GroupedWgradCase& c) {
  const RoutedRows routed(trial, c.split, 1);
  const GroupedSide a = make_contracted(trial, "a", routed, c.a, c.m, c.non_finite);
  const GroupedSide b = make_contracted(trial, "b", routed, c.b, c.n, false);
  const Index count = routed.groups.experts * c.m * c.n;
  const auto before = random_f32("d", count);
  const bool to_f32 = c.d_dtype == DType::f32;
  const auto d_bf16 = trial.output<bf16>("d", to_f32 ? 0 : count);
  const auto d_f32 = c.accumulate ? trial.updated("d", before) : trial.output<float>("d", to_f32 ? count : 0);
  void* d = d_bf16.data();
  if (to_f32) d = d_f32.data();
  trial.run(
      GroupedWgrad{a.operand, b.operand, routed.groups, d, c.m, c.n, c.d_dtype, c.accumulate, Accumulation::full});

  Vector want = reference::grouped_wgrad(a.values, b.values, routed.offsets, c.m, c.n);
  Vector terms = reference::grouped_wgrad(magnitudes(a.values), magnitudes(b.values), routed.offsets, c.m, c.n);
  if (c.accumulate) {
    reference::add_scaled(want, 1, reference::widen(before));
    reference::add_scaled(terms, 1, magnitudes(reference::widen(before)));
  }
  // As many additions as the largest group has rows; an empty group's zeros are exact.
  const auto contraction = static_cast<double>(std::ranges::max(c.split.sizes));
  const Allowance allowed = fraction((contraction + 4) * kRoundoffF32 + trial.sum_error(c.a), terms);
  if (to_f32) {
    trial.expect_near("d", d_f32, want, allowed);
  } else {
    trial.expect_bf16("d", d_bf16, want, allowed);
  }
}

}  // namespace octet::ops::selftest
