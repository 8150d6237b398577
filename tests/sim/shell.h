// A command of the shell, for tests of the command line.
#pragma once

#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <string>

namespace octet::sim {

struct Outcome {
  int exit_code;
  std::string output;  ///< both streams
};

[[nodiscard]] inline Outcome shell(const std::string& command) {
  FILE* pipe = popen(("{ " + command + "\n} 2>&1").c_str(), "r");
  if (pipe == nullptr) return {-1, "popen failed"};
  std::string output;
  std::array<char, 4096> buffer{};
  for (std::size_t size = 0; (size = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) {
    output.append(buffer.data(), size);
  }
  const int status = pclose(pipe);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, output};
}

/// `cdna-sim` with these arguments.
[[nodiscard]] inline Outcome cdna_sim(const std::string& arguments) {
  return shell(std::string(OCTET_CDNA_SIM) + " " + arguments);
}

}  // namespace octet::sim
