// The scale of one row: scalar code, compiled once for every instruction set.
#pragma once

#include <cstdint>

#include "fp8/scale.h"

namespace octet::ops::cpu {

struct RowScale {
  float scale;    // values are multiplied by it before they are encoded
  float inverse;  // what is stored beside the codes
};

/// By fp8::ScaleRule, from the largest magnitude of the row as bf16 bits (sign clear; NaN stays largest).
/// Not inline: the kernels above the baseline must not bring a copy of their own for the linker to choose.
[[nodiscard]] RowScale row_scale(const fp8::ScaleRule& rule, std::uint16_t amax_bits);

}  // namespace octet::ops::cpu
