// A mixture of experts in FP8 against the same in bf16, from the same input and routing: what FP8 costs a layer.
#include <gtest/gtest.h>

#include "core/random.h"
#include "model/agreement.h"
#include "model/small_deepseek.h"
#include "ops/host_access.h"

namespace octet::test {
namespace {

using ops::reference::Vector;

constexpr std::int64_t kTokens = 512;

DeepSeekConfig layer_config(std::int64_t shared_experts) {
  DeepSeekConfig config = small_deepseek();
  config.dim = 256;
  config.moe.rule = {.experts = 8, .top_k = 2};
  config.moe.ffn_dim = 192;
  config.moe.shared_experts = shared_experts;
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
  MoeLayer(const DeepSeekConfig& config, PrecisionOptions precision)
      : config_(config),
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
    // Weights of unit gain, so that no result drowns in another.
    parameters_.initialize(backend.device(), 7);
    for (const Slab* slab : {&slab_, &expert_slab_}) {
      for (bf16& weight : std::span(slab->weights().ptr<bf16>(), static_cast<std::size_t>(slab->numel()))) {
        weight = to_bf16(to_float(weight) * 3.0F);
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

  LayerResults step(ops::Executor& run) {
    const ProgramScope program(run.memory(), "step");
    slab_.begin_gradients(run);
    expert_slab_.begin_gradients(run);
    MixtureOfExperts::Saved saved;
    saved.shared.in.values = rows(run, "input");
    if (const Linear* reader = moe_.first()) reader->cast_input(run, moe_.first_use(Pass::training), saved.shared.in);
    Buffer delta = moe_.forward(run, Pass::training, static_cast<std::int64_t*>(load_.tensor().raw()), saved);
    LinearOperand ddelta{.values = rows(run, "output gradient")};
    if (const Linear* last = moe_.last()) last->cast_gradient(run, ddelta);
    const BackwardStep step{{1, kTokens}, 1.0F, nullptr};
    const Buffer dx = moe_.backward(run, step, ddelta, saved, false);
    if (run.memory().planning()) return {};
    return {widened(delta.tensor()), widened(dx.tensor()), widened(expert_slab_.gradient(0)),
            widened(expert_slab_.gradient(1))};
  }

  DeepSeekConfig config_;
  ModelOptions options_;
  PrecisionPlan precision_;
  octet::Parameters parameters_;
  Slab& slab_ = parameters_.add_slab("layer");
  Slab& expert_slab_ = parameters_.add_slab("experts");
  MixtureOfExperts moe_;
  Buffer load_;  // [1, E] u64
};

class MoeLayerInFp8 : public testing::TestWithParam<std::int64_t> {};

TEST_P(MoeLayerInFp8, KeepsTheSignal) {
  const DeepSeekConfig config = layer_config(GetParam());
  const auto backend = ops::make_cpu_backend(2);
  const LayerResults in_bf16 = MoeLayer(config, precision("bf16")).run(*backend);
  const LayerResults in_fp8 = MoeLayer(config, precision("rowwise")).run(*backend);
  const double output = sqnr(in_fp8.output, in_bf16.output);
  const double input_gradient = sqnr(in_fp8.input_gradient, in_bf16.input_gradient);
  const double w13 = sqnr(in_fp8.w13_gradient, in_bf16.w13_gradient);
  const double w2 = sqnr(in_fp8.w2_gradient, in_bf16.w2_gradient);
  fmt::print("output {:.1f} dB, input gradient {:.1f} dB, weight gradients {:.1f} and {:.1f} dB\n", output,
             input_gradient, w13, w2);
  // Two products in a row either way, of operands that e4m3 holds to 31 dB each.
  EXPECT_GE(output, 23);
  EXPECT_GE(input_gradient, 23);
  EXPECT_GE(w13, 21);
  EXPECT_GE(w2, 21);
}

INSTANTIATE_TEST_SUITE_P(SharedExperts, MoeLayerInFp8, testing::Values(0, 1));

}  // namespace
}  // namespace octet::test
