// e8m0: a power of two in one byte, the scale of a block in the microscaling formats.
#pragma once

#include <cstdint>

#include "fp8/float_bits.h"
#include "fp8/host_device.h"

namespace octet::fp8 {

/// 2^(bits - 127); 255 is NaN. There is no sign, no zero and no infinity.
struct e8m0 {
  std::uint8_t bits;
  friend constexpr bool operator==(e8m0, e8m0) = default;
};

inline constexpr std::uint8_t kE8m0Max = 254;
inline constexpr std::uint8_t kE8m0Nan = 255;

/// Exact (2^-127, code 0, is a subnormal float); NaN gives quiet_nan().
[[nodiscard]] OCTET_HOST_DEVICE constexpr float decode(e8m0 code) {
  if (code.bits == kE8m0Nan) return quiet_nan();
  if (code.bits == 0) return 0x1p-127F;
  return float_of(static_cast<std::uint32_t>(code.bits) << kFloatMantissaBits);
}

/// The largest power of two that is at most x, for x >= 0; 2^-127 for everything below it, zero included.
/// NaN, infinity and a set sign give NaN.
[[nodiscard]] OCTET_HOST_DEVICE constexpr e8m0 encode_e8m0_down(float x) {
  const std::uint32_t bits = bits_of(x);
  if (bits >= kFloatInfinity) return e8m0{kE8m0Nan};
  return e8m0{static_cast<std::uint8_t>(bits >> kFloatMantissaBits)};
}

/// The smallest power of two that is at least x, for x >= 0; 2^127 for everything above it.
/// NaN, infinity and a set sign give NaN.
[[nodiscard]] OCTET_HOST_DEVICE constexpr e8m0 encode_e8m0_up(float x) {
  const std::uint32_t bits = bits_of(x);
  if (bits >= kFloatInfinity) return e8m0{kE8m0Nan};
  if (x <= 0x1p-127F) return e8m0{0};
  const std::uint32_t up = (bits + 0x007F'FFFFU) >> kFloatMantissaBits;
  return e8m0{static_cast<std::uint8_t>(up > kE8m0Max ? kE8m0Max : up)};
}

}  // namespace octet::fp8
