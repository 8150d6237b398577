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

bool is_by_row(const fp8::Operand& operand) {
  return operand.scale_axis == ops::ScaleAxis::row;
}

bf16* amax_or_null(const Buffer& amax) {
  return amax ? amax.ptr<bf16>() : nullptr;
}

/// Where a cast writes; nowhere without codes.
ops::CastLayout layout_of(const Codes& codes) {
  if (!codes) return {};
  return {static_cast<std::uint8_t*>(codes.codes.tensor().raw()), codes.scale_inverse.ptr<float>(), codes.axis};
}

}  // namespace

ops::GemmOperand Codes::operand() const {
  return {codes.tensor().raw(), scale_inverse.ptr<float>(), codes.tensor().dtype(), axis, false};
}

// ---- memory ---------------------------------------------------------------------------------------------------------

Codes Linear::make_codes(Memory& memory, std::string_view what, const fp8::Operand& operand, std::int64_t outer,
                         std::int64_t contraction) const {
  const DType dtype = dtype_of(precision_.rule(operand.precision).format());
  const std::int64_t scales = operand.scale_axis == ops::ScaleAxis::row ? outer : 1;
  const std::string piece = fmt::format("{}.{}", name_, what);
  return {memory.allocate(piece, dtype, outer, contraction, MemoryClass::fp8_codes),
          memory.allocate(piece + "_scales", DType::f32, 1, scales, MemoryClass::fp8_codes), operand.scale_axis};
}

Buffer Linear::make_amax(Memory& memory, std::string_view what, std::int64_t count) const {
  return memory.allocate(fmt::format("{}.{}", name_, what), DType::bf16, 1, count, MemoryClass::fp8_codes);
}

bool Linear::saves_codes(InputUse use) const {
  return use == InputUse::saved && saved_input_ == SavedInput::codes && is_fp8(precision_.recipe->wgrad.right);
}

void Linear::expect_input(Memory& memory, std::int64_t tokens, InputUse use, LinearOperand& input) const {
  if (!precision_.is_fp8()) return;
  const fp8::Operand& form = precision_.recipe->forward.left;
  const bool by_row = form.scale_axis == ops::ScaleAxis::row;
  if (by_row) input.rows = make_codes(memory, "input_codes", form, tokens, k_);
  if (by_row && use == InputUse::remade_for_product) input.row_amax = make_amax(memory, "input_row_amax", tokens);
  const bool for_wgrad = use != InputUse::inference && is_fp8(precision_.recipe->wgrad.right);
  if (!by_row || for_wgrad) input.column_amax = make_amax(memory, "input_column_amax", k_);
}

void Linear::expect_gradient(Memory& memory, std::int64_t tokens, LinearOperand& gradient) const {
  if (!precision_.is_fp8()) return;
  const fp8::Operand& form = precision_.recipe->dgrad.left;
  const bool by_row = form.scale_axis == ops::ScaleAxis::row;
  if (by_row) gradient.rows = make_codes(memory, "gradient_codes", form, tokens, n_);
  if (!by_row || is_fp8(precision_.recipe->wgrad.left)) {
    gradient.column_amax = make_amax(memory, "gradient_column_amax", n_);
  }
}

bool Linear::reads_gradient_as_codes() const {
  return is_by_row(precision_.recipe->dgrad.left) && is_by_row(precision_.recipe->wgrad.left);
}

bool Linear::reads_input_as_codes() const {
  return saved_input_ == SavedInput::codes && is_by_row(precision_.recipe->forward.left) &&
         is_by_row(precision_.recipe->wgrad.right);
}

ops::ColumnCodes Linear::expect_columns(Memory& memory, std::string_view what, const fp8::Operand& form,
                                        std::int64_t tokens, std::int64_t cols, LinearOperand& operand) const {
  operand.columns = make_codes(memory, what, form, cols, tokens);
  return {static_cast<std::uint8_t*>(operand.columns.codes.tensor().raw()), operand.columns.scale_inverse.ptr<float>(),
          operand.column_amax.ptr<bf16>(), precision_.rule(form.precision), true};
}

