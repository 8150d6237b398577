// The state of a wave of 64 lanes while it runs. AMD CDNA4 ISA, 3 "Kernel State".
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "sim/decode/instruction.h"
#include "sim/machine/access.h"
#include "sim/memory/memory.h"

namespace octet::sim {

inline constexpr int kLanes = 64;
inline constexpr std::uint64_t kAllLanes = ~std::uint64_t{0};

/// A vector register: a dword of each lane.
struct alignas(64) Lanes : std::array<std::uint32_t, kLanes> {};

/// Where instructions lie in memory, for the few that compute with addresses.
struct CodeMap {
  static constexpr std::uint32_t kNoInstruction = ~0U;
  std::uint64_t address = 0;          ///< of the first instruction
  std::vector<std::uint32_t> dword;   ///< [instructions + 1] where each begins, in dwords behind `address`
  std::vector<std::uint32_t> number;  ///< [dwords] of the instruction that begins there, or kNoInstruction
};

enum class Status : std::uint8_t { running, at_barrier, ended };

struct Wave {
  std::array<std::uint32_t, kScalarRegisters> scalar{};  ///< by operand encoding: VCC, M0 and EXEC are among them
  std::vector<Lanes> vector = std::vector<Lanes>(kVectorRows);  ///< VGPRs, AGPRs, staging
  bool scc = false;
  bool indexes_registers = false;  ///< vector instructions add M0's number to those of their registers
  Status status = Status::running;
  std::uint32_t next = 0;    ///< number of the next instruction
  std::uint32_t number = 0;  ///< of the wave in its workgroup
  std::uint64_t clock = 0;   ///< instructions since it began
  std::uint64_t branches_taken = 0;

  std::span<std::byte> lds{};       ///< of the workgroup
  std::span<std::byte> scratch{};   ///< of the wave: lane 0's bytes, lane 1's, ...
  std::uint32_t scratch_bytes = 0;  ///< of a lane
  const Memory* memory = nullptr;
  const Allocation* recent = nullptr;  ///< that was accessed last: most accesses are to it again
  const CodeMap* code = nullptr;
  AccessListener* listener = nullptr;  ///< null: nobody watches

  [[nodiscard]] std::uint64_t pair(std::uint16_t index) const {
    std::uint64_t value;
    std::memcpy(&value, &scalar[index], sizeof(value));
    return value;
  }
  void set_pair(std::uint16_t index, std::uint64_t value) { std::memcpy(&scalar[index], &value, sizeof(value)); }
  [[nodiscard]] std::uint64_t exec() const { return pair(kExecLo); }
  [[nodiscard]] std::uint64_t vcc() const { return pair(kVccLo); }
};

}  // namespace octet::sim
