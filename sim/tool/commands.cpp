#include "sim/tool/commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "core/error.h"
#include "core/thread_pool.h"
#include "sim/counters/access_counts.h"
#include "sim/detectors/checks.h"
#include "sim/launch/launch.h"
#include "sim/launch/program.h"
#include "sim/tool/buffer_contents.h"
#include "sim/tool/buffer_values.h"
#include "sim/tool/count_report.h"
#include "sim/tool/disassembly.h"
#include "sim/tool/kernel_report.h"
#include "sim/tool/launch_arguments.h"

namespace octet::sim {
namespace {

using Json = nlohmann::ordered_json;

void print(const Json& json) {
  fmt::print("{}\n", json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
}

CodeObject open(const Options& options) {
  return read_code_object(read_file(options.file), options.file);
}

int thread_count(const Options& options) {
  if (options.threads > 0) return options.threads;
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

/// Which notes what is written, if anything is to be checked.
Memory memory_for(const Options& options) {
  Memory memory;
  if (!options.check.empty()) memory.track_writes();
  return memory;
}

/// A kernel with its buffers, ready to run.
class Run {
 public:
  explicit Run(const Options& options)
      : memory_(memory_for(options)),
        program_(open(options), memory_),
        kernel_(program_.object().kernel(options.kernel)),
        arguments_(parse_arguments(kernel_, options.arguments, memory_)),
        config_{parse_extent(options.grid, "--grid"), parse_extent(options.block, "--block"), options.dynamic_lds},
        pool_(thread_count(options)) {
    for (const std::string& word : options.values) values_.push_back(parse_value_request(word, arguments_));
    if (!options.check.empty()) checks_.emplace(program_, memory_, pool_.threads(), options.check);
  }

  [[nodiscard]] const Program& program() const { return program_; }
  [[nodiscard]] const Kernel& kernel() const { return kernel_; }
  [[nodiscard]] const LaunchConfig& config() const { return config_; }
  [[nodiscard]] int threads() const { return pool_.threads(); }

  /// With the counter, if there is one, and what --check asks for watching; then writes the buffers that go to files.
  LaunchResult launch(const AccessCounter* counter);

  [[nodiscard]] std::string values_text() const;
  /// Of each value request; an empty array without any.
  [[nodiscard]] Json values_json() const;

 private:
  Memory memory_;
  Program program_;
  const Kernel& kernel_;
  LaunchArguments arguments_;
  LaunchConfig config_;
  ThreadPool pool_;
  std::vector<ValueRequest> values_;
  std::optional<Checks> checks_;
};

LaunchResult Run::launch(const AccessCounter* counter) {
  std::vector<std::vector<AccessListener*>> watchers;  // each with a listener for each thread
  if (counter != nullptr) watchers.push_back(counter->listeners());
  if (checks_) watchers.push_back(checks_->listeners());
  std::vector<Broadcast> broadcasts;
  for (std::size_t thread = 0; !watchers.empty() && thread < static_cast<std::size_t>(threads()); ++thread) {
    std::vector<AccessListener*> of_thread;
    for (const auto& listeners : watchers) of_thread.push_back(listeners[thread]);
    broadcasts.emplace_back(std::move(of_thread));
  }
  std::vector<AccessListener*> listeners;
  for (Broadcast& broadcast : broadcasts) listeners.push_back(&broadcast);
  LaunchResult result = sim::launch(program_, kernel_.name, config_, arguments_.packed, memory_, pool_, listeners);
  for (const ArgumentBuffer& buffer : arguments_.buffers) {
    if (!buffer.output) continue;
    std::ofstream file(*buffer.output, std::ios::binary);
    file.write(reinterpret_cast<const char*>(memory_.translate(buffer.address, buffer.size)),
               static_cast<std::streamsize>(buffer.size));
    if (!file.flush()) throw UserError("{}: cannot be written: give another path", buffer.output->string());
  }
  return result;
}

std::string Run::values_text() const {
  std::string text;
  for (const ValueRequest& request : values_) {
    text += sim::values_text(request, buffer_values(request, memory_));
  }
  return text;
}

Json Run::values_json() const {
  Json printed = nlohmann::json::array();
  for (const ValueRequest& request : values_) {
    printed.push_back(
        {{"argument", request.buffer->argument}, {"type", request.type}, {"values", buffer_values(request, memory_)}});
  }
  return printed;
}

}  // namespace

void list_kernels(const Options& options) {
  Memory memory;
  const Program program(open(options), memory);
  Json kernels = nlohmann::json::array();
  for (const auto& [name, kernel] : program.object().kernels) {
    if (options.json) kernels.push_back(kernel_json(program, kernel));
    if (!options.json) fmt::print("{}", kernel_text(program, kernel));
  }
  if (options.json) print({{"version", 1}, {"file", options.file}, {"kernels", std::move(kernels)}});
}

void disassemble(const Options& options) {
  Memory memory;
  const Program program(open(options), memory);
  const Kernel* kernel = options.kernel.empty() ? nullptr : &program.object().kernel(options.kernel);
  if (!options.json) return fmt::print("{}", disassembly_text(program, kernel));
  print({{"version", 1}, {"file", options.file}, {"instructions", disassembly_json(program, kernel)}});
}

void run_kernel(const Options& options) {
  Run run(options);
  const LaunchResult result = run.launch(nullptr);
  if (!options.json) {
    fmt::print("{}: {}: {} instructions\n{}", run.kernel().name, launch_text(run.config()), result.total(),
               run.values_text());
    return;
  }
  print({{"version", 1},
         {"kernel", run.kernel().name},
         {"processor", processor(run.program().object().generation)},
         {"launch", launch_json(run.config())},
         {"instructions", result.total()},
         {"printed", run.values_json()}});
}

void count_kernel(const Options& options) {
  Run run(options);
  const AccessCounter counter(run.program(), run.threads());
  LaunchCounts counts{run.program(), run.kernel(), run.config(), run.launch(&counter), counter.by_instruction(), {}};
  if (options.elements > 0) counts.elements = options.elements;
  if (!options.json) return fmt::print("{}{}", counts_text(counts), run.values_text());
  Json json = counts_json(counts);
  json["printed"] = run.values_json();
  print(json);
}

}  // namespace octet::sim
