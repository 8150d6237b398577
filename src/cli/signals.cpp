#include "cli/signals.h"

#include <signal.h>
#include <unistd.h>

namespace octet::cli {
namespace {

// A signal handler can reach nothing but a flag of this kind.
volatile sig_atomic_t stop_signal = 0;

void on_stop_signal(int signal) {
  if (signal == SIGINT && stop_signal != 0) _exit(128 + SIGINT);
  stop_signal = signal;
}

}  // namespace

void catch_stop_signals() {
  struct sigaction action = {};
  action.sa_handler = &on_stop_signal;
  action.sa_flags = SA_RESTART;  // a write to a file goes on
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

int pending_stop_signal() {
  return stop_signal;
}

}  // namespace octet::cli
