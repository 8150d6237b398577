// Barriers that not all lanes of a workgroup reach, which the language forbids and hardware answers with whatever it
// does.
#pragma once

#include <memory>
#include <vector>

#include "sim/launch/program.h"
#include "sim/machine/access.h"

namespace octet::sim {

/// Watches a launch: `launch(..., detector.listeners())`. A Failure ends it where waves wait at different barriers,
/// where a wave has ended while others wait, and where lanes of a wave are switched off at a barrier.
class DivergentBarrierDetector {
 public:
  /// `program` must outlive it.
  DivergentBarrierDetector(const Program& program, int threads);

  [[nodiscard]] std::vector<AccessListener*> listeners() const;

 private:
  class OfThread;
  std::vector<std::shared_ptr<OfThread>> threads_;
};

}  // namespace octet::sim
