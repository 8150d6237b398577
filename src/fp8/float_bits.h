// A float as its bits and back, in constant expressions, on the host and on devices; the one NaN that Octet writes.
#pragma once

#include <cstdint>

#include "fp8/host_device.h"

namespace octet::fp8 {

inline constexpr std::uint32_t kFloatMagnitudeMask = 0x7FFF'FFFF;
inline constexpr std::uint32_t kFloatInfinity = 0x7F80'0000;
inline constexpr int kFloatMantissaBits = 23;
inline constexpr int kFloatBias = 127;

// The builtin under std::bit_cast: a device compiler takes it without being told to accept host constexpr functions.
[[nodiscard]] OCTET_HOST_DEVICE constexpr std::uint32_t bits_of(float x) {
  return __builtin_bit_cast(std::uint32_t, x);
}
[[nodiscard]] OCTET_HOST_DEVICE constexpr float float_of(std::uint32_t bits) {
  return __builtin_bit_cast(float, bits);
}

[[nodiscard]] OCTET_HOST_DEVICE constexpr bool is_nan(float x) {
  return (bits_of(x) & kFloatMagnitudeMask) > kFloatInfinity;
}

/// The NaN of every result. Sign and payload of a computed NaN differ between processors (inf * 0 is negative on x86,
/// positive on NVIDIA); one fixed NaN keeps codes and scales the same bits everywhere.
[[nodiscard]] OCTET_HOST_DEVICE constexpr float quiet_nan() {
  return float_of(0x7FC0'0000);
}

}  // namespace octet::fp8
