// Writes to what a kernel is only to read: its code and constants, its arguments.
#pragma once

#include "sim/machine/access.h"
#include "sim/memory/memory.h"

namespace octet::sim {

/// Hardware carries such writes out, and what comes later goes wrong. The ranges are those of Memory::protect().
class ReadOnlyWrites : public AccessListener {
 public:
  /// `memory` must outlive it.
  explicit ReadOnlyWrites(const Memory& memory) : memory_(memory) {}

  void on_access(const Access& access) override;

 private:
  const Memory& memory_;
};

}  // namespace octet::sim
