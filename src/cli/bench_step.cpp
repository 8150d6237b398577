// octet bench step: whole optimizer steps on random tokens, in bf16 and in an FP8 recipe, and where their time goes.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "cli/bench.h"
#include "core/random.h"
#include "core/timing.h"
#include "train/engine.h"
#include "train/model_setup.h"

namespace octet::cli {
namespace {

constexpr double kLearningRate = 1e-4;
constexpr int kWarmUp = 3;

struct StepTimes {
  std::string recipe;
  double median_ms = 0;
  std::map<std::string_view, ops::OpTotals> ops;  ///< over all timed steps
  double op_seconds = 0;
  int steps = 0;

  [[nodiscard]] double share(std::initializer_list<std::string_view> names) const {
    double seconds = 0;
    for (const auto name : names) {
      if (const auto found = ops.find(name); found != ops.end()) seconds += found->second.seconds;
    }
    return seconds / op_seconds;
  }
};

void random_tokens(Engine& engine, std::int64_t vocab, int step) {
  const auto inputs = engine.inputs();
  const auto targets = engine.targets();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto words = philox(3, i, static_cast<std::uint64_t>(step));
    inputs[i] = static_cast<std::int32_t>(words[0] % static_cast<std::uint64_t>(vocab));
    targets[i] = static_cast<std::int32_t>(words[1] % static_cast<std::uint64_t>(vocab));
  }
}

/// One of the two recipes that are compared.
struct Rival {
  std::string recipe;
  Engine engine;
  std::vector<double> seconds;
};

/// Random weights, those of the first block for all: as good for times, and made in a moment for the largest model.
void initialize(Engine& engine) {
  ops::Device& device = engine.backend().device();
  const auto& slabs = engine.model().parameters().slabs();
  for (const Slab& slab : slabs) {
    if (slab.numel() != slabs[1].numel() || &slab == &slabs[1]) Parameters::initialize(device, slab, 1);
  }
  const auto copy = [&](const Tensor& from, const Tensor& to) {
    engine.backend().run(ops::Copy{from.raw(), to.raw(), static_cast<std::int64_t>(from.bytes())});
  };
  for (const Slab& slab : slabs) {
    if (slab.numel() != slabs[1].numel() || &slab == &slabs[1]) continue;
    copy(slabs[1].weights(), slab.weights());
    if (slab.has_master()) copy(slabs[1].master(), slab.master());
  }
}

Rival prepare(const std::filesystem::path& path, std::vector<std::string> overrides, const std::string& recipe,
              const StepBenchOptions& options) {
  overrides.push_back("precision.recipe=" + recipe);
  const Config config = load_config(path, overrides).config;
  auto backend = make_backend(config);
  auto model = make_model(config, *backend);
  Rival rival{recipe, Engine(config, std::move(backend), std::move(model)), {}};
  rival.engine.allocate();
  initialize(rival.engine);
  rival.engine.weights_changed();
  if (options.ops) rival.engine.executor().time_ops();
  return rival;
}

void run_step(Rival& rival, int step) {
  Engine& engine = rival.engine;
  random_tokens(engine, engine.model().config().vocab, step);
  const double begin = monotonic_seconds();
  const StepOutcome outcome = engine.compute_gradients();
  engine.update(step, kLearningRate, outcome.grad_norm);
  engine.backend().device().finish();
  rival.seconds.push_back(monotonic_seconds() - begin);
}

StepTimes summarize(Rival& rival) {
  rival.engine.executor().settle_times();
  StepTimes times{rival.recipe, median(rival.seconds) * 1e3, rival.engine.executor().totals(), 0,
                  static_cast<int>(rival.seconds.size())};
  for (const auto& [name, totals] : times.ops) times.op_seconds += totals.seconds;
  return times;
}

void run_steps(Rival& rival, int first, int last) {
  for (int step = first; step <= last; ++step) {
    if (step == kWarmUp + 1) {
      rival.engine.executor().reset_totals();
      rival.seconds.clear();
    }
    run_step(rival, step);
  }
}

/// Whole steps after a tuning, where that is asked for, and a warm-up.
StepTimes time_steps(Rival& rival, const StepBenchOptions& options, BenchReport& report) {
  if (options.tune) {
    run_step(rival, 1);
    report.table += rival.engine.backend().device().tune();
  }
  run_steps(rival, 1, kWarmUp + options.steps);
  return summarize(rival);
}

/// bf16 and an FP8 recipe. On a CPU they alternate, so that whatever else the machine does hits both; a GPU may hold
/// only one of them, and computes for nobody else.
std::pair<StepTimes, StepTimes> measure(const std::filesystem::path& path, const std::vector<std::string>& overrides,
                                        const std::string& fp8, const StepBenchOptions& options, BenchReport& report) {
  std::optional<Rival> high(prepare(path, overrides, "bf16", options));
  if (!high->engine.backend().device().host_memory()) {
    StepTimes high_times = time_steps(*high, options, report);
    high.reset();
    Rival low = prepare(path, overrides, fp8, options);
    return {std::move(high_times), time_steps(low, options, report)};
  }
  Rival low = prepare(path, overrides, fp8, options);
  for (int step = 1; step <= kWarmUp + options.steps; ++step) {
    run_steps(*high, step, step);
    run_steps(low, step, step);
  }
  return {summarize(*high), summarize(low)};
}

void describe(BenchReport& report, const StepTimes& times) {
  if (times.op_seconds == 0) {  // a GPU's ops were not timed
    report.table += fmt::format("\n{}: {:.1f} ms per step\n", times.recipe, times.median_ms);
    report.json["recipes"].push_back({{"recipe", times.recipe}, {"ms_per_step", times.median_ms}});
    return;
  }
  const double elementwise =
      1 - times.share({ops::Gemm::name, ops::AttentionForward::name, ops::AttentionBackward::name});
  report.table +=
      fmt::format("\n{}: {:.1f} ms per step; products {:.0f} %, attention {:.0f} %, element-wise {:.0f} %\n",
                  times.recipe, times.median_ms, 100 * times.share({ops::Gemm::name}),
                  100 * times.share({ops::AttentionForward::name, ops::AttentionBackward::name}), 100 * elementwise);
  report.table +=
      fmt::format("  {:<20} {:>6} {:>9} {:>7} {:>9} {:>8}\n", "op", "calls", "ms", "share", "GFLOP/s", "GB/s");
  nlohmann::ordered_json ops = nlohmann::ordered_json::array();
  std::vector<std::pair<std::string_view, ops::OpTotals>> sorted(times.ops.begin(), times.ops.end());
  std::sort(sorted.begin(), sorted.end(),
            [](const auto& a, const auto& b) { return a.second.seconds > b.second.seconds; });
  for (const auto& [name, totals] : sorted) {
    const double ms = totals.seconds * 1e3 / times.steps;
    report.table += fmt::format("  {:<20} {:>6} {:>9.3f} {:>6.1f}% {:>9.1f} {:>8.2f}\n", name,
                                totals.calls / times.steps, ms, 100 * totals.seconds / times.op_seconds,
                                totals.flops / totals.seconds / 1e9, totals.bytes / totals.seconds / 1e9);
    ops.push_back({{"op", name},
                   {"calls", totals.calls / times.steps},
                   {"ms", ms},
                   {"share", totals.seconds / times.op_seconds},
                   {"gflops", totals.flops / totals.seconds / 1e9},
                   {"gbytes_per_second", totals.bytes / totals.seconds / 1e9}});
  }
  report.json["recipes"].push_back(
      {{"recipe", times.recipe}, {"ms_per_step", times.median_ms}, {"elementwise_share", elementwise}, {"ops", ops}});
}

}  // namespace

BenchReport bench_step(const std::filesystem::path& path, const std::vector<std::string>& overrides,
                       const StepBenchOptions& options) {
  const Config config = load_config(path, overrides).config;
  const auto backend = make_backend(config);
  BenchReport report;
  report.json = {{"device", backend->device().description()},
                 {"config", path.string()},
                 {"tokens_per_step", config.training.batch_size * config.training.seq_len * config.training.accumulate},
                 {"recipes", nlohmann::ordered_json::array()}};
  report.table =
      fmt::format("{}: {}\n{}: batch {} x {} tokens\n", backend->name(), backend->device().description(), path.string(),
                  config.training.batch_size * config.training.accumulate, config.training.seq_len);
  const std::string fp8 =
      config.precision.recipe == Config::Recipe::bf16 ? "rowwise" : std::string(config_name(config.precision.recipe));
  const auto [high, low] = measure(path, overrides, fp8, options, report);
  describe(report, high);
  describe(report, low);
  report.table += fmt::format("\n{} takes {:.2f} x the bf16 step\n", fp8, low.median_ms / high.median_ms);
  report.json["fp8_over_bf16"] = low.median_ms / high.median_ms;
  return report;
}

}  // namespace octet::cli
