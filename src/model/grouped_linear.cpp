#include "model/grouped_linear.h"

#include <fmt/format.h>

namespace octet {
namespace {

bool in_fp8(const fp8::Gemm& product) {
  return product.left.precision != fp8::Precision::bf16;
}

std::vector<ParameterPart> parts_of_experts(const std::string& name, std::int64_t experts,
                                            const std::vector<ParameterPart>& parts) {
  std::vector<ParameterPart> all;
  for (std::int64_t e = 0; e < experts; ++e) {
    for (const ParameterPart& part : parts) all.push_back({fmt::format("{}.{}.{}", name, e, part.name), part.rows});
  }
  return all;
}

}  // namespace

GroupedLinear::GroupedLinear(const std::string& name, std::int64_t experts, std::int64_t n, std::int64_t k,
                             std::int64_t routed, double standard_deviation, const std::vector<ParameterPart>& parts,
                             PrecisionPlan& precision, const ModelOptions& options, Slab& slab)
    : name_(name),
      experts_(experts),
      n_(n),
      k_(k),
      precision_(precision.decide_experts(name, routed, n, k)),
      weight_codes_(options.weight_codes),
      slab_(slab),
      place_(slab.add({.name = name + ".weight",
                       .rows = experts * n,
                       .cols = k,
                       .offset = 0,
                       .initial = {standard_deviation, 0},
                       .gradient_writes = GradientWrites::once,
                       .measured = forward_in_fp8() || dgrad_in_fp8(),
                       .parts = parts_of_experts(name.substr(0, name.rfind('.')), experts, parts),
                       .matrices = experts})) {}

bool GroupedLinear::forward_in_fp8() const {
  return in_fp8(precision_.recipe->forward);
}

bool GroupedLinear::dgrad_in_fp8() const {
  return in_fp8(precision_.recipe->dgrad);
}

bool GroupedLinear::wgrad_in_fp8() const {
  return in_fp8(precision_.recipe->wgrad);
}

// ---- weights --------------------------------------------------------------------------------------------------------

void GroupedLinear::allocate(Memory& memory) {
  weight_ = slab_.view(place_);
  if (weight_codes_ == WeightCodes::per_use) return;
  if (forward_in_fp8()) forward_codes_ = make_codes(memory, "weight_codes", n_, k_);
  if (dgrad_in_fp8() && weight_codes_ == WeightCodes::cached)
    dgrad_codes_ = make_codes(memory, "weight_codes_transposed", k_, n_);
}

Codes GroupedLinear::make_codes(Memory& memory, std::string_view what, std::int64_t outer,
                                std::int64_t contraction) const {
  const std::string piece = fmt::format("{}.{}", name_, what);
  return {memory.allocate(piece, dtype_of(rule().format()), experts_ * outer, contraction, MemoryClass::fp8_codes),
          memory.allocate(piece + "_scales", DType::f32, experts_, outer, MemoryClass::fp8_codes), ops::ScaleAxis::row};
}

void GroupedLinear::measure_weight(ops::Executor& run) const {
  if (!forward_in_fp8() && !dgrad_in_fp8()) return;
  run(ops::Maxima{weight_.weight.ptr<bf16>(), weight_.row_amax.ptr<bf16>(), weight_.column_amax.ptr<bf16>(), n_, k_,
                  experts_});
}

void GroupedLinear::cast_weight(ops::Executor& run) const {
  if (!forward_codes_ && !dgrad_codes_) return;
  cast_into(run, forward_codes_ ? &forward_codes_ : nullptr, dgrad_codes_ ? &dgrad_codes_ : nullptr);
}

void GroupedLinear::cast_into(ops::Executor& run, const Codes* forward, const Codes* dgrad) const {
  const auto layout_of = [](const Codes* codes) -> ops::CastLayout {
    if (codes == nullptr) return {};
    return {static_cast<std::uint8_t*>(codes->codes.tensor().raw()), codes->scale_inverse.ptr<float>(), codes->axis};
  };
  run(ops::Cast{weight_.weight.ptr<bf16>(), weight_.row_amax.ptr<bf16>(), weight_.column_amax.ptr<bf16>(),
                layout_of(forward), layout_of(dgrad), rule(), n_, k_, experts_});
}

// ---- products -------------------------------------------------------------------------------------------------------

/// D of A and the weight, whose `cached` codes are made here where there are none.
void GroupedLinear::product(ops::Executor& run, const ops::GemmOperand& a, const Codes& cached, bool transposed,
                            const ops::Groups& groups, const Tensor& d, std::int64_t k,
                            fp8::Accumulation accumulation) const {
  ops::GroupedGemm gemm{.a = a,
                        .b = {.data = weight_.weight.ptr<bf16>(), .transposed = transposed},
                        .groups = groups,
                        .d = d.ptr<bf16>(),
                        .n = d.cols(),
                        .k = k,
                        .accumulation = accumulation};
  Codes made;
  if (gemm.is_fp8()) {
    if (!cached) {
      made = make_codes(run.memory(), transposed ? "weight_codes_transposed" : "weight_codes", d.cols(), k);
      cast_into(run, transposed ? nullptr : &made, transposed ? &made : nullptr);
    }
    gemm.b = (cached ? cached : made).operand();
  }
  run(gemm);
}

void GroupedLinear::forward(ops::Executor& run, const ops::GemmOperand& x, const ops::Groups& groups,
                            const Tensor& y) const {
  product(run, x, forward_codes_, false, groups, y, k_, precision_.recipe->forward.accumulation);
  run.observe(name_ + ".output", y);
}

void GroupedLinear::dgrad(ops::Executor& run, const ops::GemmOperand& dy, const ops::Groups& groups,
                          const Tensor& dx) const {
  product(run, dy, dgrad_codes_, true, groups, dx, n_, precision_.recipe->dgrad.accumulation);
  run.observe(name_ + ".input_gradient", dx);
}

void GroupedLinear::wgrad(ops::Executor& run, const ops::GemmOperand& dy, const ops::GemmOperand& x,
                          const ops::Groups& groups, bool accumulate) const {
  const Tensor gradient = slab_.gradient(place_);
  run(ops::GroupedWgrad{.a = dy,
                        .b = x,
                        .groups = groups,
                        .d = gradient.raw(),
                        .m = n_,
                        .n = k_,
                        .d_dtype = gradient.dtype(),
                        .accumulate = accumulate,
                        .accumulation = precision_.recipe->wgrad.accumulation});
  run.observe(name_ + ".weight_gradient", gradient);
}

}  // namespace octet
