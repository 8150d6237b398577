// cdna-sim: runs kernels of a code object on the CPU, counts what they execute, disassembles. A user's mistake is one
// line and exit code 2; a failure, such as a fault of the kernel, is one line and exit code 1.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>

#include "core/error.h"
#include "sim/tool/commands.h"

namespace {

using octet::sim::Options;

CLI::App* add_command(CLI::App& app, Options& options, const char* name, const char* help,
                      void (*command)(const Options&)) {
  CLI::App* added = app.add_subcommand(name, help);
  added->add_option("file", options.file, "Code object for gfx942 or gfx950")->required();
  added->add_flag("--json", options.json, "Print JSON");
  added->callback([&options, command] { command(options); });
  return added;
}

void add_launch_options(CLI::App& command, Options& options) {
  command.add_option("kernel", options.kernel, "Kernel to run")->required();
  command.add_option("--grid", options.grid, "Workgroups: x, x,y or x,y,z (default 1)");
  command.add_option("--block", options.block, "Lanes of a workgroup: x, x,y or x,y,z (default 64)");
  command.add_option("--lds", options.dynamic_lds, "Bytes of LDS beyond the kernel's own (default 0)");
  command.add_option("--threads", options.threads, "Threads (default: one for each processor)")
      ->check(CLI::Range(1, 4096));
  command
      .add_option("--arg", options.arguments,
                  "An argument, once for each in their order: a value,\n"
                  "  u8= u16= u32= u64= i8= i16= i32= i64= f32= f64=\n"
                  "or a buffer, whose word may end in >PATH, where it is written after the run:\n"
                  "  zeros=BYTES, bytes=BYTES (0 to 255, again and again), range=COUNT (u32 from 0),\n"
                  "  random=BYTES:SEED, floats=COUNT:SEED and bf16=COUNT:SEED (normal), file=PATH,\n"
                  "  unwritten=BYTES (to be written before it is read, which --check looks after)")
      ->allow_extra_args(false);
  command
      .add_option("--print", options.values,
                  "ARGUMENT:TYPE:COUNT: print the first values of a buffer after the run;\n"
                  "2:f32:8 is 8 floats of argument 2, counting from 0")
      ->allow_extra_args(false);
  command.add_flag("--check{all}", options.check,
                   "Stop where a detector finds a fault; --check=NAME,... for single ones:\n"
                   "  misaligned, uninitialised, read-only, lds-races, workgroup-races, barriers");
}

void add_commands(CLI::App& app, Options& options) {
  app.require_subcommand(1);
  add_command(app, options, "kernels",
              "List kernels: registers, memory, arguments, occupancy, what their code holds, what is not implemented",
              octet::sim::list_kernels);
  CLI::App* disasm =
      add_command(app, options, "disasm", "Disassemble, and mark what is not implemented", octet::sim::disassemble);
  disasm->add_option("--kernel", options.kernel, "Only this kernel");
  CLI::App* run = add_command(app, options, "run", "Run a kernel", octet::sim::run_kernel);
  add_launch_options(*run, options);
  CLI::App* count = add_command(app, options, "count",
                                "Run a kernel and count: instructions, matrix operations, traffic of global memory, "
                                "bank conflicts of LDS, occupancy",
                                octet::sim::count_kernel);
  add_launch_options(*count, options);
  count->add_option("--elements", options.elements, "Print also what there is for each of so many elements")
      ->check(CLI::PositiveNumber);
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
  } catch (const octet::UserError& error) {
    fmt::print(stderr, "cdna-sim: {}\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    fmt::print(stderr, "cdna-sim: {}\n", error.what());
    return 1;
  }
}
