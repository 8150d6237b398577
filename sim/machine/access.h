// What somebody who watches a launch is told of each access to memory: counters of traffic, detectors of faults.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "sim/decode/instruction.h"

namespace octet::sim {

enum class Space : std::uint8_t { global, lds, scratch };
enum class AccessKind : std::uint8_t { read, write, update };  ///< update: atomic, reads and writes

/// One instruction's access by the lanes of a wave, before it takes place, so that nobody has checked it yet.
struct Access {
  const Instruction& instruction;
  Space space;
  AccessKind kind;
  std::uint32_t bytes;                        ///< of each lane
  std::uint32_t wave;                         ///< number within its workgroup
  std::uint64_t lanes;                        ///< mask of those that take part
  std::array<std::uint64_t, 64> addresses{};  ///< of those lanes; in LDS and scratch from their begin
};

/// Told of what one thread of a launch simulates, in its order: workgroup after workgroup; of a workgroup, one wave
/// after the other up to a barrier. A listener that finds a fault throws Failure, to which the launch adds where it
/// happened.
class AccessListener {
 public:
  virtual ~AccessListener() = default;
  /// A workgroup begins, with so many bytes of LDS.
  virtual void on_workgroup(std::size_t /*lds_bytes*/) {}
  /// All waves of the workgroup have reached a barrier, or ended.
  virtual void on_barrier() {}
  virtual void on_access(const Access& access) = 0;
};

}  // namespace octet::sim
