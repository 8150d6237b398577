#include "gpu/tuning.h"

#include <utility>
#include <vector>

#include "core/timing.h"

namespace octet::gpu {

double median_seconds(Driver& driver, const std::function<void()>& run) {
  constexpr int kRuns = 9;
  std::vector<double> seconds;
  for (int i = 0; i < kRuns; ++i) {
    const TimeMark begin = driver.mark();
    run();
    const double once = driver.seconds(begin, driver.mark());
    if (i > 1) seconds.push_back(once);  // the first two load code and caches
  }
  driver.forget_marks();
  return median(std::move(seconds));
}

}  // namespace octet::gpu
