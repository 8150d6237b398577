// What somebody who watches a launch is told of each access to memory: counters of traffic, detectors of faults.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "sim/decode/instruction.h"

namespace octet::sim {

enum class Space : std::uint8_t { global, lds, scratch, scalar };  ///< scalar: global memory, for the wave as a whole
enum class AccessKind : std::uint8_t { read, write, update };      ///< update: atomic, reads and writes

/// One instruction's access by the lanes of a wave, before it takes place, so that nobody has checked it yet. Of a
/// scalar instruction lane 0 stands for the wave.
struct Access {
  const Instruction& instruction;
  Space space;
  AccessKind kind;
  std::uint32_t bytes;                        ///< of each lane
  std::uint32_t wave;                         ///< number within its workgroup
  std::uint64_t lanes;                        ///< mask of those that take part
  std::array<std::uint64_t, 64> addresses{};  ///< of those lanes; in LDS and scratch from their begin

  /// Calls `body(lane, address)` for each of the lanes, in order.
  template <typename Body>
  void for_each_lane(const Body& body) const {
    for (std::uint64_t rest = lanes; rest != 0; rest &= rest - 1) {
      const auto lane = static_cast<std::size_t>(std::countr_zero(rest));
      body(lane, addresses[lane]);
    }
  }
};

/// A wave that waits at a barrier.
struct Waiting {
  std::uint32_t wave;
  std::uint32_t instruction;   ///< the barrier's number
  std::uint64_t absent_lanes;  ///< that there are, and that EXEC does not name here
};

/// What the workgroups of a launch have in common.
struct LaunchShape {
  std::array<std::uint32_t, 3> workgroups;  ///< x, y, z
  std::uint32_t waves;                      ///< of a workgroup
  std::uint32_t scratch_bytes;              ///< of a lane
  std::uint32_t spilled_vgprs;
};

/// Told of what one thread of a launch simulates, in its order: workgroup after workgroup; of a workgroup, one wave
/// after the other up to a barrier. A listener that finds a fault throws Failure, to which the launch adds where it
/// happened.
class AccessListener {
 public:
  virtual ~AccessListener() = default;
  /// Whether one thread has to simulate all workgroups, in their order.
  [[nodiscard]] virtual bool needs_order() const { return false; }
  virtual void on_launch(const LaunchShape& /*shape*/) {}
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
  [[nodiscard]] bool needs_order() const override {
    return std::any_of(listeners_.begin(), listeners_.end(),
                       [](const AccessListener* listener) { return listener->needs_order(); });
  }
  void on_launch(const LaunchShape& shape) override {
    for (AccessListener* listener : listeners_) listener->on_launch(shape);
  }
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
