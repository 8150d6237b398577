#include "cli/bench_device.h"

#include <fmt/format.h>

#include "io/text.h"
#include "train/model_setup.h"

namespace octet::cli {
namespace {

/// The file that stands in for none: one GPU trains Llama 3 8B with its states in bf16.
std::filesystem::path default_config(const std::string& device, std::vector<std::string>& overrides) {
  if (device.empty() || device == "cpu") return "configs/llama3_quickstart.toml";
  overrides.insert(overrides.begin(), {"optimizer.parameters=bf16", "optimizer.moments=bf16"});
  return "configs/llama3_8b.toml";
}

}  // namespace

BenchReport DeviceBench::begin_report() const {
  const std::int64_t tokens = config.training.batch_size * config.training.seq_len;
  BenchReport report;
  report.table =
      fmt::format("{}: {}\n{}: {} tokens a micro-batch, {}\n", backend->name(), backend->device().description(),
                  printable(path.string()), tokens, config_name(config.precision.recipe));
  report.json = {{"device", backend->device().description()},
                 {"config", path.string()},
                 {"tokens", tokens},
                 {"recipe", config_name(config.precision.recipe)}};
  return report;
}

DeviceBench open_bench(const DeviceBenchOptions& options) {
  std::vector<std::string> overrides = options.set;
  DeviceBench bench;
  bench.path = options.config.empty() ? default_config(options.device, overrides) : options.config;
  bench.config = load_config(bench.path, overrides).config;
  if (!options.device.empty()) bench.config.runtime.device = options.device;
  if (options.threads > 0) bench.config.runtime.threads = options.threads;
  bench.backend = make_backend(bench.config);
  return bench;
}

}  // namespace octet::cli
