// octet bench step: whole optimizer steps on random tokens, in bf16 and in an FP8 recipe, and where their time goes.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <utility>

#include "cli/bench.h"
#include "cli/bench_device.h"
#include "cli/op_timer.h"
#include "cli/step_ops.h"
#include "core/random.h"
#include "core/timing.h"
#include "io/text.h"
#include "train/engine.h"
#include "train/model_setup.h"

namespace octet::cli {
namespace {

constexpr double kLearningRate = 1e-4;
constexpr int kWarmUp = 3;

/// What the device reaches at its best, measured in the same run: bytes a second of a copy, flops a second of the best
/// product of a step.
struct Ceilings {
  double copy = 0;
  double bf16_product = 0;
  double fp8_product = 0;
};

/// Of a step's products.
struct ProductFlops {
  double bf16 = 0;
  double fp8 = 0;

  /// At the best rates.
  [[nodiscard]] double seconds(const Ceilings& best) const {
    return (bf16 > 0 ? bf16 / best.bf16_product : 0) + (fp8 > 0 ? fp8 / best.fp8_product : 0);
  }
};

struct MemoryUse {
  std::size_t planned = 0;  ///< the arena
  std::size_t peak = 0;     ///< the highest byte of it that was handed out
  std::size_t taken = 0;    ///< of a GPU, by allocating it
};

struct StepTimes {
  std::string recipe;
  double median_ms = 0;
  std::map<std::string_view, ops::OpTotals> ops;  ///< over all timed steps
  double op_seconds = 0;
  int steps = 0;
  ProductFlops product_flops;
  MemoryUse memory;
  ops::DeviceUse use;             ///< in all timed steps
  double seconds = 0;             ///< of all timed steps
  double launches_in_layers = 0;  ///< of one layer in one step
  std::int64_t replayed = 0;      ///< launches of a step that is replayed from graphs; 0 where it is not
  std::vector<std::string> untuned_products = {};

  [[nodiscard]] double share(std::initializer_list<std::string_view> names) const {
    double found_seconds = 0;
    for (const auto name : names) {
      if (const auto found = ops.find(name); found != ops.end()) found_seconds += found->second.seconds;
    }
    return found_seconds / op_seconds;
  }
  [[nodiscard]] double launches() const { return static_cast<double>(use.launches) / steps; }
  [[nodiscard]] double host_share() const { return 1 - use.waited_seconds / seconds; }
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
  ProductFlops product_flops;
  MemoryUse memory;
  std::vector<double> seconds = {};
  ops::DeviceUse use_before = {};
  double launches_in_layers = 0;
};

/// Counts launches while a layer computes.
class LayerLaunches final : public ops::Tracer {
 public:
  explicit LayerLaunches(const ops::Device& device) : device_(device) {}

  void on_op(ops::TracedOp) override {}
  void on_device_times(std::span<const ops::TraceInterval>) override {}
  void on_result(std::string_view) override {}
  void begin_span(ops::SpanKind kind, std::string_view) override {
    open_.push_back(kind);
    if (kind == ops::SpanKind::layer) launches_ -= device_.use().launches;
  }
  void end_span() override {
    if (open_.back() == ops::SpanKind::layer) launches_ += device_.use().launches;
    open_.pop_back();
  }
  [[nodiscard]] std::int64_t launches() const { return launches_; }

