#include "sim/detectors/lds_races.h"

#include "core/error.h"
#include "sim/detectors/wording.h"

namespace octet::sim {

void LdsRaces::on_workgroup(std::size_t lds_bytes) {
  bytes_.resize(lds_bytes);
  ++interval_;
}

void LdsRaces::on_barrier(std::span<const Waiting> /*waiting*/, std::size_t /*ended*/) {
  ++interval_;
}

/// The earlier access with which this one races.
std::optional<LdsRaces::Seen> LdsRaces::conflict(const Byte& byte, const Seen& access) {
  const auto of_another = [&](const std::optional<Seen>& seen) { return seen && seen->wave != access.wave; };
  const bool both_update = byte.writer && byte.writer->kind == AccessKind::update && access.kind == AccessKind::update;
  if (of_another(byte.writer) && !both_update) return byte.writer;
  if (access.kind == AccessKind::read) return std::nullopt;
  if (of_another(byte.reader)) return byte.reader;
  return of_another(byte.other_reader) ? byte.other_reader : std::nullopt;
}

void LdsRaces::remember(Byte& byte, const Seen& access) {
  if (access.kind != AccessKind::read) {
    byte.writer = access;
  } else if (!byte.reader) {
    byte.reader = access;
  } else if (byte.reader->wave != access.wave) {
    byte.other_reader = access;
  }
}

void LdsRaces::look_at(std::uint64_t at, const Seen& seen, std::size_t lane) {
  Byte& byte = bytes_[at];
  if (byte.interval != interval_) {
    byte = Byte{};
    byte.interval = interval_;
  }
  if (const std::optional<Seen> other = conflict(byte, seen)) {
    throw Failure("lane {} {} byte {:#x} of LDS, which wave {} {} with no barrier between: {}", lane, verb(seen.kind),
                  at, other->wave, verb(other->kind), program_.place(other->instruction));
  }
  remember(byte, seen);
}

void LdsRaces::on_access(const Access& access) {
  if (access.space != Space::lds) return;
  const Seen seen{access.wave, access.instruction.number, access.kind};
  access.for_each_lane([&](std::size_t lane, std::uint64_t first) {
    for (std::uint64_t at = first; at < first + access.bytes && at < bytes_.size(); ++at) look_at(at, seen, lane);
  });
}

}  // namespace octet::sim
