// The passes of the unfused FP8 row cast, left to the compiler to vectorise.
#include "ops/cpu/unfused_cast.h"

#include "ops/cpu/isa/cast.h"
#include "ops/cpu/row_scale.h"

namespace octet::ops::cpu::OCTET_ISA {
namespace {

[[gnu::always_inline]] inline float widen(bf16 x) {
  return __builtin_bit_cast(float, static_cast<std::uint32_t>(x.bits) << 16);
}

void absolute_maxima(const bf16* x, Index cols, float* maxima, Index begin, Index end) {
  for (Index row = begin; row < end; ++row) {
    // Compared as integers: the order of magnitudes is theirs, and a NaN is kept.
    std::uint16_t largest = 0;
    for (Index i = row * cols; i < (row + 1) * cols; ++i) {
      const auto magnitude = static_cast<std::uint16_t>(x[i].bits & 0x7FFFU);
      largest = magnitude > largest ? magnitude : largest;
    }
    maxima[row] = widen(bf16{largest});
  }
}

void scales(const float* maxima, const fp8::ScaleRule& rule, float* scales, float* scale_inverse, Index begin,
            Index end) {
  for (Index row = begin; row < end; ++row) {
    const auto amax_bits = static_cast<std::uint16_t>(__builtin_bit_cast(std::uint32_t, maxima[row]) >> 16);
    const RowScale scale = row_scale(rule, amax_bits);
    scales[row] = scale.scale;
    scale_inverse[row] = scale.inverse;
  }
}

void multiply(const bf16* x, Index cols, const float* scales, float* scaled, Index begin, Index end) {
  for (Index row = begin; row < end; ++row) {
    const float scale = scales[row];
    for (Index i = row * cols; i < (row + 1) * cols; ++i) scaled[i] = widen(x[i]) * scale;
  }
}

void clamp(float* scaled, Index cols, float largest, Index begin, Index end) {
  for (Index i = begin * cols; i < end * cols; ++i) {
    const float capped = scaled[i] > largest ? largest : scaled[i];  // a NaN passes both
    scaled[i] = capped < -largest ? -largest : capped;
  }
}

/// encode() of cast.h for one float, without branches.
template <fp8::Format F>
[[gnu::always_inline]] inline std::uint8_t encode_one(float x) {
  using Of = Bits<F>;
  const auto bits = __builtin_bit_cast(std::uint32_t, x);
  const std::uint32_t absolute = bits & fp8::kFloatMagnitudeMask;
  const std::uint32_t clamped = absolute < Of::max ? absolute : Of::max;
  const std::uint32_t exponent = clamped & fp8::kFloatInfinity;
  const std::uint32_t leading = exponent > Of::min_normal ? exponent : Of::min_normal;
  const std::uint32_t rounder = leading + (static_cast<std::uint32_t>(Of::dropped) << fp8::kFloatMantissaBits);
  const float rounded = __builtin_bit_cast(float, clamped) + __builtin_bit_cast(float, rounder);
  const std::uint32_t significand = __builtin_bit_cast(std::uint32_t, rounded) - rounder;
  const std::uint32_t code = significand + ((leading - Of::min_normal) >> Of::dropped);
  const std::uint32_t sign = Of::has_negative_zero || code != 0 ? (bits >> 24) & 0x80U : 0U;
  return static_cast<std::uint8_t>(absolute > fp8::kFloatInfinity ? Of::nan_code : code | sign);
}

void encode_rows(const float* scaled, Index cols, fp8::Format format, std::uint8_t* codes, Index begin, Index end) {
  with_format(format, [&](auto tag) {
    for (Index i = begin * cols; i < end * cols; ++i) codes[i] = encode_one<tag.format>(scaled[i]);
  });
}

}  // namespace

extern const UnfusedCast unfused_passes;
const UnfusedCast unfused_passes{absolute_maxima, scales, multiply, clamp, encode_rows};

}  // namespace octet::ops::cpu::OCTET_ISA
