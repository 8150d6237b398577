// The commands of cdna-sim, with what the command line says. Each throws UserError for a mistake of the user, Failure
// for a fault of the kernel.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace octet::sim {

struct Options {
  std::string file;
  std::string kernel;
  std::string grid = "1";
  std::string block = "64";
  std::uint32_t dynamic_lds = 0;
  std::vector<std::string> arguments;
  std::vector<std::string> values;  ///< to print after the run
  std::uint64_t elements = 0;       ///< 0: no shares of them
  int threads = 0;                  ///< 0: one for each processor
  std::string check;                ///< names of detectors
  bool json = false;
};

void list_kernels(const Options& options);
void disassemble(const Options& options);  ///< all of the code where no kernel is named
void run_kernel(const Options& options);
void count_kernel(const Options& options);

}  // namespace octet::sim
