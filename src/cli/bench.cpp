// octet bench quantize|gemm|attention|moe|step|loader: measures a device; every table also as JSON.
#include "cli/bench.h"

#include <fmt/format.h>

#include <memory>
#include <optional>

#include "cli/bench_moe.h"
#include "cli/bench_moe_layer.h"
#include "cli/bench_quantize.h"
#include "cli/commands.h"
#include "core/error.h"

namespace octet::cli {
namespace {

/// What every measurement is told.
struct Command {
  DeviceBenchOptions device;
  bool json = false;
};

void print(const BenchReport& report, bool json) {
  fmt::print("{}\n", json ? report.json.dump(2) : report.table);
}

/// A command that measures a model's step, and its options for that.
CLI::App* add_command(CLI::App& bench, const char* name, const char* help, Command& command) {
  CLI::App* added = bench.add_subcommand(name, help);
  DeviceBenchOptions& options = command.device;
  added->add_option("config", options.config,
                    "TOML file (default configs/llama3_quickstart.toml, with --device cuda llama3_8b.toml)");
  added->add_option("--device", options.device, "cpu, cuda, cuda:N, hip or hip:N (default: the configuration's)");
  added->add_option("--set", options.set, "Override one key (repeatable)")->take_all()->allow_extra_args(false);
  added->add_flag("--json", command.json, "Print JSON");
  return added;
}

struct QuantizeCommand : Command {
  std::optional<std::int64_t> rows, cols;
};

/// Casts of one matrix, on the CPU or on a device, or, with a configuration or a device alone, every memory-bound op of
/// a step.
BenchReport measure(const QuantizeCommand& command) {
  DeviceBenchOptions options = command.device;
  if (options.device.empty() && options.config.empty() && options.set.empty()) {
    QuantizeBenchOptions matrix{.threads = options.threads};
    matrix.rows = command.rows.value_or(matrix.rows);
    matrix.cols = command.cols.value_or(matrix.cols);
    return bench_quantize(matrix);
  }
  if (command.cols) {
    if (!options.config.empty() || !options.set.empty()) {
      throw UserError("bench quantize: --cols is of one matrix: a model's widths are set by --set");
    }
    return bench_casts(options, command.rows.value_or(QuantizeBenchOptions{}.rows), *command.cols);
  }
  if (command.rows) {
    options.set.push_back("training.batch_size=1");
    options.set.push_back(fmt::format("training.seq_len={}", *command.rows));
  }
  return bench_memory_bound(options);
}

void add_quantize(CLI::App& bench) {
  auto command = std::make_shared<QuantizeCommand>();
  CLI::App* added = add_command(
      bench, "quantize",
      "FP8 casts on the CPU, or every memory-bound op of a step on a device, beside a copy of memory", *command);
  added->add_option("--rows", command->rows, "Rows of the matrix (default 16384); tokens of a step");
  added->add_option("--cols", command->cols, "Columns of the matrix (default 4096); with a device: its casts alone");
  added->add_option("--threads", command->device.threads, "Threads of the CPU, 0 = all cores");
  added->callback([command] { print(measure(*command), command->json); });
}

void add_gemm(CLI::App& bench) {
  auto command = std::make_shared<Command>();
  add_command(bench, "gemm", "The products of a training step beside the best rate of this machine", *command)
      ->callback([command] { print(bench_gemm(command->device), command->json); });
}

struct AttentionCommand : Command {
  std::vector<std::int64_t> lengths;
  std::int64_t document_length = 0;
};

void add_attention(CLI::App& bench) {
  auto command = std::make_shared<AttentionCommand>();
  CLI::App* added =
      add_command(bench, "attention", "Both directions of attention, by all who can compute it", *command);
  added->add_option("--seq", command->lengths, "Tokens of a sequence (repeatable; default the configuration's)")
      ->take_all()
      ->allow_extra_args(false)
      ->check(CLI::PositiveNumber);
  added
      ->add_option("--document", command->document_length,
                   "Tokens of each document packed into a sequence (default one document each)")
      ->check(CLI::PositiveNumber);
  added->callback([command] {
    print(bench_attention(command->device, command->lengths, command->document_length), command->json);
  });
}

struct MoeCommand {
  MoeBenchOptions options;
  bool layer = false;
  bool json = false;
};

BenchReport measure(const MoeCommand& command) {
  return command.layer ? bench_moe_layer(command.options) : bench_moe(command.options);
}

void add_moe(CLI::App& bench) {
  auto command = std::make_shared<MoeCommand>();
  MoeBenchOptions& options = command->options;
  CLI::App* added =
      bench.add_subcommand("moe", "The experts of a mixture of experts, forward and backward, in FP8 and bf16");
  added->add_option("--device", options.device, "cpu, cuda, cuda:N, hip or hip:N (default cuda)");
  added->add_option("--experts", options.experts, "Experts (default 32)")->check(CLI::PositiveNumber);
  added->add_option("--rows", options.rows, "Routed rows of all experts (default 32768)")->check(CLI::PositiveNumber);
  added->add_option("--dim", options.dim, "Model dim (default 7168)")->check(CLI::PositiveNumber);
  added->add_option("--ffn-dim", options.ffn_dim, "Feed-forward dim of an expert (default 2048)")
      ->check(CLI::PositiveNumber);
  const auto accumulate = [command](const std::string& name) {
    command->options.accumulation = name == "full" ? fp8::Accumulation::full : fp8::Accumulation::fast;
  };
  added->add_option_function<std::string>("--accumulation", accumulate, "Of FP8 products: fast or full (default fast)")
      ->check(CLI::IsMember({"fast", "full"}));
  added->add_flag("--layer", command->layer, "Time a whole layer instead: with router, permutation and shared expert");
  added->add_option("--top-k", options.top_k, "With --layer: experts of a token (default 8)")
      ->check(CLI::PositiveNumber);
  added->add_option("--shared-experts", options.shared_experts, "With --layer: experts of every token (default 1)")
      ->check(CLI::NonNegativeNumber);
  added->add_flag("--json", command->json, "Print JSON");
  added->callback([command] { print(measure(*command), command->json); });
}

struct StepCommand : Command {
  StepBenchOptions step;
};

void add_step(CLI::App& bench) {
  auto command = std::make_shared<StepCommand>();
  CLI::App* added = add_command(bench, "step", "Whole steps in bf16 and FP8, and where their time goes", *command);
  added->add_option("--steps", command->step.steps, "Steps to time (default 20)")->check(CLI::PositiveNumber);
  added->add_flag("--tune", command->step.tune, "First find the fastest way of each product on a GPU, and print it");
  added->add_flag("!--whole", command->step.ops, "On a GPU: time steps alone, without the marks between ops");
  added->callback([command] { print(bench_step(command->device, command->step), command->json); });
}

struct LoaderCommand {
  std::string config;
  std::vector<std::string> set;
  LoaderBenchOptions options;
  bool json = false;
};

void add_loader(CLI::App& bench) {
  auto command = std::make_shared<LoaderCommand>();
  CLI::App* added = bench.add_subcommand("loader", "Batches of a configuration's training data");
  added->add_option("config", command->config, "TOML file")->required();
  added->add_option("--set", command->set, "Override one key (repeatable)")->take_all()->allow_extra_args(false);
  added->add_option("--batches", command->options.batches, "Batches to time (default 100)")->check(CLI::PositiveNumber);
  added->add_option("--step-ms", command->options.step_ms, "Milliseconds of a step that takes batches (default 10)")
      ->check(CLI::Range(0.0, 1e4));
  added->add_flag("--json", command->json, "Print JSON");
  added->callback([command] {
    print(bench_loader(load_config(command->config, command->set).config, command->options), command->json);
  });
}

}  // namespace

void add_bench(CLI::App& app) {
  CLI::App* bench =
      app.add_subcommand("bench", "Measure casts, matrix products, attention, experts, whole steps or the loader");
  bench->require_subcommand(1);
  add_quantize(*bench);
  add_gemm(*bench);
  add_attention(*bench);
  add_moe(*bench);
  add_step(*bench);
  add_loader(*bench);
}

}  // namespace octet::cli
