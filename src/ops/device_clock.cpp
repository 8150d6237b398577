#include "ops/device_clock.h"

namespace octet::ops {

DeviceClock::DeviceClock(Device& device) : device_(&device) {
  constexpr int kRoundTrips = 4;  // the first may have to make what a mark needs
  device.finish();
  TraceClock::duration shortest = TraceClock::duration::max();
  for (int i = 0; i < kRoundTrips; ++i) {
    const TraceClock::time_point begin = TraceClock::now();
    const std::int64_t mark = device.mark();
    device.finish();
    const TraceClock::duration trip = TraceClock::now() - begin;
    if (trip >= shortest) continue;
    shortest = trip;
    origin_ = begin + trip / 2;
    last_mark_ = mark;
  }
}

TraceClock::time_point DeviceClock::at(std::int64_t mark) {
  seconds_ += device_->seconds_between(last_mark_, mark);
  last_mark_ = mark;
  return origin_ + std::chrono::round<TraceClock::duration>(std::chrono::duration<double>(seconds_));
}

}  // namespace octet::ops
