// Barriers that not all lanes of a workgroup reach, which the language forbids and hardware answers with whatever it
// does.
#pragma once

#include <cstddef>
#include <span>

#include "sim/launch/program.h"
#include "sim/machine/access.h"

namespace octet::sim {

/// Finds waves that wait at different barriers, a wave that has ended while others wait, and lanes of a wave that are
/// switched off at a barrier.
class DivergentBarriers : public AccessListener {
 public:
  /// `program` must outlive it.
  explicit DivergentBarriers(const Program& program) : program_(program) {}

  void on_barrier(std::span<const Waiting> waiting, std::size_t ended) override;

 private:
  const Program& program_;
};

}  // namespace octet::sim
