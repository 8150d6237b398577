// Scale and inverse scale from an absolute maximum.
#include "ops/cpu/row_scale.h"

#include "fp8/bf16.h"

namespace octet::ops::cpu {

RowScale row_scale(const fp8::ScaleRule& rule, std::uint16_t amax_bits) {
  const float scale = rule.scale(to_float(bf16{amax_bits}));
  return {scale, fp8::inverse(scale)};
}

}  // namespace octet::ops::cpu
