// A mixture of experts in FP8 against the same in bf16, from the same input and routing: what FP8 costs a layer.
//
// Experts alone: the input goes through two products, whose operands e4m3 holds to 31 dB each, and so does the
// gradient. Beside a shared expert in bf16, which is as large, the layer's output and input gradient suffer less. The
// field's bounds (23 dB of the output, 29 of the input's gradient, 21 of the weights') are for such a layer: eight
// experts of which one is chosen and counts what its sigmoid says, a shared one that no filter of "experts" converts,
// and for loss the mean square distance from ones. There, scores multiply what experts read; here, as in DeepSeek-V3,
// what they write, which costs the input's gradient some 2 dB: bench/peers/moe_layer.py emulates both.
#include <gtest/gtest.h>

#include "core/random.h"
#include "model/agreement.h"
#include "model/small_deepseek.h"
#include "ops/host_access.h"

namespace octet::test {
namespace {

using ops::reference::Vector;

constexpr std::int64_t kTokens = 512;

enum class OutputGradient { random, of_distance_from_ones };

struct Experiment {
  std::int64_t shared_experts;
  bool shared_in_bf16;
  ops::RouterRule rule;
  OutputGradient output_gradient;
  float gain;  ///< of the weights, which begin with a standard deviation of 0.02
  double output_db, input_gradient_db, weight_gradients_db;
};

std::ostream& operator<<(std::ostream& out, const Experiment& experiment) {
  return out << experiment.shared_experts << " shared experts" << (experiment.shared_in_bf16 ? " in bf16" : "");
}

DeepSeekConfig layer_config(const Experiment& experiment) {
  DeepSeekConfig config = small_deepseek();
  config.dim = 256;
  config.moe.rule = experiment.rule;
  config.moe.ffn_dim = 192;
  config.moe.shared_experts = experiment.shared_experts;
  config.moe.bias_rate = 0;
  return config;
}

std::vector<bf16> random_rows(std::string_view stream, std::int64_t count) {
  std::vector<bf16> values;
  for (std::int64_t i = 0; i < count; ++i) {
    values.push_back(to_bf16(static_cast<float>(normal(1, stream_of(stream), static_cast<std::uint64_t>(i)))));
  }
  return values;
}

struct LayerResults {
  Vector output, input_gradient, w13_gradient, w2_gradient;
};

/// The layer with memory of its own.
class MoeLayer {
 public:
  MoeLayer(const DeepSeekConfig& config, const Experiment& experiment, PrecisionOptions precision)
      : config_(config),
        experiment_(experiment),
        options_{.precision = precision},
        precision_(std::move(precision)),
        moe_(config_, "layers.0.moe", 0.02, kTokens, precision_, options_, slab_, expert_slab_, parameters_) {}

  LayerResults run(const ops::Backend& backend) {
    Memory planning;
    take_persistent(planning);
    ops::Executor plan(backend, planning);
    cast_weights(plan);
    (void)step(plan);
    Memory memory(planning.finish(), backend.device().allocator());
    take_persistent(memory);
    parameters_.initialize(backend.device(), 7);
    for (const Slab* slab : {&slab_, &expert_slab_}) {
      for (bf16& weight : std::span(slab->weights().ptr<bf16>(), static_cast<std::size_t>(slab->numel()))) {
        weight = to_bf16(to_float(weight) * experiment_.gain);
      }
    }
    ops::Executor run(backend, memory);
    cast_weights(run);
    LayerResults results = step(run);
    release();
    return results;
  }

 private:
  void take_persistent(Memory& memory) {
    slab_.allocate(memory, SlabStorage{});
    expert_slab_.allocate(memory, SlabStorage{});
    moe_.allocate(memory);
    load_ = memory.allocate("load", DType::u64, 1, config_.moe.rule.experts, MemoryClass::workspace);
  }

  void release() { load_.reset(); }

  void cast_weights(ops::Executor& run) {
    const ProgramScope program(run.memory(), "cast");
    moe_.measure_weights(run);
    moe_.cast_weights(run);
  }

  Buffer rows(ops::Executor& run, std::string_view name) const {
    Buffer values = run.memory().allocate(name, DType::bf16, kTokens, config_.dim, MemoryClass::activations);
    if (!run.memory().planning()) std::ranges::copy(random_rows(name, values.tensor().numel()), values.ptr<bf16>());
    return values;
  }

