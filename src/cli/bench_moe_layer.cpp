#include "cli/bench_moe_layer.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "cli/bench_operands.h"
#include "cli/bench_timing.h"
#include "core/error.h"
#include "model/mixture_of_experts.h"
#include "train/model_setup.h"

namespace octet::cli {
namespace {

constexpr int kTimedSteps = 5;

enum class Routes : std::uint8_t { random, one_set };

std::string_view name_of(Routes routes) {
  return routes == Routes::random ? "random" : "the same experts for all tokens";
}

DeepSeekConfig layer_config(const MoeBenchOptions& options) {
  DeepSeekConfig config;
  config.dim = options.dim;
  config.moe.rule = {.experts = options.experts, .top_k = options.top_k};
  config.moe.ffn_dim = options.ffn_dim;
  config.moe.shared_experts = options.shared_experts;
  config.moe.bias_rate = 1e-3F;  // so that there are biases to route by
  return config;
}

PrecisionOptions precision_of(std::string_view recipe, const ops::Backend& backend) {
  PrecisionOptions precision;
  precision.recipe = fp8::find_recipe(recipe);
  precision.family = backend.device().families().front();
  return precision;
}

/// The layer with memory of its own, and what a block would give it.
class WholeLayer {
 public:
  WholeLayer(const ops::Backend& backend, const MoeBenchOptions& options, std::string_view recipe)
      : backend_(backend),
        config_(layer_config(options)),
        tokens_(options.rows / options.top_k),
        model_options_{.precision = precision_of(recipe, backend)},
        precision_(model_options_.precision),
        moe_(config_, "moe", config_.init_std, tokens_, precision_, model_options_, slab_, expert_slab_, parameters_),
        operands_(backend),
        input_(rows()),
        output_gradient_(rows()) {
    Memory planning;
    take_persistent(planning);
    ops::Executor plan(backend, planning);
    measure_weights(plan);
    cast_weights(plan);
    step(plan);
    memory_ = std::make_unique<Memory>(planning.finish(), backend.device().allocator());
    take_persistent(*memory_);
    for (const Slab* slab : {&slab_, &expert_slab_}) fill(*slab);
    run_ = std::make_unique<ops::Executor>(backend, *memory_);
    measure_weights(*run_);
    cast_weights(*run_);
  }
  WholeLayer(const WholeLayer&) = delete;
  WholeLayer& operator=(const WholeLayer&) = delete;

  void route(Routes routes) {
    std::vector<float> biases(static_cast<std::size_t>(config_.moe.rule.experts), 0.0F);
    if (routes == Routes::one_set) std::fill_n(biases.begin(), config_.moe.rule.top_k, 2.0F);  // above any score
    backend_.device().upload(parameters_.states().front().values.tensor().raw(), biases.data(),
                             biases.size() * sizeof(float));
    backend_.device().finish();
  }

  [[nodiscard]] double seconds(bool weight_casts) {
    return time_calls(backend_.device(),
                      [&] {
                        if (weight_casts) cast_weights(*run_);
                        step(*run_);
                      })
        .median;
  }

  /// Of one step, by name.
  [[nodiscard]] std::map<std::string_view, ops::OpTotals> ops() {
    run_->reset_totals();
    run_->time_ops(true);
    for (int i = 0; i < kTimedSteps; ++i) step(*run_);
    run_->settle_times();
    run_->time_ops(false);
    return run_->take_counts().totals;
  }

  [[nodiscard]] std::int64_t tokens() const { return tokens_; }

 private:
  [[nodiscard]] Tensor rows() {
    return {operands_.random<bf16>(tokens_ * config_.dim), DType::bf16, tokens_, config_.dim};
  }

  void take_persistent(Memory& memory) {
    const SlabStorage storage{.master = false, .gradients = DType::bf16};
    slab_.allocate(memory, storage);
    expert_slab_.allocate(memory, storage);
    moe_.allocate(memory);
    load_ = memory.allocate("load", DType::u64, 1, config_.moe.rule.experts, MemoryClass::workspace);
  }

  void fill(const Slab& slab) {
    backend_.run(ops::Copy{operands_.random<bf16>(slab.numel()), slab.weights().raw(),
                           static_cast<std::int64_t>(slab.weights().bytes())});
    backend_.device().finish();
  }

  void measure_weights(ops::Executor& run) {
    const ProgramScope program(run.memory(), "measure");
    moe_.measure_weights(run);
  }
  void cast_weights(ops::Executor& run) {
    const ProgramScope program(run.memory(), "cast");
    moe_.cast_weights(run);
  }

