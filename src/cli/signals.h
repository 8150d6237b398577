// Ctrl-C and SIGTERM ask for a clean stop once; a second Ctrl-C stops at once.
#pragma once

namespace octet::cli {

/// From here on the first SIGINT or SIGTERM is remembered, and a second SIGINT ends the process with 130.
void catch_stop_signals();
/// The signal that asked for a stop, or 0.
[[nodiscard]] int pending_stop_signal();

}  // namespace octet::cli
