// octet bench quantize on a device: every memory-bound op of a training step at a model's shapes, beside a copy.
#include <fmt/format.h>

#include "cli/bench.h"
#include "cli/bench_device.h"
#include "cli/op_timer.h"
#include "cli/step_ops.h"

namespace octet::cli {
namespace {

/// What an op should reach of a copy's speed.
constexpr double kBudget = 0.85;
/// An op that moves less than this part of a device's cache is over before it is under way: its time is a launch's.
constexpr double kLeastOverCache = 1.0 / 32;

/// Neither products nor attention, and part of a training step.
template <typename Op>
inline constexpr bool kIsMemoryBound = !requires(Op op) {
  op.k;
}
&&!requires(Op op) {
  op.shape;
}
&&requires(Operands operands, Op op) {
  operands.bind(op);
};

struct MeasuredOp {
  std::string_view op;
  std::string text;
  std::int64_t calls;  ///< of a step
  double bytes;
  TimedOp timed;

  [[nodiscard]] double seconds() const { return timed.seconds.median; }
  [[nodiscard]] double rate() const { return bytes / seconds(); }
};

class MemoryBoundBench {
 public:
  explicit MemoryBoundBench(const ops::Backend& backend)
      : timer_(backend), copy_rate_(timer_.copy_rate()), fill_rate_(timer_.fill_rate()) {}

  template <typename Op>
  void add(const StepOp<Op>& step_op) {
    if constexpr (kIsMemoryBound<Op>) {
      if (step_op.op.bytes() < least_bytes()) {
        left_out_calls_ += step_op.calls;
      } else {
        rows_.push_back({Op::name, step_op.text, step_op.calls, step_op.op.bytes(), timer_.time(step_op.op)});
      }
    }
  }

  /// Adds what was measured so far.
  void describe(BenchReport& report) const;

 private:
  [[nodiscard]] double least_bytes() const { return kLeastOverCache * timer_.cache_bytes(); }
  [[nodiscard]] std::string header() const;

  OpTimer timer_;
  double copy_rate_;
  double fill_rate_;
  std::vector<MeasuredOp> rows_;
  std::int64_t left_out_calls_ = 0;
};

std::string MemoryBoundBench::header() const {
  const std::int64_t mebibytes = timer_.ceiling_bytes() >> 20;
  std::string header = fmt::format("a copy of {} MiB reads and writes {:.1f} GB/s, clearing them writes {:.1f} GB/s\n",
                                   mebibytes, copy_rate_ / 1e9, fill_rate_ / 1e9);
  if (timer_.cache_bytes() > 0) {
    header += fmt::format(
        "operands lie in so many places that {:.0f} times the cache of {:.0f} MiB move between two "
        "visits\n{} calls a step move less than {:.1f} MB and are left out\n",
        OpTimer::kMovedOverCache, timer_.cache_bytes() / (1 << 20), left_out_calls_, least_bytes() / 1e6);
  }
  return header + fmt::format("{:<19} {:>6} {:>10} {:>10} {:>9} {:>8}\n", "op", "calls", "MB", "us", "GB/s", "of copy");
}

void MemoryBoundBench::describe(BenchReport& report) const {
  double seconds = 0;
  double bytes = 0;
  int below = 0;
  nlohmann::ordered_json ops = nlohmann::ordered_json::array();
  report.table += header();
  for (const MeasuredOp& row : rows_) {
    const double share = row.rate() / copy_rate_;
    const bool slow = share < kBudget;
    below += slow ? 1 : 0;
    seconds += row.seconds() * static_cast<double>(row.calls);
    bytes += row.bytes * static_cast<double>(row.calls);
    report.table +=
        fmt::format("{:<19} {:>6} {:>10.2f} {:>10.1f} {:>9.1f} {:>7.0f}%{} {}\n", row.op, row.calls, row.bytes / 1e6,
                    row.seconds() * 1e6, row.rate() / 1e9, 100 * share, slow ? '*' : ' ', row.text);
    ops.push_back({{"op", row.op},
                   {"what", row.text},
                   {"calls_per_step", row.calls},
                   {"bytes", row.bytes},
                   {"places", row.timed.places},
                   {"seconds", row.seconds()},
                   {"fastest_seconds", row.timed.seconds.fastest},
                   {"slowest_seconds", row.timed.seconds.slowest},
                   {"bytes_per_second", row.rate()},
                   {"share_of_copy", share},
                   {"below_budget", slow}});
  }
  const double share = bytes / seconds / copy_rate_;
  report.table += fmt::format("all calls of a step: {:.2f} ms, {:.1f} GB/s, {:.0f} % of a copy\n", seconds * 1e3,
                              bytes / seconds / 1e9, 100 * share);
  report.table += fmt::format("{} of {} rows are below {:.0f} % of a copy (*)\n", below, rows_.size(), 100 * kBudget);
  report.json.update({{"cache_bytes", timer_.cache_bytes()},
                      {"moved_over_cache", OpTimer::kMovedOverCache},
                      {"ceiling_bytes", timer_.ceiling_bytes()},
                      {"copy_bytes_per_second", copy_rate_},
                      {"fill_bytes_per_second", fill_rate_},
                      {"budget_share_of_copy", kBudget},
                      {"left_out_calls_per_step", left_out_calls_},
                      {"seconds_per_step", seconds},
                      {"bytes_per_step", bytes},
                      {"share_of_copy", share},
                      {"ops", std::move(ops)}});
}

}  // namespace

BenchReport bench_memory_bound(const DeviceBenchOptions& options) {
  const DeviceBench bench = open_bench(options);
  const StepOps of_step = ops_of_step(bench.config, *bench.backend);
  MemoryBoundBench rows(*bench.backend);
  of_step.for_each([&](const auto& step_op) { rows.add(step_op); });
  BenchReport report = bench.begin_report();
  rows.describe(report);
  return report;
}

}  // namespace octet::cli
