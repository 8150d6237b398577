// How octet bench times calls on any device.
#pragma once

#include <functional>

#include "ops/backend.h"

namespace octet::cli {

/// Seconds of one call.
struct CallTimes {
  double median = 0;
  double fastest = 0;
  double slowest = 0;
};

/// Times a call in rounds, each of as many calls as last a millisecond: between marks of the device where it runs
/// behind the host, so that its launches follow each other as in a step, by the clock elsewhere. The first rounds,
/// which load code and raise clocks, do not count.
[[nodiscard]] CallTimes time_calls(ops::Device& device, const std::function<void()>& call);

}  // namespace octet::cli
