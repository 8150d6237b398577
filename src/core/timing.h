// Time that passes, and the figure that stands for several measurements of it.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <vector>

namespace octet {

/// Seconds since a fixed moment, by a clock that is never set: differences are durations.
[[nodiscard]] inline double monotonic_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// The middle value, the upper of two; 0 of none.
[[nodiscard]] inline double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace octet
