// Counts what a launch accesses of memory: global traffic, cycles of LDS, scratch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "sim/counters/lds_cost.h"
#include "sim/counters/traffic.h"
#include "sim/elf/code_object.h"
#include "sim/launch/program.h"
#include "sim/machine/access.h"

namespace octet::sim {

/// A counter for each kind of access.
template <typename Count>
struct ByKind {
  Count read{}, write{}, update{};

  ByKind& operator+=(const ByKind& other) {
    read += other.read;
    write += other.write;
    update += other.update;
    return *this;
  }
  [[nodiscard]] Count& of(AccessKind kind) {
    return kind == AccessKind::read ? read : kind == AccessKind::write ? write : update;
  }
  [[nodiscard]] Count total() const {
    Count sum = read;
    sum += write;
    sum += update;
    return sum;
  }
  friend bool operator==(const ByKind&, const ByKind&) = default;
};

/// Of an instruction or of a whole launch.
struct AccessCounts {
  ByKind<Traffic> global;
  ByKind<LdsCost> lds;
  std::uint64_t scratch_accesses = 0;  ///< executions with at least one lane
  std::uint64_t scratch_bytes = 0;     ///< of all lanes

  AccessCounts& operator+=(const AccessCounts& other);
  friend bool operator==(const AccessCounts&, const AccessCounts&) = default;
};

/// Watches a launch, each of its threads apart: `launch(..., counter.listeners())`. Scalar loads are not among what it
/// is told of: InstructionCounts has them.
class AccessCounter {
 public:
  AccessCounter(const Program& program, int threads);

  [[nodiscard]] std::vector<AccessListener*> listeners() const;
  /// [instructions], the same for any number of threads.
  [[nodiscard]] std::vector<AccessCounts> by_instruction() const;
  [[nodiscard]] AccessCounts total() const;

 private:
  class OfThread;
  std::vector<std::shared_ptr<OfThread>> threads_;
};

}  // namespace octet::sim
