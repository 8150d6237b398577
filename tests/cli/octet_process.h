// Runs the octet binary as a shell would: its own process, standard streams caught in files, an exit code.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace octet::test {

/// What a finished process left. `exit_code` is 128 + signal where a signal ended it.
struct Outcome {
  int exit_code = -1;
  std::string out;
  std::string err;
};

/// The binary under test: $OCTET_PROGRAM, or that of the tests' own build.
[[nodiscard]] const char* program();

/// A running octet. One that was not waited for is killed with the object.
class OctetProcess {
 public:
  /// Starts octet with `arguments` in `directory`, where the files of its streams go too. `prepare` runs in the child
  /// before the binary does, to give up rights or to set limits.
  OctetProcess(const std::filesystem::path& directory, const std::vector<std::string>& arguments,
               const std::function<void()>& prepare = {});
  OctetProcess(const OctetProcess&) = delete;
  OctetProcess& operator=(const OctetProcess&) = delete;
  ~OctetProcess();

  void send(int signal) const;
  /// Waits for the end. Kills a process that takes longer than two minutes, so that a test fails and does not hang.
  [[nodiscard]] Outcome wait();
  /// Waits until `condition` holds or the process ends; whether it holds.
  [[nodiscard]] bool wait_until(const std::function<bool()>& condition);

 private:
  [[nodiscard]] bool ended();

  pid_t process_ = -1;
  bool reaped_ = false;
  int status_ = 0;
  std::filesystem::path out_, err_;
};

}  // namespace octet::test
