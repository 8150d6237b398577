#include "model/linear.h"

#include <fmt/format.h>

namespace octet {
namespace {

bool is_fp8(const fp8::Operand& operand) {
  return operand.precision != fp8::Precision::bf16;
}

ops::GemmOperand bf16_operand(const Tensor& x, bool transposed) {
  return {.data = x.ptr<bf16>(), .transposed = transposed};
}

}  // namespace

ops::GemmOperand Codes::operand() const {
  return {codes.tensor().raw(), scale_inverse.ptr<float>(), codes.tensor().dtype(), axis, false};
}

Codes Linear::make_codes(Memory& memory, std::string_view what, const fp8::Operand& operand, std::int64_t outer,
                         std::int64_t contraction) const {
  const DType dtype = dtype_of(precision_.rule(operand.precision).format());
  const std::int64_t scales = operand.scale_axis == ops::ScaleAxis::row ? outer : 1;
  const std::string piece = fmt::format("{}.{}", name_, what);
  return {memory.allocate(piece, dtype, outer, contraction, MemoryClass::fp8_codes),
          memory.allocate(piece + "_scales", DType::f32, 1, scales, MemoryClass::fp8_codes), operand.scale_axis};
}

void Linear::fill(ops::Executor& run, const Codes& codes, const fp8::Operand& operand, const Tensor& x,
                  Layout layout) const {
  const fp8::ScaleRule& rule = precision_.rule(operand.precision);
  auto* bytes = static_cast<std::uint8_t*>(codes.codes.tensor().raw());
  auto* scales = codes.scale_inverse.ptr<float>();
  const bool transposed = layout == Layout::transposed;
  if (operand.scale_axis == ops::ScaleAxis::tensor) {
    run(ops::QuantizeTensor{x.ptr<bf16>(), transposed ? nullptr : bytes, transposed ? bytes : nullptr, scales,
                            rule.format(), rule, x.rows(), x.cols()});
    return;
  }
  const ops::RowCodes out{bytes, scales, rule.format(), rule, true};
  if (transposed) {
    run(ops::QuantizeColumns{x.ptr<bf16>(), out, x.rows(), x.cols()});
  } else {
    run(ops::QuantizeRows{x.ptr<bf16>(), out, x.rows(), x.cols()});
  }
}

Codes Linear::quantize(ops::Executor& run, std::string_view what, const fp8::Operand& operand, const Tensor& x,
                       Layout layout) const {
  const bool transposed = layout == Layout::transposed;
  Codes codes =
      make_codes(run.memory(), what, operand, transposed ? x.cols() : x.rows(), transposed ? x.rows() : x.cols());
  fill(run, codes, operand, x, layout);
  return codes;
}

void Linear::allocate(Memory& memory) {
  if (!precision_.is_fp8() || weight_codes_ == WeightCodes::per_use) return;
  forward_codes_ = make_codes(memory, "weight_codes", precision_.recipe->forward.right, n_, k_);
  dgrad_codes_ = make_codes(memory, "weight_codes_transposed", precision_.recipe->dgrad.right, k_, n_);
}

void Linear::cast_weight(ops::Executor& run) {
  if (!forward_codes_) return;
  fill(run, forward_codes_, precision_.recipe->forward.right, parameter_.weight, Layout::as_stored);
  fill(run, dgrad_codes_, precision_.recipe->dgrad.right, parameter_.weight, Layout::transposed);
}

Codes Linear::input_codes(Memory& memory, std::int64_t tokens) const {
  const fp8::Operand& operand = precision_.recipe->forward.left;
  if (operand.scale_axis != ops::ScaleAxis::row) return {};
  return make_codes(memory, "input_codes", operand, tokens, k_);
}

Codes Linear::gradient_codes(Memory& memory, std::int64_t tokens) const {
  const fp8::Operand& operand = precision_.recipe->dgrad.left;
  if (operand.scale_axis != ops::ScaleAxis::row) return {};
  return make_codes(memory, "gradient_codes", operand, tokens, n_);
}

ops::RowCodes Linear::producer(const Codes& codes, const fp8::Operand& operand) const {
  if (!codes) return {};
  const fp8::ScaleRule& rule = precision_.rule(operand.precision);
  return {static_cast<std::uint8_t*>(codes.codes.tensor().raw()), codes.scale_inverse.ptr<float>(), rule.format(), rule,
          true};
}

ops::RowCodes Linear::producer_input(const Codes& codes) const {
  return producer(codes, precision_.recipe->forward.left);
}

ops::RowCodes Linear::producer_gradient(const Codes& codes) const {
  return producer(codes, precision_.recipe->dgrad.left);
}

void Linear::count(ops::Executor& run, const Tensor& x, const Codes& codes, const fp8::Operand& operand) const {
  if (counts_ == nullptr) return;
  counts_->elements += static_cast<std::uint64_t>(x.numel());
  auto* counters = counts_->saturated_and_overflowed.ptr<std::uint64_t>();
  run(ops::CastStatistics{x.ptr<bf16>(), codes.scale_inverse.ptr<float>(), counters, counters + 1,
                          precision_.rule(operand.precision).format(), x.rows(), x.cols(),
                          operand.scale_axis == ops::ScaleAxis::tensor});
}

void Linear::forward(ops::Executor& run, const Tensor& x, Codes& codes, const Tensor& y) const {
  const fp8::Gemm& product = precision_.recipe->forward;
  ops::Gemm gemm{bf16_operand(x, false),
                 bf16_operand(parameter_.weight, false),
                 y.ptr<bf16>(),
                 x.rows(),
                 n_,
                 k_,
                 DType::bf16,
                 false,
                 product.accumulation};
  Codes weight_codes;
  if (precision_.is_fp8()) {
    if (!codes) codes = quantize(run, "input_codes", product.left, x, Layout::as_stored);
    count(run, x, codes, product.left);
    if (!forward_codes_) {
      weight_codes = quantize(run, "weight_codes", product.right, parameter_.weight, Layout::as_stored);
    }
    gemm.a = codes.operand();
    gemm.b = forward_codes_ ? forward_codes_.operand() : weight_codes.operand();
  }
  run(gemm);
  run.observe(name_ + ".output", y);
}

void Linear::dgrad(ops::Executor& run, const Tensor& dy, Codes& codes, const Tensor& dx) const {
  const fp8::Gemm& product = precision_.recipe->dgrad;
  ops::Gemm gemm{bf16_operand(dy, false),
                 bf16_operand(parameter_.weight, true),
                 dx.ptr<bf16>(),
                 dy.rows(),
                 k_,
                 n_,
                 DType::bf16,
                 false,
                 product.accumulation};
  Codes weight_codes;
  if (precision_.is_fp8()) {
    if (!codes) codes = quantize(run, "gradient_codes", product.left, dy, Layout::as_stored);
    count(run, dy, codes, product.left);
    if (!dgrad_codes_) {
      weight_codes = quantize(run, "weight_codes_transposed", product.right, parameter_.weight, Layout::transposed);
    }
    gemm.a = codes.operand();
    gemm.b = dgrad_codes_ ? dgrad_codes_.operand() : weight_codes.operand();
  }
  run(gemm);
  run.observe(name_ + ".input_gradient", dx);
}

void Linear::wgrad(ops::Executor& run, const Tensor& x, const Tensor& dy, bool accumulate) const {
  const fp8::Gemm& product = precision_.recipe->wgrad;
  ops::Gemm gemm{bf16_operand(dy, true),
                 bf16_operand(x, true),
                 parameter_.gradient.ptr<float>(),
                 n_,
                 k_,
                 dy.rows(),
                 DType::f32,
                 accumulate,
                 product.accumulation};
  Codes dy_codes;
  Codes x_codes;
  if (is_fp8(product.left)) {
    dy_codes = quantize(run, "gradient_codes_transposed", product.left, dy, Layout::transposed);
    x_codes = quantize(run, "input_codes_transposed", product.right, x, Layout::transposed);
    gemm.a = dy_codes.operand();
    gemm.b = x_codes.operand();
  }
  run(gemm);
  run.observe(name_ + ".weight_gradient", parameter_.gradient);
}

void Linear::backward(ops::Executor& run, const Tensor& x, const Tensor& dy, Codes& codes, const Tensor& dx,
                      bool accumulate) const {
  dgrad(run, dy, codes, dx);
  wgrad(run, x, dy, accumulate);
}

}  // namespace octet