 private:
  const ops::Device& device_;
  std::vector<ops::SpanKind> open_;
  std::int64_t launches_ = 0;
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

/// Counts the flops of a step's products and times each, which may raise what is known as the best rate.
ProductFlops time_products(const DeviceBench& bench, Ceilings& best) {
  OpTimer timer(*bench.backend);
  ProductFlops flops;
  const StepOps step = ops_of_step(bench.config, *bench.backend);
  for (const StepOp<ops::Gemm>& each : step.of<ops::Gemm>()) {
    if (const char* reason = bench.backend->refusal(each.op)) {
      throw UserError("{} cannot run {}: {}", bench.backend->name(), ops::Gemm::name, reason);
    }
    double& rate = each.op.is_fp8() ? best.fp8_product : best.bf16_product;
    rate = std::max(rate, each.op.flops() / timer.time(each.op).seconds.median);
    (each.op.is_fp8() ? flops.fp8 : flops.bf16) += each.op.flops() * static_cast<double>(each.calls);
  }
  return flops;
}

/// A tuning's lines as cublaslt_algorithms.h holds them, then what each product gained and what its first run cost.
void describe(BenchReport& report, const std::vector<octet::gpu::TunedProduct>& tuned) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  report.table += "\nchoices for cublaslt_algorithms.h:\n";
  for (const auto& each : tuned) {
    if (!each.choice.empty()) report.table += each.choice + '\n';
  }
  report.table +=
      fmt::format("{:>10} {:>10} {:>7} {:>10} {:>12}\n", "first us", "best us", "gain", "query ms", "first run ms");
  for (const auto& each : tuned) {
    const double gain = each.first_seconds / each.seconds - 1;
    report.table += fmt::format("{:>10.0f} {:>10.0f} {:>6.1f}% {:>10.2f} {:>12.2f}  {}\n", each.first_seconds * 1e6,
                                each.seconds * 1e6, 100 * gain, each.query_seconds * 1e3, each.first_run_seconds * 1e3,
                                each.product);
    rows.push_back({{"product", each.product},
                    {"choice", each.choice},
                    {"first_seconds", each.first_seconds},
                    {"seconds", each.seconds},
                    {"gain", gain},
                    {"query_seconds", each.query_seconds},
                    {"first_run_seconds", each.first_run_seconds}});
  }
  report.json["tuned"].push_back(std::move(rows));
}

Rival prepare(DeviceBenchOptions device, const std::string& recipe, const StepBenchOptions& options, Ceilings& best) {
  device.set.push_back("precision.recipe=" + recipe);
  // Products are timed on a backend of their own: a tuning repeats all that its backend has seen, where it saw it.
  const ProductFlops product_flops = time_products(open_bench(device), best);
  DeviceBench bench = open_bench(device);
  auto model = make_model(bench.config, *bench.backend);
  Rival rival{recipe, Engine(bench.config, std::move(bench.backend), std::move(model)), product_flops, {}};
  const ops::Device& opened = rival.engine.backend().device();
  const std::size_t free = opened.free_bytes().value_or(0);
  rival.engine.allocate();
  rival.memory = {.planned = rival.engine.plan().arena_bytes, .taken = free - opened.free_bytes().value_or(0)};
  initialize(rival.engine);
  rival.engine.weights_changed();
  if (options.ops) rival.engine.executor().time_ops();
  return rival;
}

void run_step(Rival& rival, int step) {
  Engine& engine = rival.engine;
  random_tokens(engine, engine.model().vocab(), step);
  const double begin = monotonic_seconds();
  const StepOutcome outcome = engine.compute_gradients();
  engine.update(step, kLearningRate, outcome.grad_norm);
  engine.backend().device().finish();
  rival.seconds.push_back(monotonic_seconds() - begin);
}

StepTimes summarize(Rival& rival) {
  const ops::DeviceUse use = rival.engine.backend().device().use();
  rival.engine.executor().settle_times();
  rival.memory.peak = rival.engine.measured_peak();
  StepTimes times{
      .recipe = rival.recipe,
      .median_ms = median(rival.seconds) * 1e3,
      .ops = rival.engine.executor().totals(),
      .steps = static_cast<int>(rival.seconds.size()),
      .product_flops = rival.product_flops,
      .memory = rival.memory,
      .use = {use.launches - rival.use_before.launches, use.waited_seconds - rival.use_before.waited_seconds},
      .seconds = std::accumulate(rival.seconds.begin(), rival.seconds.end(), 0.0),
      .launches_in_layers = rival.launches_in_layers,
      .untuned_products = rival.engine.backend().device().untuned_products()};
  for (const auto& [name, totals] : times.ops) times.op_seconds += totals.seconds;
  const CapturedStep& step = rival.engine.captured_step();
  if (step.replayed()) times.replayed = step.launches();
  return times;
}

/// The first of the steps that warm up also says how many launches a layer makes.
void run_first_step(Rival& rival) {
  LayerLaunches counter(rival.engine.backend().device());
  rival.engine.executor().set_tracer(&counter);
  run_step(rival, 1);
  rival.engine.executor().settle_times();
  rival.engine.executor().set_tracer(nullptr);
  rival.launches_in_layers =
      static_cast<double>(counter.launches()) / static_cast<double>(rival.engine.model().layers());
}

void run_steps(Rival& rival, int first, int last) {
  for (int step = first; step <= last; ++step) {
    if (step == kWarmUp + 1) {
      rival.engine.executor().reset_totals();
      rival.seconds.clear();
      rival.use_before = rival.engine.backend().device().use();
    }
    if (step == 1) {
      run_first_step(rival);
    } else {
      run_step(rival, step);
    }
  }
}

/// Whole steps after a tuning, where that is asked for, and a warm-up.
StepTimes time_steps(Rival& rival, const StepBenchOptions& options, BenchReport& report) {
  if (options.tune) {
    run_step(rival, 1);
    rival.engine.executor().settle_times();  // a tuning forgets the marks
    describe(report, rival.engine.backend().device().tune());
  }
  run_steps(rival, 1, kWarmUp + options.steps);
  return summarize(rival);
}

/// bf16 and an FP8 recipe. On a CPU they alternate, so that whatever else the machine does hits both; a GPU may hold
/// only one of them, and computes for nobody else.
std::pair<StepTimes, StepTimes> measure(const DeviceBenchOptions& device, const std::string& fp8,
                                        const StepBenchOptions& options, Ceilings& best, BenchReport& report) {
  std::optional<Rival> high(prepare(device, "bf16", options, best));
  if (!high->engine.backend().device().host_memory()) {
    StepTimes high_times = time_steps(*high, options, report);
    high.reset();
    Rival low = prepare(device, fp8, options, best);
    return {std::move(high_times), time_steps(low, options, report)};
  }
  Rival low = prepare(device, fp8, options, best);
  for (int step = 1; step <= kWarmUp + options.steps; ++step) {
    run_steps(*high, step, step);
    run_steps(low, step, step);
  }
  return {summarize(*high), summarize(low)};
}

/// The least time for all calls of an op in all timed steps: products and attention by flops, the others by bytes.
double ceiling_seconds(std::string_view name, const ops::OpTotals& totals, const StepTimes& times,
                       const Ceilings& best) {
  if (name == ops::Gemm::name) return times.product_flops.seconds(best) * times.steps;
  if (name == ops::AttentionForward::name || name == ops::AttentionBackward::name) {
    return totals.flops / best.bf16_product;
  }
  return totals.bytes / best.copy;
}

/// The rows of the table, the slowest op first; the same as JSON.
nlohmann::ordered_json describe_ops(BenchReport& report, const StepTimes& times, const Ceilings& best) {
  report.table += fmt::format("  {:<23} {:>6} {:>9} {:>7} {:>9} {:>8} {:>10}\n", "op", "calls", "ms", "share",
                              "GFLOP/s", "GB/s", "of ceiling");
  nlohmann::ordered_json ops = nlohmann::ordered_json::array();
  std::vector<std::pair<std::string_view, ops::OpTotals>> sorted(times.ops.begin(), times.ops.end());
  std::sort(sorted.begin(), sorted.end(),
            [](const auto& a, const auto& b) { return a.second.seconds > b.second.seconds; });
  for (const auto& [name, totals] : sorted) {
    const double ms = totals.seconds * 1e3 / times.steps;
    const double of_ceiling = ceiling_seconds(name, totals, times, best) / totals.seconds;
    report.table +=
        fmt::format("  {:<23} {:>6} {:>9.3f} {:>6.1f}% {:>9.1f} {:>8.2f} {:>9.0f}%\n", name, totals.calls / times.steps,
                    ms, 100 * totals.seconds / times.op_seconds, totals.flops / totals.seconds / 1e9,
                    totals.bytes / totals.seconds / 1e9, 100 * of_ceiling);
    ops.push_back({{"op", name},
                   {"calls", totals.calls / times.steps},
                   {"ms", ms},
                   {"share", totals.seconds / times.op_seconds},
                   {"gflops", totals.flops / totals.seconds / 1e9},
                   {"gbytes_per_second", totals.bytes / totals.seconds / 1e9},
                   {"share_of_ceiling", of_ceiling}});
  }
  return ops;
}

void describe_untuned(BenchReport& report, nlohmann::ordered_json& json, const StepTimes& times) {
  json["untuned_products"] = times.untuned_products;
  if (times.untuned_products.empty()) return;
  report.table +=
      fmt::format("  untuned: {} products run as the library proposes first (--tune measures them)\n    {}\n",
                  times.untuned_products.size(), fmt::join(times.untuned_products, "\n    "));
}

/// What the host adds and what memory is taken, of a GPU; of a CPU only the plan.
void describe_machine(BenchReport& report, nlohmann::ordered_json& json, const StepTimes& times) {
  constexpr double kGiB = 1U << 30U;
  const MemoryUse& memory = times.memory;
  json["planned_bytes"] = memory.planned;
  json["peak_bytes"] = memory.peak;
  report.table += fmt::format("  memory: {:.3f} GiB planned, {:.3f} GiB of it used",
                              static_cast<double>(memory.planned) / kGiB, static_cast<double>(memory.peak) / kGiB);
  if (times.use.launches == 0) {
    report.table += '\n';
    return;
  }
  const double over_plan = static_cast<double>(memory.taken) / static_cast<double>(memory.planned);
  report.table += fmt::format(
      ", {:.3f} GiB of the device taken ({:+.2f} %)\n  host: {:.0f} launches a step, {:.1f} in each layer, {}; busy "
      "for "
      "{:.1f} % of the step\n",
      static_cast<double>(memory.taken) / kGiB, 100 * (over_plan - 1), times.launches(), times.launches_in_layers,
      times.replayed > 0 ? "replayed from graphs" : "op by op", 100 * times.host_share());
  json["taken_bytes"] = memory.taken;
  json["taken_over_planned"] = over_plan;
  json["launches_per_step"] = times.launches();
  json["launches_replayed"] = times.replayed;
  json["launches_per_layer"] = times.launches_in_layers;
  json["host_share"] = times.host_share();
  describe_untuned(report, json, times);
}

void describe(BenchReport& report, const StepTimes& times, const Ceilings& best) {
  nlohmann::ordered_json json{{"recipe", times.recipe}, {"ms_per_step", times.median_ms}};
  report.table += fmt::format("\n{}: {:.1f} ms per step", times.recipe, times.median_ms);
  if (times.op_seconds > 0) {  // a GPU's ops are not always timed
    const double products = times.share({ops::Gemm::name});
    const double attention = times.share({ops::AttentionForward::name, ops::AttentionBackward::name});
    const double elementwise = 1 - products - attention;
    report.table += fmt::format("; products {:.0f} %, attention {:.0f} %, element-wise {:.0f} %\n", 100 * products,
                                100 * attention, 100 * elementwise);
    json["elementwise_share"] = elementwise;
    json["ops"] = describe_ops(report, times, best);
  } else {
    report.table += '\n';
  }
  describe_machine(report, json, times);
  report.json["recipes"].push_back(std::move(json));
}

}  // namespace

BenchReport bench_step(const DeviceBenchOptions& device, const StepBenchOptions& options) {
  Ceilings best;
  BenchReport report;
  Config config;
  {
    const DeviceBench bench = open_bench(device);
    config = bench.config;
    report.json = {
        {"device", bench.backend->device().description()},
        {"config", bench.path.string()},
        {"tokens_per_step", config.training.batch_size * config.training.seq_len * config.training.accumulate},
        {"recipes", nlohmann::ordered_json::array()}};
    report.table = fmt::format("{}: {}\n{}: batch {} x {} tokens\n", bench.backend->name(),
                               bench.backend->device().description(), printable(bench.path.string()),
                               config.training.batch_size * config.training.accumulate, config.training.seq_len);
    best.copy = OpTimer(*bench.backend).copy_rate();
  }
  const std::string fp8 =
      config.precision.recipe == Config::Recipe::bf16 ? "rowwise" : std::string(config_name(config.precision.recipe));
  const auto [high, low] = measure(device, fp8, options, best, report);
  report.table += fmt::format("ceilings: a copy {:.1f} GB/s, the best product {:.1f} GFLOP/s in bf16, {:.1f} in FP8\n",
                              best.copy / 1e9, best.bf16_product / 1e9, best.fp8_product / 1e9);
  report.json["ceilings"] = {{"copy_bytes_per_second", best.copy},
                             {"bf16_product_flops_per_second", best.bf16_product},
                             {"fp8_product_flops_per_second", best.fp8_product}};
  describe(report, high, best);
  describe(report, low, best);
  report.table += fmt::format("\n{} takes {:.2f} x the bf16 step\n", fp8, low.median_ms / high.median_ms);
  report.json["fp8_over_bf16"] = low.median_ms / high.median_ms;
  return report;
}

}  // namespace octet::cli
