// octet bench quantize on a device: every memory-bound op of a training step at a model's shapes, beside a copy.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/bench.h"
#include "cli/bench_operands.h"
#include "cli/bench_timing.h"
#include "cli/step_ops.h"
#include "io/text.h"
#include "train/model_setup.h"

namespace octet::cli {
namespace {

/// What an op should reach of a copy's speed.
constexpr double kBudget = 0.85;
/// Operands of an op lie in so many places that a device's cache has room for this part of what it moves between two
/// visits to the same place.
constexpr double kMovedOverCache = 8;
/// An op that moves less than this part of a device's cache is over before it is under way: its time is a launch's.
constexpr double kLeastOverCache = 1.0 / 32;

/// Neither products nor attention, and part of a training step.
template <typename Op>
inline constexpr bool kIsMemoryBound = !std::is_same_v<Op, ops::Gemm> && requires(Operands operands, Op op) {
  operands.bind(op);
};

struct TimedOp {
  std::string_view op;
  std::string text;
  std::int64_t calls;  ///< of a step
  double bytes;
  std::size_t places;
  CallTimes seconds;

  [[nodiscard]] double rate() const { return bytes / seconds.median; }
};

class MemoryBoundBench {
 public:
  explicit MemoryBoundBench(const ops::Backend& backend)
      : backend_(backend),
        operands_(backend),
        cache_bytes_(static_cast<double>(backend.device().cache_bytes())),
        copy_rate_(time(ops::Copy{nullptr, nullptr, ceiling_bytes()}, "", 0).rate()),
        fill_rate_(time(ops::Zero{nullptr, ceiling_bytes()}, "", 0).rate()) {}

  template <typename Op>
  void add(const StepOp<Op>& step_op) {
    if constexpr (kIsMemoryBound<Op>) {
      if (step_op.op.bytes() < least_bytes()) {
        left_out_calls_ += step_op.calls;
      } else {
        ops_.push_back(time(step_op.op, step_op.text, step_op.calls));
      }
    }
  }

  /// Adds what was measured so far.
  void describe(BenchReport& report) const;

 private:
  [[nodiscard]] double least_bytes() const { return kLeastOverCache * cache_bytes_; }
  /// Beyond any cache.
  [[nodiscard]] std::int64_t ceiling_bytes() const {
    return std::int64_t{1} << (backend_.device().host_memory() ? 27 : 30);
  }

  template <typename Op>
  [[nodiscard]] TimedOp time(const Op& op, std::string text, std::int64_t calls) {
    const auto places = static_cast<std::size_t>(std::max(1.0, std::ceil(kMovedOverCache * cache_bytes_ / op.bytes())));
    std::vector<Op> bound(places, op);
    for (Op& each : bound) operands_.bind(each);
    const ops::Workspace workspace = operands_.workspace(op);
    std::size_t next = 0;
    const CallTimes seconds = time_calls(backend_.device(), [&] { backend_.run(bound[next++ % places], workspace); });
    operands_.clear();
    return {Op::name, std::move(text), calls, op.bytes(), places, seconds};
  }

  [[nodiscard]] std::string header() const;

