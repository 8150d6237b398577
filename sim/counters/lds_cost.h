// What an access to LDS costs in cycles of its banks, and how many of these are bank conflicts.
#pragma once

#include <cstdint>

#include "sim/elf/code_object.h"
#include "sim/machine/access.h"

namespace octet::sim {

/// Of accesses to LDS, summed.
struct LdsCost {
  std::uint64_t accesses = 0;         ///< executions with at least one lane; ds_read2_... and ds_write2_... are two
  std::uint64_t bytes = 0;            ///< of all lanes, whether they share them or not
  std::uint64_t cycles = 0;           ///< without conflicts: groups of lanes that are served together
  std::uint64_t conflict_cycles = 0;  ///< that bank conflicts add

  LdsCost& operator+=(const LdsCost& other);
  friend bool operator==(const LdsCost&, const LdsCost&) = default;
};

/// What one access of a wave comes to; nothing for one that is not to LDS.
///
/// A bank is 4 bytes wide: dword d lies in bank d mod 32, and for reads of 8 and 16 bytes on CDNA4 in bank d mod 64.
/// Lanes are served in groups, a group in as many cycles as its busiest bank has dwords to give: one where each bank
/// has one dword, however many lanes share it. Lanes that update a dword atomically take their turns.
///
/// | bytes of a lane | groups                                                                                       |
/// |-----------------|----------------------------------------------------------------------------------------------|
/// | 1, 2, 4         | halves of the wave                                                                           |
/// | 8               | quarters; reads on CDNA4: halves                                                             |
/// | 12, 16          | writes: eighths. Reads: eight pairs of quads, 0-3 with 20-23, 4-7 with 16-19, 8-11 with      |
/// |                 | 28-31, 12-15 with 24-27, and the same 32 lanes higher. Reads of 16 bytes on CDNA4: four       |
/// |                 | times four quads, 0-3 12-15 20-27, 4-11 16-19 28-31, and the same 32 lanes higher            |
///
/// AMD documents the groups of 16 bytes on CDNA3 (ROCm blogs, "Avoiding LDS Bank Conflicts on AMD GPUs Using CK-Tile
/// Framework"; Composable Kernel, "Understanding AMD GPU LDS and Bank Conflicts") and has the numbers of banks and of
/// lanes for all widths in rocRoller's model; which lanes they are on CDNA4 was measured by the authors of HipKittens.
[[nodiscard]] LdsCost lds_cost(const Access& access, Generation generation);

}  // namespace octet::sim
