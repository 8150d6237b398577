// The exponential of sixteen floats, and what is made of it.
#pragma once

#include "ops/cpu/simd.h"

namespace octet::ops::cpu::OCTET_ISA {

/// e^x within 2 ulp for every x: subnormal results, 0 below, infinity above, NaN for NaN.
[[gnu::always_inline]] static inline F32 exp(F32 x) {
  constexpr float kLowest = -104.0F;  // below it e^x rounds to 0
  constexpr float kHighest = 89.0F;   // above it e^x is infinite, as e^89 is
  const Mask vanishes = splat(kLowest) > x;
  // NaN passes both selections. What vanishes is computed as e^0: products of tiny numbers are slow.
  const F32 clamped = select(x > kHighest, splat(kHighest), select(vanishes, splat(0.0F), x));

  // x = n ln2 + r with |r| <= ln2 / 2. Adding 1.5 * 2^23 rounds to an integer and leaves it in the low bits.
  constexpr float kRounder = 0x1.8p23F;
  const F32 shifted = clamped * 0x1.715476p0F + kRounder;
  const F32 n = shifted - kRounder;
  // ln2 in two parts, the first short enough for an exact product with n.
  const F32 r = (clamped - n * 0x1.62e4p-1F) - n * 0x1.7f7d1cp-20F;

  // The Taylor series to r^7 leaves less than 2^-27 of e^r.
  F32 series = r * (1.0F / 5040) + 1.0F / 720;
  series = series * r + 1.0F / 120;
  series = series * r + 1.0F / 24;
  series = series * r + 1.0F / 6;
  series = series * r + 0.5F;
  const F32 power = (series * (r * r) + r) + 1.0F;

  // 2^n in two factors, both normal also where their product is not.
  const U32 biased = bits_of(shifted) - __builtin_bit_cast(std::uint32_t, kRounder) + 2 * 127U;
  const U32 half = biased >> 1;
  const F32 result = power * float_of(half << 23) * float_of((biased - half) << 23);
  return select(vanishes, splat(0.0F), result);
}

/// 1 / (1 + e^-x) and its complement 1 / (1 + e^x), both to full precision, in range for every x.
struct Sigmoid {
  F32 value;
  F32 complement;
};

[[gnu::always_inline]] static inline Sigmoid sigmoid(F32 x) {
  const F32 small = exp(splat(0.0F) - magnitude(x));  // in (0, 1]
  const F32 one = splat(1.0F);
  const F32 larger = one / (one + small);
  const F32 smaller = small / (one + small);
  const Mask positive = x > 0.0F;
  return {select(positive, larger, smaller), select(positive, smaller, larger)};
}

}  // namespace octet::ops::cpu::OCTET_ISA
