// octet bench quantize on a device: every memory-bound op of a training step at a model's shapes, beside a copy.
#include <fmt/format.h>

#include <algorithm>

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
  double equal_copy_rate;  ///< of a copy that moves as many bytes

  [[nodiscard]] double seconds() const { return timed.seconds.median; }
  [[nodiscard]] double rate() const { return bytes / seconds(); }
  [[nodiscard]] double equal_copy_seconds() const { return bytes / equal_copy_rate; }
  [[nodiscard]] double share_of_equal_copy() const { return rate() / equal_copy_rate; }
};

bool is_slow(double share_of_copy) {
  return share_of_copy < kBudget;
}

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
        const double bytes = step_op.op.bytes();
        rows_.push_back(
            {Op::name, step_op.text, step_op.calls, bytes, timer_.time(step_op.op), equal_copy_rate(bytes)});
      }
    }
  }

  /// Adds what was measured so far.
  void describe(BenchReport& report) const;

 private:
  [[nodiscard]] double least_bytes() const { return kLeastOverCache * timer_.cache_bytes(); }
  /// Bytes a second of a copy that moves as many bytes as an op, in whole lines; at most what the ceiling's moves.
  [[nodiscard]] double equal_copy_rate(double bytes) {
    constexpr std::int64_t kLine = 256;
    const std::int64_t size = std::max(kLine, static_cast<std::int64_t>(bytes / 2) / kLine * kLine);
    return size < timer_.ceiling_bytes() ? timer_.copy_rate(size) : copy_rate_;
  }
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
  return header + fmt::format("{:<19} {:>6} {:>10} {:>10} {:>9} {:>8} {:>9}\n", "op", "calls", "MB", "us", "GB/s",
                              "of copy", "of equal");
}

void MemoryBoundBench::describe(BenchReport& report) const {
  double seconds = 0;
  double equal_copy_seconds = 0;
  double bytes = 0;
  int below = 0;
  int below_equal = 0;
  nlohmann::ordered_json ops = nlohmann::ordered_json::array();
  report.table += header();
  for (const MeasuredOp& row : rows_) {
    const double share = row.rate() / copy_rate_;
    const bool slow = is_slow(share);
    const bool slower_than_equal = is_slow(row.share_of_equal_copy());
    below += slow ? 1 : 0;
    below_equal += slower_than_equal ? 1 : 0;
    const auto calls = static_cast<double>(row.calls);
    seconds += row.seconds() * calls;
    equal_copy_seconds += row.equal_copy_seconds() * calls;
    bytes += row.bytes * calls;
    report.table +=
        fmt::format("{:<19} {:>6} {:>10.2f} {:>10.1f} {:>9.1f} {:>7.0f}%{} {:>7.0f}%{} {}\n", row.op, row.calls,
                    row.bytes / 1e6, row.seconds() * 1e6, row.rate() / 1e9, 100 * share, slow ? '*' : ' ',
                    100 * row.share_of_equal_copy(), slower_than_equal ? '+' : ' ', row.text);
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
                   {"below_budget", slow},
                   {"equal_copy_bytes_per_second", row.equal_copy_rate},
                   {"share_of_equal_copy", row.share_of_equal_copy()},
                   {"below_budget_of_equal_copy", slower_than_equal}});
  }
  const double share = bytes / seconds / copy_rate_;
  const double share_of_equal_copies = equal_copy_seconds / seconds;
  report.table +=
      fmt::format("all calls of a step: {:.2f} ms, {:.1f} GB/s, {:.0f} % of a copy, {:.0f} % of equal copies\n",
                  seconds * 1e3, bytes / seconds / 1e9, 100 * share, 100 * share_of_equal_copies);
  report.table +=
      fmt::format("{} of {} rows are below {:.0f} % of a copy of {} MiB (*), {} of a copy as large as the call (+)\n",
                  below, rows_.size(), 100 * kBudget, timer_.ceiling_bytes() >> 20, below_equal);
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
                      {"share_of_equal_copies", share_of_equal_copies},
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