  void step(ops::Executor& run) {
    const ProgramScope program(run.memory(), "step");
    slab_.begin_gradients(run);
    expert_slab_.begin_gradients(run);
    MixtureOfExperts::Saved saved;
    saved.shared.in.values = Buffer(nullptr, 0, input_);
    if (const Linear* reader = moe_.first()) reader->cast_input(run, moe_.first_use(Pass::training), saved.shared.in);
    (void)moe_.forward(run, Pass::training, static_cast<std::int64_t*>(load_.tensor().raw()), saved);
    LinearOperand ddelta{.values = Buffer(nullptr, 0, output_gradient_)};
    if (const Linear* last = moe_.last()) last->cast_gradient(run, ddelta);
    const BackwardStep step{{1, tokens_}, 1.0F, nullptr};
    (void)moe_.backward(run, step, ddelta, saved, false);
  }

  // Destroyed from the last to the first: buffers before the memory that they are of.
  const ops::Backend& backend_;
  std::unique_ptr<Memory> memory_;
  DeepSeekConfig config_;
  std::int64_t tokens_;
  ModelOptions model_options_;
  PrecisionPlan precision_;
  Parameters parameters_;
  Slab& slab_ = parameters_.add_slab("layer");
  Slab& expert_slab_ = parameters_.add_slab("experts");
  MixtureOfExperts moe_;
  Buffer load_;  // [1, E] u64
  Operands operands_;
  Tensor input_, output_gradient_;  // [T, D] bf16
  std::unique_ptr<ops::Executor> run_;
};

void describe_ops(BenchReport& report, nlohmann::ordered_json& json, WholeLayer& layer) {
  const auto totals = layer.ops();
  std::vector<std::pair<std::string_view, ops::OpTotals>> sorted(totals.begin(), totals.end());
  std::ranges::sort(sorted, [](const auto& a, const auto& b) { return a.second.seconds > b.second.seconds; });
  report.table += fmt::format("{:>9} {:>6} {:>9}  op\n", "ms", "calls", "TFLOP/s");
  json["ops"] = nlohmann::ordered_json::array();
  for (const auto& [name, total] : sorted) {
    const double seconds = total.seconds / kTimedSteps;
    const bool product = name == ops::GroupedGemm::name || name == ops::GroupedWgrad::name || name == ops::Gemm::name;
    report.table += fmt::format("{:>9.3f} {:>6} {:>9}  {}\n", seconds * 1e3, total.calls / kTimedSteps,
                                product ? fmt::format("{:.0f}", total.flops / total.seconds / 1e12) : "", name);
    json["ops"].push_back({{"op", name},
                           {"calls", total.calls / kTimedSteps},
                           {"seconds", seconds},
                           {"flops", total.flops / kTimedSteps},
                           {"bytes", total.bytes / kTimedSteps}});
  }
}

void measure(BenchReport& report, const ops::Backend& backend, const MoeBenchOptions& options, bool fp8) {
  WholeLayer layer(backend, options, fp8 ? "rowwise" : "bf16");
  for (const Routes routes : {Routes::random, Routes::one_set}) {
    layer.route(routes);
    nlohmann::ordered_json json{{"precision", fp8 ? "fp8" : "bf16"}, {"routes", name_of(routes)}};
    const double seconds = layer.seconds(false);
    json["seconds"] = seconds;
    report.table +=
        fmt::format("\n{}, {}: {:.3f} ms forward and backward", fp8 ? "FP8" : "bf16", name_of(routes), seconds * 1e3);
    if (fp8) {
      const double with_casts = layer.seconds(true);
      json["seconds_with_weight_casts"] = with_casts;
      report.table += fmt::format(", {:.3f} ms with casts of weights", with_casts * 1e3);
    }
    report.table += "\n";
    describe_ops(report, json, layer);
    report.json["whole_layers"].push_back(std::move(json));
  }
}

void check_layer_options(const MoeBenchOptions& options) {
  if (options.top_k > options.experts) {
    throw UserError("bench moe --layer: a token cannot choose {} of {} experts: lower --top-k", options.top_k,
                    options.experts);
  }
  if (options.rows % options.top_k != 0) {
    throw UserError("bench moe --layer: {} routed rows are no whole number of tokens of {} each: change --rows",
                    options.rows, options.top_k);
  }
}

}  // namespace

BenchReport bench_moe_layer(const MoeBenchOptions& options) {
  check_layer_options(options);
  const auto backend = open_device(options.device);
  BenchReport report;
  report.table = fmt::format(
      "{}: {}\n{} tokens choose {} of {} experts each, beside {} shared, model dim {}, feed-forward dim {}; router, "
      "permutation, experts and their sum\n",
      backend->name(), backend->device().description(), options.rows / options.top_k, options.top_k, options.experts,
      options.shared_experts, options.dim, options.ffn_dim);
  report.json = {{"device", backend->device().description()},
                 {"experts", options.experts},
                 {"dim", options.dim},
                 {"ffn_dim", options.ffn_dim},
                 {"tokens", options.rows / options.top_k},
                 {"top_k", options.top_k},
                 {"shared_experts", options.shared_experts},
                 {"whole_layers", nlohmann::ordered_json::array()}};
  for (const bool fp8 : {true, false}) measure(report, *backend, options, fp8);
  return report;
}

}  // namespace octet::cli
