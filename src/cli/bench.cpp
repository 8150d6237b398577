// octet bench quantize|gemm|step: measures this machine; every table also as JSON.
#include "cli/bench.h"

#include <fmt/format.h>

#include <functional>
#include <memory>

#include "cli/bench_quantize.h"
#include "cli/commands.h"

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

}  // namespace

void add_bench(CLI::App& app) {
  auto options = std::make_shared<BenchOptions>();
  CLI::App* bench = app.add_subcommand("bench", "Measure casts, matrix products or whole steps on this machine");
  bench->require_subcommand(1);
  auto quantize = std::make_shared<QuantizeBenchOptions>();
  CLI::App* command = bench->add_subcommand("quantize", "FP8 casts, fused and pass by pass, beside a copy of memory");
  command->add_option("--rows", quantize->rows, "Rows of the matrix (default 16384)");
  command->add_option("--cols", quantize->cols, "Columns of the matrix (default 4096)");
  command->add_option("--threads", quantize->threads, "Threads, 0 = all cores");
  command->add_flag("--json", options->json, "Print JSON");
  command->callback([quantize, options] { print(bench_quantize(*quantize), options->json); });
  add_model_bench(*bench, "gemm", "The products of a training step beside the best rate of this machine", options,
                  [](const BenchOptions& o) { return bench_gemm(o.config, o.set); });
  CLI::App* step = add_model_bench(*bench, "step", "Whole steps in bf16 and FP8, and where their time goes", options,
                                   [](const BenchOptions& o) { return bench_step(o.config, o.set, o.step); });
  step->add_option("--steps", options->step.steps, "Steps to time (default 20)")->check(CLI::PositiveNumber);
  step->add_flag("--tune", options->step.tune, "First find the fastest way of each product on a GPU, and print it");
  step->add_flag("!--whole", options->step.ops, "On a GPU: time steps alone, without the marks between ops");
}

}  // namespace octet::cli
