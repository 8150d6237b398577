// A fault on purpose, to show what it costs. One caller: the model of `octet train --demonstrate`.
#pragma once

#include "fp8/formats.h"
#include "fp8/scale.h"

namespace octet::fp8::demonstration {

/// The rule for e4m3fnuz codes that assumes the maximum of e4m3fn. Scaled values between 240 and 448 overflow: a
/// saturating cast clips them to 240, encode_non_saturating() turns them into NaN.
[[nodiscard]] constexpr ScaleRule fnuz_scaled_for_448(bool power_of_two) {
  return ScaleRule(Format::e4m3fnuz, Limits<Format::e4m3fn>::max, power_of_two);
}

}  // namespace octet::fp8::demonstration
