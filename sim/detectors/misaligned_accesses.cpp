#include "sim/detectors/misaligned_accesses.h"

#include <algorithm>
#include <bit>
#include <cstdint>

#include "core/error.h"
#include "sim/detectors/wording.h"

namespace octet::sim {
namespace {

std::uint32_t wanted_alignment(const Access& access) {
  const std::uint32_t natural = std::bit_ceil(access.bytes);
  constexpr std::uint32_t kDword = 4;
  return access.space == Space::lds || access.kind == AccessKind::update ? natural : std::min(natural, kDword);
}

}  // namespace

void MisalignedAccesses::on_access(const Access& access) {
  const std::uint32_t alignment = wanted_alignment(access);
  access.for_each_lane([&](std::size_t lane, std::uint64_t address) {
    if (address % alignment != 0) {
      throw Failure("{}: not aligned to {}", describe(access, lane, memory_), alignment);
    }
  });
}

}  // namespace octet::sim
