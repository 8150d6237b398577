#include "cli/octet_process.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <thread>

#include "core/error.h"
#include "io/files.h"

namespace octet::test {
namespace {

using namespace std::chrono_literals;

constexpr auto kPatience = 600s;
constexpr int kNotStarted = 127;

void redirect(int stream, const std::filesystem::path& file) {
  const int fd = ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
  if (fd < 0 || ::dup2(fd, stream) < 0) ::_exit(kNotStarted);
}

int code_of(int status) {
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

const char* program() {
  const char* other = std::getenv("OCTET_PROGRAM");
  return other != nullptr ? other : OCTET_BINARY;
}

OctetProcess::OctetProcess(const std::filesystem::path& directory, const std::vector<std::string>& arguments,
                           const std::function<void()>& prepare)
    : out_(directory / ".stdout"), err_(directory / ".stderr") {
  std::vector<std::string> words = {program()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  process_ = ::fork();
  check(process_ >= 0, "tests can start a process");
  if (process_ > 0) return;
  redirect(STDOUT_FILENO, out_);
  redirect(STDERR_FILENO, err_);
  if (::chdir(directory.c_str()) != 0) ::_exit(kNotStarted);
  if (prepare) prepare();
  ::execv(program(), argv.data());
  ::_exit(kNotStarted);
}

OctetProcess::~OctetProcess() {
  if (reaped_) return;
  send(SIGKILL);
  ::waitpid(process_, &status_, 0);
}

void OctetProcess::send(int signal) const {
  ::kill(process_, signal);
}

bool OctetProcess::ended() {
  if (!reaped_) reaped_ = ::waitpid(process_, &status_, WNOHANG) == process_;
  return reaped_;
}

bool OctetProcess::wait_until(const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (!condition()) {
    if (ended() || std::chrono::steady_clock::now() > end) return condition();
    std::this_thread::sleep_for(200us);
  }
  return true;
}

Outcome OctetProcess::wait() {
  if (!wait_until([this] { return ended(); })) {
    send(SIGKILL);
    ::waitpid(process_, &status_, 0);
    reaped_ = true;
  }
  return {code_of(status_), read_file(out_), read_file(err_)};
}

}  // namespace octet::test
