// Who watches a launch: detectors of faults, a counter of accesses, each where it is wanted.
#pragma once

#include <optional>
#include <vector>

#include "sim/counters/access_counts.h"
#include "sim/detectors/checks.h"
#include "sim/launch/program.h"
#include "sim/machine/access.h"
#include "sim/memory/memory.h"

namespace octet::sim::hip {

class Watchers {
 public:
  /// `program` and `memory` must outlive it.
  Watchers(const Program& program, const Memory& memory, int threads, bool check, bool count);

  /// One for each thread; none where nobody watches, so that accesses cost nothing more.
  [[nodiscard]] std::vector<AccessListener*> listeners();
  /// [instructions]; nothing where accesses are not counted.
  [[nodiscard]] std::optional<std::vector<AccessCounts>> accesses() const;

 private:
  std::optional<Checks> checks_;
  std::optional<AccessCounter> counter_;
  std::vector<Broadcast> broadcasts_;
};

}  // namespace octet::sim::hip
