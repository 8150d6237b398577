#include "sim/detectors/lds_races.h"

#include <bit>
#include <cstdint>
#include <optional>

#include "core/error.h"

namespace octet::sim {
namespace {

/// An access that a byte has seen.
struct Seen {
  std::uint32_t wave;
  std::uint32_t instruction;
  AccessKind kind;
};

/// What happened to a byte of LDS since the last barrier. Of readers two suffice: any writer is another than one of
/// them.
struct Byte {
  std::uint64_t interval = 0;  ///< to which the rest belongs
  std::optional<Seen> writer, reader, other_reader;
};

const char* verb(AccessKind kind) {
  return kind == AccessKind::read ? "reads" : kind == AccessKind::write ? "writes" : "updates";
}

/// The earlier access with which this one races.
std::optional<Seen> conflict(const Byte& byte, const Seen& access) {
  const auto of_another = [&](const std::optional<Seen>& seen) { return seen && seen->wave != access.wave; };
  const bool both_update = byte.writer && byte.writer->kind == AccessKind::update && access.kind == AccessKind::update;
  if (of_another(byte.writer) && !both_update) return byte.writer;
  if (access.kind == AccessKind::read) return std::nullopt;
  if (of_another(byte.reader)) return byte.reader;
  return of_another(byte.other_reader) ? byte.other_reader : std::nullopt;
}

void remember(Byte& byte, const Seen& access) {
  if (access.kind != AccessKind::read) {
    byte.writer = access;
  } else if (!byte.reader) {
    byte.reader = access;
  } else if (byte.reader->wave != access.wave) {
    byte.other_reader = access;
  }
}

}  // namespace

class LdsRaceDetector::OfThread : public AccessListener {
 public:
  explicit OfThread(const Program& program) : program_(program) {}

  void on_workgroup(std::size_t lds_bytes) override {
    bytes_.resize(lds_bytes);
    ++interval_;
  }
  void on_barrier(std::span<const Waiting> /*waiting*/, std::size_t /*ended*/) override { ++interval_; }

  void on_access(const Access& access) override {
    if (access.space != Space::lds) return;
    const Seen seen{access.wave, access.instruction.number, access.kind};
    for (std::uint64_t rest = access.lanes; rest != 0; rest &= rest - 1) {
      const auto lane = static_cast<std::size_t>(std::countr_zero(rest));
      const std::uint64_t first = access.addresses[lane];
      for (std::uint64_t at = first; at < first + access.bytes && at < bytes_.size(); ++at) look_at(at, seen, lane);
    }
  }

 private:
  void look_at(std::uint64_t at, const Seen& seen, std::size_t lane) {
    Byte& byte = bytes_[at];
    if (byte.interval != interval_) {
      byte = Byte{};
      byte.interval = interval_;
    }
    if (const std::optional<Seen> other = conflict(byte, seen)) {
      throw Failure("lane {} {} byte {:#x} of LDS, which wave {} {} with no barrier between: {:#x}: {}", lane,
                    verb(seen.kind), at, other->wave, verb(other->kind), program_.address(other->instruction),
                    program_.text(other->instruction));
    }
    remember(byte, seen);
  }

  const Program& program_;
  std::vector<Byte> bytes_;  // of the workgroup's LDS
  std::uint64_t interval_ = 0;
};

LdsRaceDetector::LdsRaceDetector(const Program& program, int threads) {
  for (int thread = 0; thread < threads; ++thread) threads_.push_back(std::make_shared<OfThread>(program));
}

std::vector<AccessListener*> LdsRaceDetector::listeners() const {
  std::vector<AccessListener*> listeners;
  for (const auto& thread : threads_) listeners.push_back(thread.get());
  return listeners;
}

}  // namespace octet::sim
