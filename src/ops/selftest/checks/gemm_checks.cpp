// The matrix product against the oracle; FP8 operands are emulated as codes * scale_inverse.
#include "ops/selftest/checks/gemm_checks.h"

#include "ops/reference/gemm.h"

namespace octet::ops::selftest {
namespace {

struct Side {
  GemmOperand operand;  // in the backend's memory
  Vector values;        // [outer, k], scaled
};

Side make_bf16(Trial& trial, std::string_view name, const GemmSide& side, std::vector<bf16> x, Index outer, Index k) {
  const Vector values = reference::widen(x);
  if (side.transposed) x = reference::transpose<bf16>(x, outer, k);
  return {{.data = trial.input(name, x), .transposed = side.transposed}, values};
}

Side make_fp8(Trial& trial, std::string_view name, const GemmSide& side, const std::vector<bf16>& x, Index outer,
              Index k) {
  const fp8::Format format = format_of(side.dtype);
  const auto rule = fp8::ScaleRule::of(format, true);
  reference::Codes codes =
      side.axis == ScaleAxis::row ? reference::quantize_rows(x, outer, k, rule) : reference::quantize_tensor(x, rule);
  if (side.axis == ScaleAxis::none) codes.scale_inverse.clear();
  const std::string scales = fmt::format("scale_inverse of {}", name);
  return {{.data = trial.input(name, codes.codes),
           .scale_inverse = side.axis == ScaleAxis::none ? nullptr : trial.input(scales, codes.scale_inverse),
           .dtype = side.dtype,
           .axis = side.axis},
          reference::dequantize(codes, format, outer, k)};
}

Side make_side(Trial& trial, std::string_view name, const GemmSide& side, bool non_finite, Index outer, Index k) {
  auto x = random_bf16(name, outer * k);
  if (non_finite) add_non_finite(x);
  return side.dtype == DType::bf16 ? make_bf16(trial, name, side, std::move(x), outer, k)
                                   : make_fp8(trial, name, side, x, outer, k);
}

std::string describe_side(const GemmSide& side) {
  constexpr std::array kAxes{"", " one scale", " row scales"};
  return fmt::format("{}{}{}", name(side.dtype), kAxes[static_cast<std::size_t>(side.axis)],
                     side.transposed ? " transposed" : "");
}

}  // namespace

fp8::Format format_of(DType dtype) {
  for (const fp8::Format format : kFormats) {
    if (dtype_of(format) == dtype) return format;
  }
  throw Failure("{} is no FP8 format", name(dtype));
}

std::string GemmCase::describe() const {
  return fmt::format("[{} x {} x {}] {} * {} {} {}{}", m, n, k, describe_side(a), describe_side(b),
                     accumulate ? "added to" : "to", name(d_dtype), non_finite ? ", NaN and infinity" : "");
}

void OpCheck<Gemm>::run(Trial& trial, const GemmCase& c) {
  const Side a = make_side(trial, "a", c.a, c.non_finite, c.m, c.k);
  const Side b = make_side(trial, "b", c.b, false, c.n, c.k);
  const auto before = random_f32("d", c.m * c.n);
  const bool to_f32 = c.d_dtype == DType::f32;
  const auto d_bf16 = trial.output<bf16>("d", to_f32 ? 0 : c.m * c.n);
  const auto d_f32 = c.accumulate ? trial.updated("d", before) : trial.output<float>("d", to_f32 ? c.m * c.n : 0);
  void* d = d_bf16.data();
  if (to_f32) d = d_f32.data();
  trial.run(Gemm{a.operand, b.operand, d, c.m, c.n, c.k, c.d_dtype, c.accumulate, Accumulation::full});

  Vector want = reference::gemm(a.values, b.values, c.m, c.n, c.k);
  Vector terms = reference::gemm(magnitudes(a.values), magnitudes(b.values), c.m, c.n, c.k);
  if (c.accumulate) {
    reference::add_scaled(want, 1, reference::widen(before));
    reference::add_scaled(terms, 1, magnitudes(reference::widen(before)));
  }
  // k additions in any order, each rounding what has been summed so far; two scales; one addition to d.
  const Allowance allowed = fraction(static_cast<double>(c.k + 4) * kRoundoffF32, terms);
  if (to_f32) {
    trial.expect_near("d", d_f32, want, allowed);
  } else {
    trial.expect_bf16("d", d_bf16, want, allowed);
  }
}

}  // namespace octet::ops::selftest
