#include "sim/detectors/wording.h"

#include <fmt/format.h>

namespace octet::sim {

const char* verb(AccessKind kind) {
  return kind == AccessKind::read ? "reads" : kind == AccessKind::write ? "writes" : "updates";
}

std::string describe(const Access& access, std::size_t lane, const Memory& memory) {
  const std::string who = access.space == Space::scalar ? "the wave" : fmt::format("lane {}", lane);
  const std::uint64_t address = access.addresses[lane];
  if (access.space == Space::lds || access.space == Space::scratch) {
    return fmt::format("{} {} {} bytes at {:#x} of {}", who, verb(access.kind), access.bytes, address,
                       access.space == Space::lds ? "LDS" : "its scratch");
  }
  return fmt::format("{} {} {}", who, verb(access.kind), memory.describe(address, access.bytes));
}

}  // namespace octet::sim
