// All detectors of faults together, for whoever runs kernels: the command line, the tests.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "sim/launch/program.h"
#include "sim/machine/access.h"
#include "sim/memory/memory.h"

namespace octet::sim {

/// Watches launches of a program: `launch(..., checks.listeners())`. The first fault that a detector finds, in the
/// order of workgroups, ends a launch with a Failure. Accesses outside of allocations, of LDS and of scratch end it
/// whether anybody watches or not.
class Checks {
 public:
  /// `names` are those of the detectors wanted, with commas between: misaligned, uninitialised, read-only, lds-races,
  /// workgroup-races, barriers; or "all". UserError for others. For `uninitialised`, memory must track_writes() before
  /// buffers are allocated, and all launches must be watched. `program` and `memory` must outlive it; `threads` are the
  /// pool's.
  Checks(const Program& program, const Memory& memory, int threads, std::string_view names = "all");

  [[nodiscard]] std::vector<AccessListener*> listeners() const;

 private:
  int threads_;
  std::vector<std::unique_ptr<AccessListener>> detectors_;
  std::unique_ptr<AccessListener> all_;
};

}  // namespace octet::sim
