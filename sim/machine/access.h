// What somebody who watches a launch is told of each access to memory: counters of traffic, detectors of faults.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

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

/// A wave that waits at a barrier.
struct Waiting {
  std::uint32_t wave;
  std::uint32_t instruction;   ///< the barrier's number
  std::uint64_t absent_lanes;  ///< that there are, and that EXEC does not name here
};

/// Told of what one thread of a launch simulates, in its order: workgroup after workgroup; of a workgroup, one wave
/// after the other up to a barrier. A listener that finds a fault throws Failure, to which the launch adds where it
/// happened.
class AccessListener {
 public:
  virtual ~AccessListener() = default;
  /// A workgroup begins, with so many bytes of LDS.
  virtual void on_workgroup(std::size_t /*lds_bytes*/) {}
  /// All waves of the workgroup wait at a barrier, or have ended: `ended` of them.
  virtual void on_barrier(std::span<const Waiting> /*waiting*/, std::size_t /*ended*/) {}
  virtual void on_access(const Access& /*access*/) {}
};

/// Tells several listeners, in their order.
class Broadcast : public AccessListener {
 public:
  explicit Broadcast(std::vector<AccessListener*> listeners) : listeners_(std::move(listeners)) {}
  void on_workgroup(std::size_t lds_bytes) override {
    for (AccessListener* listener : listeners_) listener->on_workgroup(lds_bytes);
  }
  void on_barrier(std::span<const Waiting> waiting, std::size_t ended) override {
    for (AccessListener* listener : listeners_) listener->on_barrier(waiting, ended);
  }
  void on_access(const Access& access) override {
    for (AccessListener* listener : listeners_) listener->on_access(access);
  }

 private:
  std::vector<AccessListener*> listeners_;
};

}  // namespace octet::sim
