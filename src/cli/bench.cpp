// octet bench quantize|gemm|step: measures this machine; every table also as JSON.
#include "cli/bench.h"

#include <fmt/format.h>

#include <functional>
#include <memory>
#include <optional>

#include "cli/bench_quantize.h"
#include "cli/commands.h"
#include "core/error.h"

namespace octet::cli {
namespace {

struct BenchOptions {
  std::filesystem::path config = "configs/llama3_quickstart.toml";
  std::vector<std::string> set;
  StepBenchOptions step;
  bool json = false;
};

void print(const BenchReport& report, bool json) {
  fmt::print("{}\n", json ? report.json.dump(2) : report.table);
}

CLI::App* add_model_bench(CLI::App& bench, const char* name, const char* help,
                          const std::shared_ptr<BenchOptions>& options,
                          const std::function<BenchReport(const BenchOptions&)>& measure) {
  CLI::App* command = bench.add_subcommand(name, help);
  command->add_option("config", options->config, "TOML file (default configs/llama3_quickstart.toml)");
  command->add_option("--set", options->set, "Override one key (repeatable)")->take_all()->allow_extra_args(false);
  command->add_flag("--json", options->json, "Print JSON");
  command->callback([options, measure] { print(measure(*options), options->json); });
  return command;
}

struct QuantizeCommand {
  std::string device;
  std::filesystem::path config;
  std::vector<std::string> set;
  std::optional<std::int64_t> rows, cols;
  int threads = 0;
  bool json = false;
};

/// Casts of one matrix on the CPU, or, with a device or a configuration, every memory-bound op of a step.
BenchReport measure(const QuantizeCommand& command) {
  if (command.device.empty() && command.config.empty() && command.set.empty()) {
    QuantizeBenchOptions options{.threads = command.threads};
    options.rows = command.rows.value_or(options.rows);
    options.cols = command.cols.value_or(options.cols);
    return bench_quantize(options);
  }
  if (command.cols) {
    throw UserError("bench quantize: --cols is of the matrix that the CPU casts: a model's widths are set by --set");
  }
  MemoryBoundOptions options{command.device, command.config, command.set, command.threads};
  if (command.rows) {
    options.set.push_back("training.batch_size=1");
    options.set.push_back(fmt::format("training.seq_len={}", *command.rows));
  }
  return bench_memory_bound(options);
}

void add_quantize_bench(CLI::App& bench) {
  auto options = std::make_shared<QuantizeCommand>();
  CLI::App* command = bench.add_subcommand(
      "quantize", "FP8 casts on the CPU, or every memory-bound op of a step on a device, beside a copy of memory");
  command->add_option("config", options->config, "TOML file whose step's ops are measured");
  command->add_option("--device", options->device, "cpu, cuda or cuda:N: measure the ops of a step there");
  command->add_option("--set", options->set, "Override one key (repeatable)")->take_all()->allow_extra_args(false);
  command->add_option("--rows", options->rows, "Rows of the matrix (default 16384); tokens of a step");
  command->add_option("--cols", options->cols, "Columns of the matrix (default 4096)");
  command->add_option("--threads", options->threads, "Threads of the CPU, 0 = all cores");
  command->add_flag("--json", options->json, "Print JSON");
  command->callback([options] { print(measure(*options), options->json); });
}

}  // namespace

void add_bench(CLI::App& app) {
  auto options = std::make_shared<BenchOptions>();
  CLI::App* bench = app.add_subcommand("bench", "Measure casts, matrix products or whole steps on this machine");
  bench->require_subcommand(1);
  add_quantize_bench(*bench);
  add_model_bench(*bench, "gemm", "The products of a training step beside the best rate of this machine", options,
                  [](const BenchOptions& o) { return bench_gemm(o.config, o.set); });
  CLI::App* step = add_model_bench(*bench, "step", "Whole steps in bf16 and FP8, and where their time goes", options,
                                   [](const BenchOptions& o) { return bench_step(o.config, o.set, o.step); });
  step->add_option("--steps", options->step.steps, "Steps to time (default 20)")->check(CLI::PositiveNumber);
  step->add_flag("--tune", options->step.tune, "First find the fastest way of each product on a GPU, and print it");
  step->add_flag("!--whole", options->step.ops, "On a GPU: time steps alone, without the marks between ops");
}

}  // namespace octet::cli
