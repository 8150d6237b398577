#include "sim/detectors/read_only_writes.h"

#include <cstdint>

#include "core/error.h"
#include "sim/detectors/wording.h"

namespace octet::sim {

void ReadOnlyWrites::on_access(const Access& access) {
  const bool is_global = access.space == Space::global || access.space == Space::scalar;
  if (!is_global || access.kind == AccessKind::read) return;
  access.for_each_lane([&](std::size_t lane, std::uint64_t address) {
    if (memory_.is_protected(address, access.bytes)) {
      throw Failure("{}: is only to be read", describe(access, lane, memory_));
    }
  });
}

}  // namespace octet::sim
