// The cast of one slice from bf16 to FP8, one element after the other: every faster cast gives these very bytes.
#pragma once

#include <cstddef>
#include <span>
#include <stdexcept>

#include "fp8/bf16.h"
#include "fp8/formats.h"
#include "fp8/host_device.h"
#include "fp8/scale.h"

namespace octet::fp8 {

/// The code of x under a scale. Encoding saturates and is therefore the clamp to +-max as well; it keeps NaN, which a
/// minimum and a maximum would lose on some devices.
template <Format F>
[[nodiscard]] OCTET_HOST_DEVICE constexpr Code<F> cast_element(bf16 x, float scale) {
  return encode<F>(to_float(x) * scale);
}

/// Casts x [n] to codes [n] under one common scale, which it returns; inverse(scale) undoes it.
/// A NaN in x makes scale and codes all NaN. An infinity makes the scale 0: infinities become NaN, finite values zero.
/// An empty slice has the scale of zeros.
/// Throws std::invalid_argument if the lengths differ or the rule is that of another format.
template <Format F>
constexpr float cast_slice(std::span<const bf16> x, std::span<Code<F>> codes, ScaleRule rule) {
  if (x.size() != codes.size()) throw std::invalid_argument("cast_slice: x and codes differ in length");
  if (rule.format() != F) throw std::invalid_argument("cast_slice: the scale rule belongs to another format");
  const float scale = rule.scale(to_float(amax(x)));
  for (std::size_t i = 0; i < x.size(); ++i) codes[i] = cast_element<F>(x[i], scale);
  return scale;
}

}  // namespace octet::fp8