  /// The gradient of the mean of (output - 1)^2.
  static void point_to_ones(const ops::Executor& run, const Buffer& output, const Buffer& gradient) {
    if (run.memory().planning()) return;
    const auto count = static_cast<std::size_t>(output.tensor().numel());
    std::ranges::transform(std::span(output.ptr<bf16>(), count), gradient.ptr<bf16>(), [&](bf16 value) {
      return to_bf16(2.0F * (to_float(value) - 1.0F) / static_cast<float>(count));
    });
  }

  LayerResults step(ops::Executor& run) {
    const ProgramScope program(run.memory(), "step");
    slab_.begin_gradients(run);
    expert_slab_.begin_gradients(run);
    MixtureOfExperts::Saved saved;
    saved.shared.in.values = rows(run, "input");
    if (const Linear* reader = moe_.first()) reader->cast_input(run, moe_.first_use(Pass::training), saved.shared.in);
    Buffer delta = moe_.forward(run, Pass::training, static_cast<std::int64_t*>(load_.tensor().raw()), saved);
    LinearOperand ddelta{.values = rows(run, "output gradient")};
    if (experiment_.output_gradient == OutputGradient::of_distance_from_ones) point_to_ones(run, delta, ddelta.values);
    if (const Linear* last = moe_.last()) last->cast_gradient(run, ddelta);
    const BackwardStep step{{1, kTokens}, 1.0F, nullptr};
    const Buffer dx = moe_.backward(run, step, ddelta, saved, false);
    if (run.memory().planning()) return {};
    return {widened(delta.tensor()), widened(dx.tensor()), widened(expert_slab_.gradient(0)),
            widened(expert_slab_.gradient(1))};
  }

  DeepSeekConfig config_;
  Experiment experiment_;
  ModelOptions options_;
  PrecisionPlan precision_;
  octet::Parameters parameters_;
  Slab& slab_ = parameters_.add_slab("layer");
  Slab& expert_slab_ = parameters_.add_slab("experts");
  MixtureOfExperts moe_;
  Buffer load_;  // [1, E] u64
};

class MoeLayerInFp8 : public testing::TestWithParam<Experiment> {};

TEST_P(MoeLayerInFp8, KeepsTheSignal) {
  const Experiment& experiment = GetParam();
  const DeepSeekConfig config = layer_config(experiment);
  PrecisionOptions rowwise = precision("rowwise");
  if (experiment.shared_in_bf16) rowwise.skip.emplace_back("*shared_experts*");
  const auto backend = ops::make_cpu_backend(2);
  const LayerResults in_bf16 = MoeLayer(config, experiment, precision("bf16")).run(*backend);
  const LayerResults in_fp8 = MoeLayer(config, experiment, rowwise).run(*backend);
  const double output = sqnr(in_fp8.output, in_bf16.output);
  const double input_gradient = sqnr(in_fp8.input_gradient, in_bf16.input_gradient);
  const double w13 = sqnr(in_fp8.w13_gradient, in_bf16.w13_gradient);
  const double w2 = sqnr(in_fp8.w2_gradient, in_bf16.w2_gradient);
  fmt::print("output {:.1f} dB, input gradient {:.1f} dB, weight gradients {:.1f} and {:.1f} dB\n", output,
             input_gradient, w13, w2);
  EXPECT_GE(output, experiment.output_db);
  EXPECT_GE(input_gradient, experiment.input_gradient_db);
  EXPECT_GE(w13, experiment.weight_gradients_db);
  EXPECT_GE(w2, experiment.weight_gradients_db);
}

// Weights begin so that no result drowns in another; in the second experiment as large, by the width of the layer, as
// 0.02 is at a width of 1280.
constexpr ops::RouterRule kTwoOfEight{.experts = 8, .top_k = 2};
constexpr ops::RouterRule kOneOfEight{.experts = 8, .top_k = 1, .normalised = false};

INSTANTIATE_TEST_SUITE_P(AllInFp8, MoeLayerInFp8,
                         testing::Values(Experiment{0, false, kTwoOfEight, OutputGradient::random, 3.0F, 23, 23, 21},
                                         Experiment{1, false, kTwoOfEight, OutputGradient::random, 3.0F, 23, 23, 21}));

INSTANTIATE_TEST_SUITE_P(ExpertsInFp8, MoeLayerInFp8,
                         testing::Values(Experiment{1, true, kOneOfEight, OutputGradient::of_distance_from_ones, 2.24F,
                                                    23, 28, 21}));

}  // namespace
}  // namespace octet::test
