// One linear layer in each recipe against its three products in double precision.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/random.h"
#include "model/agreement.h"
#include "ops/reference/gemm.h"

namespace octet::test {
namespace {

using ops::reference::Vector;

constexpr std::int64_t kTokens = 96;
constexpr std::int64_t kOut = 80;
constexpr std::int64_t kIn = 128;

/// What a recipe keeps, in dB: just below what is measured. A product of two e4m3 operands keeps about 28, one with an
/// e5m2 operand about 24.
struct LinearCase {
  const char* recipe;
  fp8::FormatFamily family;
  double output, input_gradient, weight_gradient;
};

void PrintTo(const LinearCase& linear, std::ostream* out) {
  *out << linear.recipe << " " << fp8::name(fp8::forward_format(linear.family));
}

/// Normal numbers, exact in bf16, whose rows differ in size: scales of the wrong rows would be seen.
Vector random_matrix(std::string_view name, std::int64_t rows, std::int64_t cols) {
  Vector values;
  for (std::int64_t i = 0; i < rows * cols; ++i) {
    const double row_size = std::exp2(static_cast<double>(i / cols % 5) - 2);
    const double value = row_size * normal(2, stream_of(name), static_cast<std::uint64_t>(i));
    values.push_back(to_float(to_bf16(static_cast<float>(value))));
  }
  return values;
}

/// A layer with operands and results of its own.
class LinearRun {
 public:
  LinearRun(const LinearPrecision& precision, WeightCodes weight_codes, SavedInput saved_input,
            const ops::Backend& backend)
      : linear_("linear", kOut, kIn, precision, weight_codes, saved_input) {
    take(planning_);
    ops::Executor plan(backend, planning_);
    compute(plan);
    memory_ = std::make_unique<Memory>(planning_.finish(), backend.device().allocator());
    take(*memory_);
    run_ = std::make_unique<ops::Executor>(backend, *memory_);
  }

  void compute(const Vector& x, const Vector& weight, const Vector& dy) {
    const auto round = [](double value) { return to_bf16(static_cast<float>(value)); };
    std::ranges::transform(x, x_.ptr<bf16>(), round);
    std::ranges::transform(weight, weight_.ptr<bf16>(), round);
    std::ranges::transform(dy, dy_.ptr<bf16>(), round);
    compute(*run_);
  }

  [[nodiscard]] Vector y() const { return widened(y_.tensor()); }
  [[nodiscard]] Vector dx() const { return widened(dx_.tensor()); }
  [[nodiscard]] Vector dweight() const { return widened(dweight_.tensor()); }
  [[nodiscard]] std::uint64_t fp8_codes_used() const { return run_->fp8_codes_used(); }

 private:
  void take(Memory& memory) {
    const auto piece = [&](std::string_view name, DType dtype, std::int64_t rows, std::int64_t cols) {
      return memory.allocate(name, dtype, rows, cols, MemoryClass::activations);
    };
    weight_ = piece("weight", DType::bf16, kOut, kIn);
    dweight_ = piece("dweight", DType::f32, kOut, kIn);
    x_ = piece("x", DType::bf16, kTokens, kIn);
    y_ = piece("y", DType::bf16, kTokens, kOut);
    dx_ = piece("dx", DType::bf16, kTokens, kIn);
    dy_ = piece("dy", DType::bf16, kTokens, kOut);
    row_amax_ = piece("row_amax", DType::bf16, 1, kOut);
    column_amax_ = piece("column_amax", DType::bf16, 1, kIn);
    linear_.bind({weight_.tensor(), dweight_.tensor(), row_amax_.tensor(), column_amax_.tensor()});
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
    linear_.backward(run, x, dy, dx_.tensor(), false);
  }

  Memory planning_;  // destroyed after the buffers that it gave out
  std::unique_ptr<Memory> memory_;
  Linear linear_;
  Buffer weight_, dweight_, row_amax_, column_amax_, x_, y_, dx_, dy_;
  std::unique_ptr<ops::Executor> run_;
};

class LinearAgainstOracle : public testing::TestWithParam<LinearCase> {};

TEST_P(LinearAgainstOracle, OutputAndGradients) {
  const LinearCase& linear = GetParam();
  const Vector x = random_matrix("x", kTokens, kIn);
  const Vector weight = random_matrix("weight", kOut, kIn);
  const Vector dy = random_matrix("dy", kTokens, kOut);
  const Vector y = ops::reference::gemm(x, weight, kTokens, kOut, kIn);
  const auto gradients = ops::reference::linear_backward(dy, x, weight, kTokens, kIn, kOut);
  const auto backend = ops::make_cpu_backend(2);
  for (const auto& [weight_codes, saved_input] :
       {std::pair{WeightCodes::cached, SavedInput::codes}, std::pair{WeightCodes::per_use, SavedInput::bf16}}) {
    PrecisionPlan plan(precision(linear.recipe, linear.family));
    LinearRun run(plan.decide("linear", kTokens, kOut, kIn), weight_codes, saved_input, *backend);
    run.compute(x, weight, dy);
    const double output = sqnr(run.y(), y);
    const double input_gradient = sqnr(run.dx(), gradients.dx);
    const double weight_gradient = sqnr(run.dweight(), gradients.dweight);
    fmt::print("output {:.1f} dB, input gradient {:.1f} dB, weight gradient {:.1f} dB\n", output, input_gradient,
               weight_gradient);
    EXPECT_GE(output, linear.output);
    EXPECT_GE(input_gradient, linear.input_gradient);
    EXPECT_GE(weight_gradient, linear.weight_gradient);
    EXPECT_EQ(run.fp8_codes_used() > 0, std::string_view(linear.recipe) != "bf16");
  }
}

INSTANTIATE_TEST_SUITE_P(Recipes, LinearAgainstOracle,
                         testing::Values(LinearCase{"bf16", kOcp, 50, 50, 120}, LinearCase{"rowwise", kOcp, 27, 27, 27},
                                         LinearCase{"rowwise", kFnuz, 27, 27, 27},
                                         LinearCase{"tensorwise", kOcp, 27, 24, 24},
                                         LinearCase{"tensorwise", kFnuz, 27, 24, 24},
                                         LinearCase{"rowwise_hp_wgrad", kOcp, 27, 27, 120},
                                         LinearCase{"rowwise_hp_wgrad", kFnuz, 27, 27, 120}));

}  // namespace
}  // namespace octet::test