ops::ColumnCodes Linear::expect_gradient_columns(Memory& memory, LinearOperand& gradient) const {
  const std::int64_t tokens = gradient.values.tensor().rows();
  return expect_columns(memory, "gradient_codes_transposed", precision_.recipe->wgrad.left, tokens, n_, gradient);
}

ops::ColumnCodes Linear::expect_input_columns(Memory& memory, std::int64_t tokens, LinearOperand& input) const {
  return expect_columns(memory, "input_codes_transposed", precision_.recipe->wgrad.right, tokens, k_, input);
}

// ---- casts of activations and gradients -----------------------------------------------------------------------------

ops::RowCodes Linear::producer(const LinearOperand& operand, const fp8::Operand& form) const {
  if (!operand.rows) return {};
  return {static_cast<std::uint8_t*>(operand.rows.codes.tensor().raw()), operand.rows.scale_inverse.ptr<float>(),
          amax_or_null(operand.row_amax), precision_.rule(form.precision), true};
}

ops::RowCodes Linear::input_rows(const LinearOperand& input) const {
  return producer(input, precision_.recipe->forward.left);
}

ops::RowCodes Linear::gradient_rows(const LinearOperand& gradient) const {
  return producer(gradient, precision_.recipe->dgrad.left);
}

ops::ColumnMaxima Linear::columns(const LinearOperand& operand) {
  return {amax_or_null(operand.column_amax), static_cast<bool>(operand.column_amax)};
}

/// What a producer would have left: codes by row, or the maxima that one scale for all comes from.
void Linear::quantize(ops::Executor& run, const fp8::Operand& form, const LinearOperand& operand) const {
  const Tensor& x = operand.values.tensor();
  if (form.scale_axis == ops::ScaleAxis::row) {
    run(ops::QuantizeRows{x.ptr<bf16>(), producer(operand, form), columns(operand), x.rows(), x.cols()});
  } else {
    run(ops::Maxima{x.ptr<bf16>(), nullptr, operand.column_amax.ptr<bf16>(), x.rows(), x.cols()});
  }
}

void Linear::cast_input(ops::Executor& run, InputUse use, LinearOperand& input) const {
  if (!precision_.is_fp8()) return;
  expect_input(run.memory(), input.values.tensor().rows(), use, input);
  quantize(run, precision_.recipe->forward.left, input);
}

void Linear::cast_gradient(ops::Executor& run, LinearOperand& gradient) const {
  if (!precision_.is_fp8()) return;
  expect_gradient(run.memory(), gradient.values.tensor().rows(), gradient);
  quantize(run, precision_.recipe->dgrad.left, gradient);
}

/// Codes by row under maxima that are known; with `columns_too` the transposed ones in the same pass.
void Linear::make_rows(ops::Executor& run, std::string_view what, const fp8::Operand& form, bool columns_too,
                       LinearOperand& operand) const {
  const Tensor& x = operand.values.tensor();
  operand.rows = make_codes(run.memory(), what, form, x.rows(), x.cols());
  if (columns_too) {
    operand.columns = make_codes(run.memory(), fmt::format("{}_transposed", what), form, x.cols(), x.rows());
  }
  run(ops::Cast{x.ptr<bf16>(), amax_or_null(operand.row_amax), amax_or_null(operand.column_amax),
                layout_of(operand.rows), layout_of(operand.columns), precision_.rule(form.precision), x.rows(),
                x.cols()});
}

void Linear::make_columns(ops::Executor& run, std::string_view what, const fp8::Operand& form,
                          LinearOperand& operand) const {
  const Tensor& x = operand.values.tensor();
  operand.columns = make_codes(run.memory(), what, form, x.cols(), x.rows());
  run(ops::Cast{x.ptr<bf16>(),
                nullptr,
                operand.column_amax.ptr<bf16>(),
                {},
                layout_of(operand.columns),
                precision_.rule(form.precision),
                x.rows(),
                x.cols()});
}

