// What a layer's shadow keeps and compares, where results come in pieces and are made again.
#include "model/layer_shadow.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ops/cpu/cpu_backend.h"

namespace octet::test {
namespace {

constexpr std::int64_t kTokens = 6;
constexpr std::int64_t kCols = 4;

/// A layer whose results the test makes up, in two passes over one program.
class ShadowedLayer : public testing::Test {
 protected:
  /// `passes` must take the same memory when it is planned, where tensors have no data, and when it runs.
  void run(bool gradient_is_shared, const std::function<void(ops::Executor&, ShadowPass)>& passes) {
    shadow_ = LayerShadow("layer", kTokens, gradient_is_shared);
    take(planning_);
    ops::Executor plan(*backend_, planning_);
    both_passes(plan, passes);
    memory_ = std::make_unique<Memory>(planning_.finish(), backend_->device().allocator());
    take(*memory_);
    ops::Executor real(*backend_, *memory_);
    both_passes(real, passes);
    const auto sums = [](const auto* first, std::int64_t count) {
      return std::span(first, static_cast<std::size_t>(count));
    };
    shadow_.read(sums(energies_.ptr<double>(), energies_.tensor().numel()),
                 sums(counts_.ptr<std::uint64_t>(), counts_.tensor().numel()));
  }

  /// Writes `value` into rows [begin, end) of the result and returns them.
  [[nodiscard]] Tensor rows(std::int64_t begin, std::int64_t end, float value) const {
    const Tensor part = result_.tensor().row_range(begin, end - begin);
    if (part.raw() != nullptr) std::fill_n(part.ptr<bf16>(), part.numel(), to_bf16(value));
    return part;
  }
  [[nodiscard]] Tensor gradient(float value) const {
    if (gradient_.ptr<float>() != nullptr) std::fill_n(gradient_.ptr<float>(), kCols * kCols, value);
    return gradient_.tensor();
  }

  LayerShadow shadow_{"layer", kTokens, false};

 private:
  void take(Memory& memory) {
    const auto piece = [&](std::string_view name, DType dtype, std::int64_t rows, std::int64_t cols) {
      return memory.allocate(name, dtype, rows, cols, MemoryClass::workspace);
    };
    energies_ = piece("energies", DType::f64, kLayerResults, kEnergies);
    counts_ = piece("counts", DType::u64, kLayerCasts, kCastCounts);
    result_ = piece("result", DType::bf16, kTokens, kCols);
    gradient_ = piece("gradient", DType::f32, kCols, kCols);
    shadow_.bind(energies_.tensor(), counts_.tensor());
  }

  void both_passes(ops::Executor& run, const std::function<void(ops::Executor&, ShadowPass)>& passes) {
    const ProgramScope program(run.memory(), "watch");
    for (const ShadowPass pass : {ShadowPass::shadow, ShadowPass::compared}) {
      shadow_.begin(pass);
      passes(run, pass);
    }
  }

  std::unique_ptr<ops::Backend> backend_ = ops::make_cpu_backend(1);
  Memory planning_;
  std::unique_ptr<Memory> memory_;
  Buffer energies_, counts_, result_, gradient_;
};

TEST_F(ShadowedLayer, PiecesAddUp) {
  run(false, [&](ops::Executor& run, ShadowPass pass) {
    const float first = pass == ShadowPass::shadow ? 1 : 1.5F;  // half off in four of six rows
    shadow_.saw_output(run, rows(0, 4, first));
    shadow_.saw_output(run, rows(4, 6, 2));
  });
  const double signal = kCols * (4 * 1 + 2 * 4);
  EXPECT_DOUBLE_EQ(shadow_.sqnr_db(LayerResult::output), 10 * std::log10(signal / (kCols * 4 * 0.25)));
  EXPECT_FALSE(shadow_.casts());
}

TEST_F(ShadowedLayer, RecomputeIsNotLookedAt) {
  run(false, [&](ops::Executor& run, ShadowPass pass) {
    shadow_.saw_output(run, rows(0, kTokens, 1));
    shadow_.saw_output(run, rows(0, kTokens, pass == ShadowPass::shadow ? 3 : 5));
  });
  EXPECT_EQ(shadow_.sqnr_db(LayerResult::output), std::numeric_limits<double>::infinity());
}

TEST_F(ShadowedLayer, AWeightGradientIsComparedOnceWhole) {
  run(false, [&](ops::Executor& run, ShadowPass pass) {
    const bool is_shadow = pass == ShadowPass::shadow;
    shadow_.weight_gradient_begins(run, gradient(is_shadow ? 7 : 2));  // what is there before: the shadow's
    shadow_.saw_weight_gradient(run, gradient(9), 4);
    shadow_.weight_gradient_begins(run, gradient(9));
    shadow_.saw_weight_gradient(run, gradient(is_shadow ? 2 : 2.5F), 2);
  });
  EXPECT_DOUBLE_EQ(shadow_.sqnr_db(LayerResult::weight_gradient), 10 * std::log10(4 / 0.25));
}

TEST_F(ShadowedLayer, ASharedWeightGradientIsKeptBeforeOthersAdd) {
  run(true, [&](ops::Executor& run, ShadowPass pass) {
    shadow_.weight_gradient_begins(run, gradient(100));  // with what was added since
    shadow_.saw_weight_gradient(run, gradient(pass == ShadowPass::shadow ? 2 : 2.5F), kTokens);
  });
  EXPECT_DOUBLE_EQ(shadow_.sqnr_db(LayerResult::weight_gradient), 10 * std::log10(4 / 0.25));
}

TEST_F(ShadowedLayer, ZerosAndNaNHaveRatiosOfTheirOwn) {
  run(false, [&](ops::Executor& run, ShadowPass pass) {
    const bool is_shadow = pass == ShadowPass::shadow;
    shadow_.saw_output(run, rows(0, kTokens, 0));
    shadow_.saw_input_gradient(run, rows(0, kTokens, is_shadow ? 0 : 1));
    shadow_.weight_gradient_begins(run, gradient(1));
    shadow_.saw_weight_gradient(run, gradient(is_shadow ? 1 : NAN), kTokens);
  });
  EXPECT_EQ(shadow_.sqnr_db(LayerResult::output), std::numeric_limits<double>::infinity()) << "equal zeros";
  EXPECT_EQ(shadow_.sqnr_db(LayerResult::input_gradient), -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(shadow_.sqnr_db(LayerResult::weight_gradient)));
}

}  // namespace
}  // namespace octet::test
