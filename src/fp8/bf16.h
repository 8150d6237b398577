// bfloat16: the upper half of a float, and the conversions between the two.
#pragma once

#include <cstdint>

#include "fp8/float_bits.h"
#include "fp8/host_device.h"

namespace octet {

/// Carries no arithmetic: sums and products are written in float, so that every rounding to bf16 is visible.
struct bf16 {
  std::uint16_t bits;
};

/// Exact.
[[nodiscard]] OCTET_HOST_DEVICE constexpr float to_float(bf16 x) {
  return fp8::float_of(static_cast<std::uint32_t>(x.bits) << 16);
}

/// Rounds to nearest, ties to even; subnormals and -0 are kept, what rounds beyond the largest finite value becomes
/// infinite, every NaN becomes 0x7FC0.
[[nodiscard]] OCTET_HOST_DEVICE constexpr bf16 to_bf16(float x) {
  if (fp8::is_nan(x)) return bf16{0x7FC0};
  const std::uint32_t bits = fp8::bits_of(x);
  const std::uint32_t lowest_kept_bit = (bits >> 16) & 1U;
  return bf16{static_cast<std::uint16_t>((bits + 0x7FFFU + lowest_kept_bit) >> 16)};
}

/// Rounds away from zero with the probability of the dropped part: `random` is uniform in [0, 2^16). Infinities stay,
/// every NaN becomes 0x7FC0.
[[nodiscard]] OCTET_HOST_DEVICE constexpr bf16 round_stochastically(float x, std::uint16_t random) {
  if (fp8::is_nan(x)) return bf16{0x7FC0};
  return bf16{static_cast<std::uint16_t>((fp8::bits_of(x) + random) >> 16)};
}

}  // namespace octet
