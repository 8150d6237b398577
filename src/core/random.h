// Philox4x32-10: counter-based random numbers (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011).
// A number depends on (seed, stream, index) alone, so any split of the work over threads or ranks gives the same.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <string_view>

#include "fp8/host_device.h"

namespace octet {

/// Four random 32-bit words for a 64-bit key and a 128-bit counter.
[[nodiscard]] OCTET_HOST_DEVICE constexpr std::array<std::uint32_t, 4> philox(std::uint64_t key,
                                                                              std::uint64_t counter_low,
                                                                              std::uint64_t counter_high) {
  std::uint32_t k0 = static_cast<std::uint32_t>(key);
  std::uint32_t k1 = static_cast<std::uint32_t>(key >> 32);
  std::uint32_t c0 = static_cast<std::uint32_t>(counter_low);
  std::uint32_t c1 = static_cast<std::uint32_t>(counter_low >> 32);
  std::uint32_t c2 = static_cast<std::uint32_t>(counter_high);
  std::uint32_t c3 = static_cast<std::uint32_t>(counter_high >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = std::uint64_t{0xD2511F53U} * c0;
    const std::uint64_t product1 = std::uint64_t{0xCD9E8D57U} * c2;
    const auto high0 = static_cast<std::uint32_t>(product0 >> 32);
    const auto high1 = static_cast<std::uint32_t>(product1 >> 32);
    c0 = high1 ^ c1 ^ k0;
    c1 = static_cast<std::uint32_t>(product1);
    c2 = high0 ^ c3 ^ k1;
    c3 = static_cast<std::uint32_t>(product0);
    k0 += 0x9E3779B9U;
    k1 += 0xBB67AE85U;
  }
  return {c0, c1, c2, c3};
}

/// Uniform in (0, 1), never 0 or 1: 24 bits, centred in their cells.
[[nodiscard]] constexpr double uniform(std::uint32_t word) {
  return ((word >> 8) + 0.5) / 16777216.0;
}

/// FNV-1a: names a random stream after a tensor, so that adding one tensor leaves the others' numbers alone.
[[nodiscard]] constexpr std::uint64_t stream_of(std::string_view name) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : name) hash = (hash ^ static_cast<std::uint8_t>(c)) * 0x100000001b3U;
  return hash;
}

/// The index-th standard normal number of a stream (Box-Muller).
[[nodiscard]] inline double normal(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) {
  const auto words = philox(seed, index, stream);
  return std::sqrt(-2.0 * std::log(uniform(words[0]))) * std::cos(2.0 * std::numbers::pi * uniform(words[1]));
}

}  // namespace octet
