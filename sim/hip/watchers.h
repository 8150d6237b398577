// Who watches a launch: detectors of faults, a counter of traffic, each where it is wanted.
#pragma once

#include <optional>
#include <vector>

#include "sim/counters/traffic.h"
#include "sim/detectors/divergent_barriers.h"
#include "sim/detectors/lds_races.h"
#include "sim/launch/program.h"
#include "sim/machine/access.h"

namespace octet::sim::hip {

class Watchers {
 public:
  /// `program` must outlive it.
  Watchers(const Program& program, int threads, bool check, bool traffic);

  /// One for each thread; none where nobody watches, so that accesses cost nothing more.
  [[nodiscard]] std::vector<AccessListener*> listeners();
  /// [instructions]; nothing where traffic is not counted.
  [[nodiscard]] std::optional<std::vector<Traffic>> traffic() const;

 private:
  std::optional<LdsRaceDetector> races_;
  std::optional<DivergentBarrierDetector> barriers_;
  std::optional<TrafficCounter> traffic_;
  std::vector<Broadcast> broadcasts_;
};

}  // namespace octet::sim::hip
