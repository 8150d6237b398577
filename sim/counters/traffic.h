// How well the lanes of a wave use what global memory moves: bytes, and the segments they lie in, against the least.
#pragma once

#include <cstdint>

#include "sim/machine/access.h"

namespace octet::sim {

/// Of the global accesses of an instruction, summed over its executions. Segments are counted for each execution anew:
/// caches are not modelled.
struct Traffic {
  std::uint64_t accesses = 0;           ///< executions with at least one lane
  std::uint64_t bytes = 0;              ///< distinct ones: what several lanes read counts once
  std::uint64_t segments_64 = 0;        ///< aligned 64 bytes that were touched
  std::uint64_t segments_128 = 0;       ///< aligned 128 bytes that were touched
  std::uint64_t least_segments_64 = 0;  ///< that as many bytes could lie in
  std::uint64_t least_segments_128 = 0;

  /// The least in proportion to what was touched, which is coalescing: 1 is perfect, and what no access comes to.
  [[nodiscard]] double share_64() const;
  [[nodiscard]] double share_128() const;

  Traffic& operator+=(const Traffic& other);
  friend bool operator==(const Traffic&, const Traffic&) = default;
};

/// What one access of a wave comes to; nothing for one that is not global.
[[nodiscard]] Traffic traffic_of(const Access& access);

}  // namespace octet::sim
