#include "model/linear_run.h"

#include <algorithm>
#include <map>
#include <memory>

#include "model/faulty_backend.h"
#include "model/model_run.h"

namespace octet::test {
namespace {

UsedOperand copy_of(const ops::GemmOperand& operand, std::int64_t outer, std::int64_t contraction) {
  if (operand.dtype == DType::bf16) return {};
  const auto* codes = static_cast<const std::uint8_t*>(operand.data);
  const std::int64_t scales = operand.axis == ops::ScaleAxis::row ? outer : 1;
  return {operand.dtype, {codes, codes + outer * contraction}, {operand.scale_inverse, operand.scale_inverse + scales}};
}

/// Products by what they wrote: the layer may compute them in any order.
using Products = std::map<const void*, UsedProduct>;

/// The CPU backend, which copies the operands of each product before it runs.
ops::Backend recording_backend(Products& products) {
  return make_faulty_backend<ops::Gemm>([&products](ops::Gemm& op) {
    if (op.d == nullptr) return;  // a plan is made
    products[op.d] = {copy_of(op.a, op.m, op.k), copy_of(op.b, op.n, op.k), op.accumulation};
  });
}

/// A layer with operands and results of its own. With weight codes per use it saves its input in bf16, with cached ones
/// as codes, so that tests of both see every form.
class LinearRun {
 public:
  LinearRun(const LinearShape& shape, const LinearPrecision& precision, WeightCodes weight_codes)
      : shape_(shape),
        linear_("linear", shape.n, shape.k, precision, weight_codes,
                weight_codes == WeightCodes::cached ? SavedInput::codes : SavedInput::bf16) {
    take(planning_);
    ops::Executor plan(backend_, planning_);
    compute(plan);
    memory_ = std::make_unique<Memory>(planning_.finish(), backend_.device().allocator());
    take(*memory_);
  }

  [[nodiscard]] LinearStep step(const LinearOperands& operands) {
    std::ranges::copy(operands.x, x_.ptr<bf16>());
    std::ranges::copy(operands.weight, weight_.ptr<bf16>());
    std::ranges::copy(operands.dy, dy_.ptr<bf16>());
    ops::Executor run(backend_, *memory_);
    compute(run);
    const auto product = [this](const Buffer& written) { return products_.at(written.tensor().raw()); };
    return {widened(y_.tensor()), widened(dx_.tensor()), widened(dweight_.tensor()),
            product(y_),          product(dx_),          product(dweight_)};
  }

 private:
  void take(Memory& memory) {
    const auto piece = [&](std::string_view name, DType dtype, std::int64_t rows, std::int64_t cols) {
      return memory.allocate(name, dtype, rows, cols, MemoryClass::activations);
    };
    weight_ = piece("weight", DType::bf16, shape_.n, shape_.k);
    dweight_ = piece("dweight", DType::f32, shape_.n, shape_.k);
    x_ = piece("x", DType::bf16, shape_.m, shape_.k);
    y_ = piece("y", DType::bf16, shape_.m, shape_.n);
    dx_ = piece("dx", DType::bf16, shape_.m, shape_.k);
    dy_ = piece("dy", DType::bf16, shape_.m, shape_.n);
    row_amax_ = piece("row_amax", DType::bf16, 1, shape_.n);
    column_amax_ = piece("column_amax", DType::bf16, 1, shape_.k);
    linear_.bind({weight_.tensor(), row_amax_.tensor(), column_amax_.tensor()});
    linear_.allocate(memory);
  }

  void compute(ops::Executor& run) {
    const ProgramScope program(run.memory(), "linear");
    linear_.measure_weight(run);
    linear_.cast_weight(run);
    LinearOperand x{.values = Buffer(nullptr, 0, x_.tensor())};
    linear_.cast_input(run, InputUse::saved, x);
    linear_.forward(run, x, y_.tensor(), InputUse::saved);
    LinearOperand dy{.values = Buffer(nullptr, 0, dy_.tensor())};
    linear_.cast_gradient(run, dy);
    linear_.backward(run, x, dy, dx_.tensor(), dweight_.tensor(), false);
  }

  LinearShape shape_;
  Products products_;
  ops::Backend backend_ = recording_backend(products_);
  Memory planning_;  // destroyed after the buffers that it gave out
  std::unique_ptr<Memory> memory_;
  Linear linear_;
  Buffer weight_, dweight_, row_amax_, column_amax_, x_, y_, dx_, dy_;
};

}  // namespace

LinearStep run_linear(const LinearShape& shape, const LinearPrecision& precision, WeightCodes weight_codes,
                      const LinearOperands& operands) {
  return LinearRun(shape, precision, weight_codes).step(operands);
}

}  // namespace octet::test
