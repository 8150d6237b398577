// cdna-sim: runs kernels of a code object on the CPU, counts what they execute, disassembles. A user's mistake is one
// line and exit code 2; a failure, such as a fault of the kernel, is one line and exit code 1.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/error.h"
#include "core/thread_pool.h"
#include "sim/counters/traffic.h"
#include "sim/detectors/checks.h"
#include "sim/launch/launch.h"
#include "sim/launch/program.h"
#include "sim/tool/launch_arguments.h"
#include "sim/tool/report.h"

namespace {

using namespace octet;
using namespace octet::sim;

struct Options {
  std::string file;
  std::string kernel;
  std::string grid = "1";
  std::string block = "64";
  std::uint32_t dynamic_lds = 0;
  std::vector<std::string> arguments;
  int threads = 0;
  bool traffic = false;
  std::string check;  // names of detectors
  bool json = false;
};

void print(const nlohmann::ordered_json& json) {
  fmt::print("{}\n", json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
}

CodeObject open(const Options& options) {
  return read_code_object(read_file(options.file), options.file);
}

void list_kernels(const Options& options) {
  Memory memory;
  const Program program(open(options), memory);
  nlohmann::ordered_json kernels = nlohmann::json::array();
  for (const auto& [name, kernel] : program.object().kernels) {
    if (options.json) kernels.push_back(kernel_json(program, kernel));
    if (!options.json) fmt::print("{}", kernel_text(program, kernel));
  }
  if (options.json) print(kernels);
}

void disassemble(const Options& options) {
  Memory memory;
  const Program program(open(options), memory);
  if (options.json) return print(disassembly_json(program));
  fmt::print("{}", disassembly_text(program));
}

void run_kernel(const Options& options) {
  Memory memory;
  if (!options.check.empty()) memory.track_writes();
  const Program program(open(options), memory);
  const Kernel& kernel = program.object().kernel(options.kernel);
  const LaunchArguments arguments = parse_arguments(kernel, options.arguments, memory);
  const LaunchConfig config{parse_extent(options.grid, "--grid"), parse_extent(options.block, "--block"),
                            options.dynamic_lds};
  const int processors = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  ThreadPool pool(options.threads > 0 ? options.threads : processors);
  const TrafficCounter counter(program.instructions().size(), pool.threads());
  std::optional<Checks> checks;
  if (!options.check.empty()) checks.emplace(program, memory, pool.threads(), options.check);
  std::vector<Broadcast> broadcasts;
  for (std::size_t thread = 0; thread < static_cast<std::size_t>(pool.threads()); ++thread) {
    std::vector<AccessListener*> of_thread;
    if (options.traffic) of_thread.push_back(counter.listeners()[thread]);
    if (checks) of_thread.push_back(checks->listeners()[thread]);
    broadcasts.emplace_back(std::move(of_thread));
  }
  std::vector<AccessListener*> listeners;
  for (Broadcast& broadcast : broadcasts) {
    if (options.traffic || checks) listeners.push_back(&broadcast);
  }
  const LaunchResult result = launch(program, options.kernel, config, arguments.packed, memory, pool, listeners);
  for (const ArgumentBuffer& buffer : arguments.buffers) {
    if (!buffer.output) continue;
    std::ofstream file(*buffer.output, std::ios::binary);
    file.write(reinterpret_cast<const char*>(memory.translate(buffer.address, buffer.size)),
               static_cast<std::streamsize>(buffer.size));
    if (!file.flush()) throw UserError("{}: cannot be written: give another path", buffer.output->string());
  }
  const InstructionCounts counts = count_instructions(program, result);
  if (!options.json) {
    fmt::print("{}{}", kernel_text(program, kernel), counts_text(counts));
    if (options.traffic) fmt::print("{}", traffic_text(program, counter.by_instruction()));
    return;
  }
  nlohmann::ordered_json json = kernel_json(program, kernel);
  json["counts"] = counts_json(counts);
  if (options.traffic) json["traffic"] = traffic_json(program, counter.by_instruction());
  print(json);
}

void add_commands(CLI::App& app, Options& options) {
  app.require_subcommand(1);
  const auto add = [&](const char* name, const char* help) {
    CLI::App* command = app.add_subcommand(name, help);
    command->add_option("file", options.file, "Code object for gfx942 or gfx950")->required();
    command->add_flag("--json", options.json, "Print JSON");
    return command;
  };
  add("kernels", "List kernels: registers, memory, arguments, what is not implemented")->callback([&] {
    list_kernels(options);
  });
  add("disasm", "Disassemble, and mark what is not implemented")->callback([&] { disassemble(options); });
  CLI::App* run = add("run", "Run a kernel and count what it executes");
  run->add_option("kernel", options.kernel, "Kernel to run")->required();
  run->add_option("--grid", options.grid, "Workgroups: x, x,y or x,y,z (default 1)");
  run->add_option("--block", options.block, "Lanes of a workgroup: x, x,y or x,y,z (default 64)");
  run->add_option("--lds", options.dynamic_lds, "Bytes of LDS beyond the kernel's own (default 0)");
  run->add_option("--threads", options.threads, "Threads (default: one for each processor)")
      ->check(CLI::Range(1, 4096));
  run->add_option("--arg", options.arguments,
                  "An argument, in order: i32= u32= i64= u64= f32=VALUE, zeros=BYTES, bytes=BYTES (counting), "
                  "unwritten=BYTES, file=PATH; a buffer may end in >PATH, where it is written after the run")
      ->allow_extra_args(false);
  run->add_flag("--traffic", options.traffic, "Count what each instruction moves of global memory");
  run->add_flag("--check{all}", options.check,
                "Stop where a detector finds a fault; --check=NAME,... for single ones: misaligned, uninitialised, "
                "read-only, lds-races, workgroup-races, barriers");
  run->callback([&] { run_kernel(options); });
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Executes kernels for AMD's CDNA3 and CDNA4 on a CPU");
  Options options;
  add_commands(app, options);
  try {
    app.parse(argc, argv);
    return 0;
  } catch (const CLI::CallForHelp& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    fmt::print(stderr, "cdna-sim: {}\n", error.what());
    return 2;
  } catch (const UserError& error) {
    fmt::print(stderr, "cdna-sim: {}\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    fmt::print(stderr, "cdna-sim: {}\n", error.what());
    return 1;
  }
}
