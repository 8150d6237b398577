// octet bench loader: how fast batches of a configuration's data are made, and what a step waits for them.
#include <fmt/format.h>

#include <chrono>
#include <thread>

#include "cli/bench.h"
#include "core/timing.h"
#include "data/prefetcher.h"
#include "train/model_setup.h"
#include "train/training_data.h"

namespace octet::cli {
namespace {

struct Batches {
  explicit Batches(std::size_t tokens, bool documents)
      : inputs(tokens), targets(tokens), document_start(documents ? tokens : 0) {}
  [[nodiscard]] TokenBatch views() { return {inputs, targets, document_start}; }

  std::vector<std::int32_t> inputs, targets, document_start;
};

/// Median seconds of `next`, over `batches` calls with `between` after each.
template <typename Next, typename Between>
double seconds_of(int batches, const Next& next, const Between& between) {
  std::vector<double> seconds;
  for (int i = 0; i < batches; ++i) {
    const double begin = monotonic_seconds();
    next();
    seconds.push_back(monotonic_seconds() - begin);
    between();
  }
  return median(seconds);
}

}  // namespace

BenchReport bench_loader(const Config& config, const LoaderBenchOptions& options) {
  const auto tokens =
      static_cast<std::size_t>(config.training.batch_size * config.training.accumulate * config.training.seq_len);
  const bool documents = config.data.boundaries == Config::Boundaries::attention;
  Batches batch(tokens, documents);
  const auto nothing = [] {};
  Mix mix = open_training_data(config);
  const double alone = seconds_of(
      options.batches, [&] { mix.next_batch(batch.views()); }, nothing);
  Prefetcher prefetcher(open_training_data(config), tokens, documents);
  prefetcher.next_batch(batch.views());  // which nothing has prepared
  const auto step = [&] { std::this_thread::sleep_for(std::chrono::duration<double>(options.step_ms * 1e-3)); };
  step();
  const double waited = seconds_of(
      options.batches, [&] { prefetcher.next_batch(batch.views()); }, step);

  const double rate = static_cast<double>(tokens) / alone;
  BenchReport report;
  report.json = {{"tokens_per_batch", tokens},
                 {"batches", options.batches},
                 {"seconds_per_batch", alone},
                 {"tokens_per_second", rate},
                 {"step_seconds", options.step_ms * 1e-3},
                 {"seconds_waited_per_step", waited}};
  report.table = fmt::format(
      "{} tokens a batch, medians of {} batches\n"
      "{:<44} {:>10.3f} ms, {:.1f} million tokens/s\n"
      "{:<44} {:>10.3f} ms",
      tokens, options.batches, "made alone, on one thread", alone * 1e3, rate * 1e-6,
      fmt::format("a step of {} ms waits for its batch", options.step_ms), waited * 1e3);
  return report;
}

}  // namespace octet::cli
