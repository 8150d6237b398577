// Races in LDS: two waves of a workgroup access a byte between the same two barriers, and one of them writes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sim/launch/program.h"
#include "sim/machine/access.h"

namespace octet::sim {

/// Whatever the order in which waves are simulated, a race is found: what counts is that no barrier lies between. The
/// message names both instructions. Atomic updates do not race with each other.
class LdsRaces : public AccessListener {
 public:
  /// `program` must outlive it.
  explicit LdsRaces(const Program& program) : program_(program) {}

  [[nodiscard]] bool needs_order() const override { return true; }
  void on_workgroup(std::size_t lds_bytes) override;
  void on_barrier(std::span<const Waiting> waiting, std::size_t ended) override;
  void on_access(const Access& access) override;

 private:
  /// An access that a byte has seen.
  struct Seen {
    std::uint32_t wave;
    std::uint32_t instruction;
    AccessKind kind;
  };
  /// What happened to a byte of LDS since the last barrier. Of readers two suffice: any writer is another than one of
  /// them.
  struct Byte {
    std::uint64_t interval = 0;  // to which the rest belongs
    std::optional<Seen> writer, reader, other_reader;
  };

  [[nodiscard]] static std::optional<Seen> conflict(const Byte& byte, const Seen& access);
  static void remember(Byte& byte, const Seen& access);
  void look_at(std::uint64_t at, const Seen& seen, std::size_t lane);

  const Program& program_;
  std::vector<Byte> bytes_;  // of the workgroup's LDS
  std::uint64_t interval_ = 0;
};

}  // namespace octet::sim