/// Codes of x were made: for whoever watches casts.
void Linear::count(ops::Executor& run, LayerCast cast, const Tensor& x, const Codes& codes,
                   const fp8::Operand& form) const {
  const auto* scale_inverse = codes.scale_inverse.ptr<float>();
  const fp8::Format format = precision_.rule(form.precision).format();
  const bool one_scale = codes.axis == ops::ScaleAxis::tensor;
  if (shadow_ != nullptr) shadow_->saw_cast(run, cast, x, scale_inverse, format, one_scale);
  if (counts_ == nullptr || cast == LayerCast::weight) return;
  counts_->elements += static_cast<std::uint64_t>(x.numel());
  auto* counts = counts_->counts.ptr<std::uint64_t>();
  run(ops::CastStatistics{x.ptr<bf16>(), scale_inverse, counts, counts + 1, counts + 2, format, x.rows(), x.cols(),
                          one_scale});
}

// ---- casts of weights -----------------------------------------------------------------------------------------------

Codes Linear::forward_weight_codes(Memory& memory) const {
  return make_codes(memory, "weight_codes", precision_.recipe->forward.right, n_, k_);
}

Codes Linear::dgrad_weight_codes(Memory& memory) const {
  return make_codes(memory, "weight_codes_transposed", precision_.recipe->dgrad.right, k_, n_);
}

void Linear::allocate(Memory& memory) {
  if (!precision_.is_fp8() || weight_codes_ == WeightCodes::per_use) return;
  forward_codes_ = forward_weight_codes(memory);
  if (weight_codes_ == WeightCodes::cached) dgrad_codes_ = dgrad_weight_codes(memory);
}

void Linear::measure_weight(ops::Executor& run) const {
  if (!precision_.is_fp8()) return;
  run(ops::Maxima{parameter_.weight.ptr<bf16>(), parameter_.row_amax.ptr<bf16>(), parameter_.column_amax.ptr<bf16>(),
                  n_, k_});
}

/// Both layouts are of one format: recipes differ in a weight's scale axes only.
void Linear::cast_weight_into(ops::Executor& run, const Codes* forward, const Codes* dgrad) const {
  run(ops::Cast{parameter_.weight.ptr<bf16>(), parameter_.row_amax.ptr<bf16>(), parameter_.column_amax.ptr<bf16>(),
                forward != nullptr ? layout_of(*forward) : ops::CastLayout{},
                dgrad != nullptr ? layout_of(*dgrad) : ops::CastLayout{},
                precision_.rule(precision_.recipe->forward.right.precision), n_, k_});
}

void Linear::cast_weight(ops::Executor& run) const {
  if (!forward_codes_) return;
  cast_weight_into(run, &forward_codes_, dgrad_codes_ ? &dgrad_codes_ : nullptr);
  run.observe(name_ + ".weight_scale", forward_codes_.scale_inverse.tensor());
}

void Linear::compute_in_bf16(bool in_bf16) {
  precision_ = own_precision_;
  if (in_bf16) precision_.recipe = std::make_shared<const fp8::Recipe>(*fp8::find_recipe("bf16"));
}

// ---- products -------------------------------------------------------------------------------------------------------