  const ops::Backend& backend_;
  Operands operands_;
  double cache_bytes_;
  double copy_rate_;
  double fill_rate_;
  std::vector<TimedOp> ops_;
  std::int64_t left_out_calls_ = 0;
};

std::string MemoryBoundBench::header() const {
  const std::int64_t mebibytes = ceiling_bytes() >> 20;
  std::string header = fmt::format("a copy of {} MiB reads and writes {:.1f} GB/s, clearing them writes {:.1f} GB/s\n",
                                   mebibytes, copy_rate_ / 1e9, fill_rate_ / 1e9);
  if (cache_bytes_ > 0) {
    header += fmt::format(
        "operands lie in so many places that {:.0f} times the cache of {:.0f} MiB move between two "
        "visits\n{} calls a step move less than {:.1f} MB and are left out\n",
        kMovedOverCache, cache_bytes_ / (1 << 20), left_out_calls_, least_bytes() / 1e6);
  }
  return header + fmt::format("{:<19} {:>6} {:>10} {:>10} {:>9} {:>8}\n", "op", "calls", "MB", "us", "GB/s", "of copy");
}

void MemoryBoundBench::describe(BenchReport& report) const {
  double seconds = 0;
  double bytes = 0;
  int below = 0;
  nlohmann::ordered_json ops = nlohmann::ordered_json::array();
  report.table += header();
  for (const TimedOp& timed : ops_) {
    const double share = timed.rate() / copy_rate_;
    const bool slow = share < kBudget;
    below += slow ? 1 : 0;
    seconds += timed.seconds.median * static_cast<double>(timed.calls);
    bytes += timed.bytes * static_cast<double>(timed.calls);
    report.table += fmt::format("{:<19} {:>6} {:>10.2f} {:>10.1f} {:>9.1f} {:>7.0f}%{} {}\n", timed.op, timed.calls,
                                timed.bytes / 1e6, timed.seconds.median * 1e6, timed.rate() / 1e9, 100 * share,
                                slow ? '*' : ' ', timed.text);
    ops.push_back({{"op", timed.op},
                   {"what", timed.text},
                   {"calls_per_step", timed.calls},
                   {"bytes", timed.bytes},
                   {"places", timed.places},
                   {"seconds", timed.seconds.median},
                   {"fastest_seconds", timed.seconds.fastest},
                   {"slowest_seconds", timed.seconds.slowest},
                   {"bytes_per_second", timed.rate()},
                   {"share_of_copy", share},
                   {"below_budget", slow}});
  }
  const double share = bytes / seconds / copy_rate_;
  report.table += fmt::format("all calls of a step: {:.2f} ms, {:.1f} GB/s, {:.0f} % of a copy\n", seconds * 1e3,
                              bytes / seconds / 1e9, 100 * share);
  report.table += fmt::format("{} of {} rows are below {:.0f} % of a copy (*)\n", below, ops_.size(), 100 * kBudget);
  report.json.update({{"cache_bytes", cache_bytes_},
                      {"moved_over_cache", kMovedOverCache},
                      {"ceiling_bytes", ceiling_bytes()},
                      {"copy_bytes_per_second", copy_rate_},
                      {"fill_bytes_per_second", fill_rate_},
                      {"budget_share_of_copy", kBudget},
                      {"left_out_calls_per_step", left_out_calls_},
                      {"seconds_per_step", seconds},
                      {"bytes_per_step", bytes},
                      {"share_of_copy", share},
                      {"ops", std::move(ops)}});
}

/// The file that stands in for none: one GPU trains Llama 3 8B with its states in bf16.
std::filesystem::path default_config(const std::string& device, std::vector<std::string>& overrides) {
  if (device.empty() || device == "cpu") return "configs/llama3_quickstart.toml";
  overrides.insert(overrides.begin(), {"optimizer.parameters=bf16", "optimizer.moments=bf16"});
  return "configs/llama3_8b.toml";
}

}  // namespace

BenchReport bench_memory_bound(const MemoryBoundOptions& options) {
  std::vector<std::string> overrides = options.set;
  const auto path = options.config.empty() ? default_config(options.device, overrides) : options.config;
  Config config = load_config(path, overrides).config;
  if (!options.device.empty()) config.runtime.device = options.device;
  if (options.threads > 0) config.runtime.threads = options.threads;
  const auto backend = make_backend(config);
  const StepOps ops = ops_of_step(config, *backend);
  MemoryBoundBench bench(*backend);
  ops.for_each([&](const auto& step_op) { bench.add(step_op); });

  BenchReport report;
  const std::int64_t tokens = config.training.batch_size * config.training.seq_len;
  report.table =
      fmt::format("{}: {}\n{}: {} tokens a micro-batch, {}\n", backend->name(), backend->device().description(),
                  printable(path.string()), tokens, config_name(config.precision.recipe));
  report.json = {{"device", backend->device().description()},
                 {"config", path.string()},
                 {"tokens", tokens},
                 {"recipe", config_name(config.precision.recipe)}};
  bench.describe(report);
  return report;
}

}  // namespace octet::cli
