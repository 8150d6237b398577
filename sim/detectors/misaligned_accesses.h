// Accesses whose address is no multiple of what their width asks for.
#pragma once

#include "sim/machine/access.h"
#include "sim/memory/memory.h"

namespace octet::sim {

/// Hardware in the mode that AMD's driver sets answers only misaligned atomics with a fault; others it splits. They are
/// faults here all the same: a compiler uses a wide access where the source promised the alignment, so that the promise
/// is broken. In LDS, and for atomics, an access of N bytes asks for the next power of two from N on; in other memory
/// for no more than 4.
class MisalignedAccesses : public AccessListener {
 public:
  /// `memory` names allocations in messages and must outlive it.
  explicit MisalignedAccesses(const Memory& memory) : memory_(memory) {}

  void on_access(const Access& access) override;

 private:
  const Memory& memory_;
};

}  // namespace octet::sim
