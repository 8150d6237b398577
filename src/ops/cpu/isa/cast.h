// FP8 encoding and decoding of sixteen lanes, by integer arithmetic on the bits of floats, and the largest magnitude.
#pragma once

#include "fp8/formats.h"
#include "ops/cpu/simd.h"

namespace octet::ops::cpu::OCTET_ISA {

template <fp8::Format F>
struct Bits {
  static constexpr int dropped = fp8::kFloatMantissaBits - fp8::Limits<F>::mantissa_bits;
  static constexpr std::uint32_t max = __builtin_bit_cast(std::uint32_t, fp8::Limits<F>::max);
  static constexpr std::uint32_t min_normal = __builtin_bit_cast(std::uint32_t, fp8::Limits<F>::min_normal);
  static constexpr std::uint32_t nan_code = fp8::Limits<F>::nan_code;
  static constexpr bool has_negative_zero = fp8::Limits<F>::has_negative_zero;
  static constexpr bool has_infinity = fp8::Limits<F>::has_infinity;
};

/// A format as an argument, so that the right instance of a generic lambda is called.
template <fp8::Format F>
struct FormatTag {
  static constexpr fp8::Format format = F;
};

template <typename Function>
[[gnu::always_inline]] static inline void with_format(fp8::Format format, Function function) {
  switch (format) {
    case fp8::Format::e4m3fn:
      return function(FormatTag<fp8::Format::e4m3fn>{});
    case fp8::Format::e4m3fnuz:
      return function(FormatTag<fp8::Format::e4m3fnuz>{});
    case fp8::Format::e5m2:
      return function(FormatTag<fp8::Format::e5m2>{});
    case fp8::Format::e5m2fnuz:
      return function(FormatTag<fp8::Format::e5m2fnuz>{});
  }
}

/// As fp8::encode: the code of each lane in its lowest byte.
template <fp8::Format F>
[[gnu::always_inline]] static inline U32 encode(F32 x) {
  using Of = Bits<F>;
  const U32 bits = bits_of(x);
  const U32 absolute = bits & fp8::kFloatMagnitudeMask;
  const U32 clamped = min(absolute, splat(Of::max));
  // The float unit rounds: 2^e * 2^dropped, with 2^e the leading bit of the value (of the smallest normal number for
  // what lies below), has its last bit where the code has its own. Adding it leaves the rounded significand there.
  const U32 leading = max(clamped & fp8::kFloatInfinity, splat(Of::min_normal));
  const U32 rounder = leading + (static_cast<std::uint32_t>(Of::dropped) << fp8::kFloatMantissaBits);
  const U32 significand = bits_of(float_of(clamped) + float_of(rounder)) - rounder;
  // The significand's leading bit, where there is one, adds one to the exponent field, which starts at 0 here.
  const U32 code = significand + ((leading - Of::min_normal) >> Of::dropped);
  const U32 sign = (bits >> 24) & 0x80U;
  U32 with_sign = code | sign;
  if constexpr (!Of::has_negative_zero) with_sign = select(code == 0U, splat(0U), with_sign);
  return select(is_nan(x), splat(Of::nan_code), with_sign);
}

/// Bits of the largest magnitude of x [count]. As integers a NaN is larger than infinity, and stays.
[[gnu::always_inline]] static inline std::uint16_t largest_magnitude(const bf16* x, Index count) {
  const I16 mask = splat<std::int16_t>(0x7FFF);
  I16 even{};
  I16 odd{};
  Index i = 0;
  for (; i + 4 * kLanes <= count; i += 4 * kLanes) {
    even = max(even, load_64_bytes<I16>(x + i) & mask);
    odd = max(odd, load_64_bytes<I16>(x + i + 2 * kLanes) & mask);
  }
  if (i < count) {
    bf16 padded[4 * kLanes]{};
    __builtin_memcpy(padded, x + i, static_cast<std::size_t>(count - i) * sizeof(bf16));
    even = max(even, load_64_bytes<I16>(padded) & mask);
    odd = max(odd, load_64_bytes<I16>(padded + 2 * kLanes) & mask);
  }
  return static_cast<std::uint16_t>(max(max(even, odd)));
}

/// How many neighbours are encoded at once: two bf16 to a lane.
inline constexpr Index kPairLanes = 2 * kLanes;

/// The scales of the first and of the second value of each pair.
struct PairScales {
  F32 even, odd;
};

[[gnu::always_inline]] static inline PairScales pair_scales(const float* scales) {
  float even[kLanes];
  float odd[kLanes];
  for (Index i = 0; i < kLanes; ++i) {
    even[i] = scales[2 * i];
    odd[i] = scales[2 * i + 1];
  }
  return {load(even), load(odd)};
}

/// Codes of x [32]. The values of a pair are taken apart and their codes joined by shifts within the lane: half the
/// shuffles of widening and narrowing one value to a lane.
template <fp8::Format F>
[[gnu::always_inline]] static inline void encode_pairs(const bf16* x, const PairScales& scales, std::uint8_t* codes) {
  const U32 pairs = load_64_bytes<U32>(x);
  const U32 even = encode<F>(float_of(pairs << 16) * scales.even);
  const U32 odd = encode<F>(float_of(pairs & 0xFFFF'0000U) * scales.odd);
  store_lower_halves(codes, even | (odd << 8));
}

/// As fp8::decode: the values of codes that lie in the lowest bytes of the lanes.
template <fp8::Format F>
[[gnu::always_inline]] static inline F32 decode(U32 codes) {
  using Of = Bits<F>;
  constexpr std::uint32_t kOneExponent = 1U << fp8::kFloatMantissaBits;
  const U32 absolute = codes & 0x7FU;
  const U32 sign = (codes & 0x80U) << 24;
  const U32 shifted = absolute << Of::dropped;
  const U32 normal = shifted + (Of::min_normal - kOneExponent);
  // Where the exponent field is 0: 1.mantissa of the smallest normal exponent less that 1, which is exact.
  const F32 subnormal = float_of(shifted + Of::min_normal) - __builtin_bit_cast(float, Of::min_normal);
  U32 value = select((shifted & fp8::kFloatInfinity) == 0U, bits_of(subnormal), normal) | sign;
  if constexpr (Of::has_infinity) {
    value = select(absolute == 0x7CU, sign | fp8::kFloatInfinity, value);
    return float_of(select(signed_of(absolute) > 0x7C, splat(0x7FC0'0000U), value));
  } else if constexpr (Of::has_negative_zero) {
    return float_of(select(absolute == Of::nan_code, splat(0x7FC0'0000U), value));
  } else {
    return float_of(select((codes & 0xFFU) == Of::nan_code, splat(0x7FC0'0000U), value));
  }
}

/// Values of codes [32], as bf16, which holds every value of an FP8 format.
template <fp8::Format F>
[[gnu::always_inline]] static inline void decode_pairs(const std::uint8_t* codes, bf16* x) {
  std::uint16_t pairs_of_codes[kLanes];
  __builtin_memcpy(pairs_of_codes, codes, sizeof pairs_of_codes);
  const U32 pairs = widen(pairs_of_codes, kLanes);
  const U32 even = bits_of(decode<F>(pairs)) >> 16;
  const U32 odd = bits_of(decode<F>(pairs >> 8));
  store_64_bytes(x, even | odd);
}

}  // namespace octet::ops::cpu::OCTET_ISA
