#include "cli/bench_timing.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/timing.h"

namespace octet::cli {
namespace {

/// Rounds that are timed, and how long each should last: marks and the clock are sure to a microsecond.
constexpr int kRounds = 11;
constexpr double kRoundSeconds = 1e-3;
constexpr double kMostCalls = 200;
constexpr int kWarmUpRounds = 3;

/// Seconds of one call in each of `rounds` rounds.
std::vector<double> time_rounds(ops::Device& device, int rounds, int calls, const std::function<void()>& call) {
  std::vector<double> seconds;
  std::vector<std::int64_t> marks;
  for (int round = 0; round < rounds; ++round) {
    marks.push_back(device.mark());
    const double begin = monotonic_seconds();
    for (int i = 0; i < calls; ++i) call();
    seconds.push_back((monotonic_seconds() - begin) / calls);
  }
  if (device.host_memory()) return seconds;
  marks.push_back(device.mark());
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    seconds[i] = device.seconds_between(marks[i], marks[i + 1]) / calls;
  }
  device.forget_marks();
  return seconds;
}

}  // namespace

CallTimes time_calls(ops::Device& device, const std::function<void()>& call) {
  call();
  const double once = time_rounds(device, 1, 3, call).front();
  const int calls = static_cast<int>(std::clamp(std::ceil(kRoundSeconds / std::max(once, 1e-9)), 1.0, kMostCalls));
  (void)time_rounds(device, kWarmUpRounds, calls, call);
  std::vector<double> seconds = time_rounds(device, kRounds, calls, call);
  std::sort(seconds.begin(), seconds.end());
  return {seconds[seconds.size() / 2], seconds.front(), seconds.back()};
}

}  // namespace octet::cli
