// DeviceClock: where the marks of a device that runs behind the host lie on the host's clock.
#pragma once

#include "ops/backend.h"
#include "ops/tracer.h"

namespace octet::ops {

class DeviceClock {
 public:
  /// Waits for the device, then takes a mark whose moment the host knows to half of a round trip, the shortest of some
  /// (Cristian, Probabilistic clock synchronization, 1989): some microseconds on a GPU. Marks that are forgotten take
  /// their clock with them.
  explicit DeviceClock(Device& device);

  /// The moment of a mark, which is no earlier than the one asked for last: times are added up from mark to mark, so
  /// that what a device rounds in a long one is not lost to a short one. Waits for the mark.
  [[nodiscard]] TraceClock::time_point at(std::int64_t mark);

 private:
  Device* device_;
  TraceClock::time_point origin_;
  std::int64_t last_mark_ = 0;
  double seconds_ = 0;  ///< from the origin to the last mark
};

}  // namespace octet::ops
