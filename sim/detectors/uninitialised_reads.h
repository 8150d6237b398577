// Reads of memory that nobody has written: global memory, LDS, scratch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sim/machine/access.h"
#include "sim/memory/memory.h"

namespace octet::sim {

/// A fault is found where such bytes are loaded, whatever becomes of them. An atomic update reads. In global memory
/// what counts is what Memory::track_writes() tells, and what watched kernels write. LDS is unwritten when a workgroup
/// begins; so is scratch, at which it does not look in kernels that spill VGPRs: compilers load spilled registers back
/// in lanes that do not need them.
class UninitialisedReads : public AccessListener {
 public:
  /// `memory` must outlive it.
  explicit UninitialisedReads(const Memory& memory) : memory_(memory) {}

  [[nodiscard]] bool needs_order() const override { return true; }
  void on_launch(const LaunchShape& shape) override;
  void on_workgroup(std::size_t lds_bytes) override;
  void on_access(const Access& access) override;

 private:
  /// For the bytes of one lane's access, 1 where written; empty where that is not known.
  [[nodiscard]] std::span<std::uint8_t> shadow(const Access& access, std::size_t lane);
  [[nodiscard]] std::span<std::uint8_t> global_shadow(std::uint64_t address, std::size_t bytes);
  [[nodiscard]] std::string byte_name(const Access& access, std::uint64_t address) const;

  const Memory& memory_;
  const Allocation* recent_ = nullptr;  // that was accessed last
  std::uint32_t scratch_bytes_ = 0;     // of a lane
  std::vector<std::uint8_t> lds_;
  std::vector<std::uint8_t> scratch_;  // wave after wave, lane after lane
};

}  // namespace octet::sim
