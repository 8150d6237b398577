// Races in LDS: two waves of a workgroup access a byte between the same two barriers, and one of them writes.
#pragma once

#include <memory>
#include <vector>

#include "sim/launch/program.h"
#include "sim/machine/access.h"

namespace octet::sim {

/// Watches a launch, each of its threads apart: `launch(..., detector.listeners())`. A race ends the launch with a
/// Failure that names both instructions. Whatever the order in which waves are simulated, it is found: what counts is
/// that no barrier lies between. Atomic updates do not race with each other.
class LdsRaceDetector {
 public:
  /// `program` must outlive it.
  LdsRaceDetector(const Program& program, int threads);

  [[nodiscard]] std::vector<AccessListener*> listeners() const;

 private:
  class OfThread;
  std::vector<std::shared_ptr<OfThread>> threads_;
};

}  // namespace octet::sim