void Linear::forward(ops::Executor& run, LinearOperand& x, const Tensor& y, InputUse use) const {
  const fp8::Gemm& product = precision_.recipe->forward;
  ops::Gemm gemm{.d = y.ptr<bf16>(),
                 .m = y.rows(),
                 .n = n_,
                 .k = k_,
                 .d_dtype = DType::bf16,
                 .accumulate = false,
                 .accumulation = product.accumulation};
  Codes weight_codes;
  if (precision_.is_fp8()) {
    if (!x.rows) make_rows(run, "input_codes", product.left, saves_codes(use), x);
    run.observe(name_ + ".input_scale", x.rows.scale_inverse.tensor());
    count(run, LayerCast::input, x.values.tensor(), x.rows, product.left);
    if (!forward_codes_) {
      weight_codes = forward_weight_codes(run.memory());
      cast_weight_into(run, &weight_codes, nullptr);
      run.observe(name_ + ".weight_scale", weight_codes.scale_inverse.tensor());
    }
    const Codes& w = forward_codes_ ? forward_codes_ : weight_codes;
    count(run, LayerCast::weight, parameter_.weight, w, product.right);
    gemm.a = x.rows.operand();
    gemm.b = w.operand();
  } else {
    gemm.a = bf16_operand(x.values.tensor(), false);
    gemm.b = bf16_operand(parameter_.weight, false);
  }
  run(gemm);
  run.observe(name_ + ".output", y);
  if (shadow_ != nullptr) shadow_->saw_output(run, y);
  x.rows = {};
  if (saves_codes(use) && !x.columns) {
    make_columns(run, "input_codes_transposed", precision_.recipe->wgrad.right, x);
  }
  if (use != InputUse::saved || x.columns) x.values.reset();
  if (use == InputUse::inference) x = {};
}

void Linear::dgrad(ops::Executor& run, LinearOperand& dy, const Tensor& dx) const {
  const fp8::Gemm& product = precision_.recipe->dgrad;
  ops::Gemm gemm{.d = dx.ptr<bf16>(),
                 .m = dx.rows(),
                 .n = k_,
                 .k = n_,
                 .d_dtype = DType::bf16,
                 .accumulate = false,
                 .accumulation = product.accumulation};
  Codes weight_codes;
  if (precision_.is_fp8()) {
    if (!dy.rows) make_rows(run, "gradient_codes", product.left, is_fp8(precision_.recipe->wgrad.left), dy);
    run.observe(name_ + ".gradient_scale", dy.rows.scale_inverse.tensor());
    count(run, LayerCast::gradient, dy.values.tensor(), dy.rows, product.left);
    if (!dgrad_codes_) {
      weight_codes = dgrad_weight_codes(run.memory());
      cast_weight_into(run, nullptr, &weight_codes);
    }
    gemm.a = dy.rows.operand();
    gemm.b = dgrad_codes_ ? dgrad_codes_.operand() : weight_codes.operand();
  } else {
    gemm.a = bf16_operand(dy.values.tensor(), false);
    gemm.b = bf16_operand(parameter_.weight, true);
  }
  run(gemm);
  run.observe(name_ + ".input_gradient", dx);
  if (shadow_ != nullptr) shadow_->saw_input_gradient(run, dx);
  dy.rows = {};
}

void Linear::wgrad(ops::Executor& run, LinearOperand& x, LinearOperand& dy, const Tensor& dweight,
                   bool accumulate) const {
  const fp8::Gemm& product = precision_.recipe->wgrad;
  ops::Gemm gemm{.d = dweight.raw(),
                 .m = n_,
                 .n = k_,
                 .k = dy.values.tensor().rows(),
                 .d_dtype = dweight.dtype(),
                 .accumulate = accumulate,
                 .accumulation = product.accumulation};
  if (is_fp8(product.left)) {
    if (!dy.columns) make_columns(run, "gradient_codes_transposed", product.left, dy);
    if (!x.columns) make_columns(run, "input_codes_transposed", product.right, x);
    gemm.a = dy.columns.operand();
    gemm.b = x.columns.operand();
  } else {
    gemm.a = bf16_operand(dy.values.tensor(), true);
    gemm.b = bf16_operand(x.values.tensor(), true);
  }
  if (shadow_ != nullptr) shadow_->weight_gradient_begins(run, dweight);
  run(gemm);
  run.observe(name_ + ".weight_gradient", dweight);
  if (shadow_ != nullptr) shadow_->saw_weight_gradient(run, dweight, gemm.k);
  dy.columns = {};
  x = {};
}

void Linear::backward(ops::Executor& run, LinearOperand& x, LinearOperand& dy, const Tensor& dx, const Tensor& dweight,
                      bool accumulate) const {
  dgrad(run, dy, dx);
  wgrad(run, x, dy, dweight, accumulate);
}

}  // namespace octet
