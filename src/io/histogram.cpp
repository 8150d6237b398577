#include "io/histogram.h"

#include <algorithm>
#include <cmath>

namespace octet {

void Histogram::add(double value) {
  if (!std::isfinite(value)) return;
  ++buckets_[static_cast<std::int64_t>(std::floor(value / width_))];
  ++count_;
  sum_ += value;
  sum_of_squares_ += value * value;
  min_ = std::min(min_, value);
  max_ = std::max(max_, value);
}

}  // namespace octet
