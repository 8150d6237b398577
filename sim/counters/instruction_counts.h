// How often a launch executed instructions of each family, and what the kernel takes of a compute unit.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "sim/launch/launch.h"
#include "sim/launch/program.h"
#include "sim/semantics/table.h"

namespace octet::sim {

/// The name that reports use: "scalar memory".
[[nodiscard]] std::string_view name(Family family);

struct InstructionCounts {
  std::uint64_t total = 0;                           ///< instructions of waves
  std::map<Family, std::uint64_t> of_family;         ///< those that were executed
  std::map<std::string, std::uint64_t> of_mnemonic;  ///< as disassembled, with encoding
  std::uint64_t barriers = 0;
  std::uint64_t cache_maintenance = 0;  ///< buffer_wbl2 and buffer_inv, which fences between workgroups emit
};

[[nodiscard]] InstructionCounts count_instructions(const Program& program, const LaunchResult& result);

/// Waves that a SIMD of a compute unit holds at most, of 8, by the kernel's vector registers: 512 for each lane, given
/// out in eights.
[[nodiscard]] std::uint32_t waves_per_simd(const Kernel& kernel);

}  // namespace octet::sim
