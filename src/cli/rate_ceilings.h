// What no device of an architecture can exceed, from data sheets: a measured rate above it is none.
#pragma once

#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>

namespace octet::cli {

/// Of the fastest device of an architecture at its highest clock, without sparsity.
struct RateCeilings {
  std::string_view arch;  ///< as ops::Device::arch() has it
  double bytes;           ///< a second, of its memory
  double bf16_flops;      ///< a second
  double fp8_flops;
};

inline constexpr std::array<RateCeilings, 3> kRateCeilings{{
    {"sm_90", 4.9e12, 1071e12, 2142e12},       // memory of GH200; 132 multiprocessors at 1980 MHz
    {"gfx942", 6.0e12, 1307.4e12, 2614.9e12},  // memory of MI325X; 304 compute units at 2100 MHz
    {"gfx950", 8.0e12, 2516.6e12, 5033.2e12},  // MI355X: 256 compute units at 2400 MHz
}};

/// Infinite ones where an architecture is not listed, as that of a CPU.
[[nodiscard]] constexpr RateCeilings rate_ceilings(std::string_view arch) {
  for (const RateCeilings& ceilings : kRateCeilings) {
    if (ceilings.arch == arch) return ceilings;
  }
  constexpr double kNone = std::numeric_limits<double>::infinity();
  return {arch, kNone, kNone, kNone};
}

/// Why a rate cannot be true; empty where it can.
[[nodiscard]] inline std::string_view doubt_about(double rate, double ceiling) {
  if (!std::isfinite(rate) || rate <= 0) return "no rate at all: the device's clock did not move";
  if (rate > ceiling)
    return "more than the data sheet's peak: the device's clock, or the work, is not what it should be";
  return {};
}

}  // namespace octet::cli
