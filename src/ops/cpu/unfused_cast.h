// The FP8 row cast as a framework without fusion runs it: five passes over memory, for comparison with the fused
// kernel. Plain loops, compiled for the same instruction sets as the kernels.
#pragma once

#include <cstdint>

#include "fp8/scale.h"
#include "ops/cpu/cpu_isa.h"

namespace octet::ops::cpu {

/// Each pass works on rows [begin, end) of a matrix with `cols` columns. The codes are those of the fused kernel.
struct UnfusedCast {
  using Index = std::int64_t;
  void (*absolute_maxima)(const bf16* x, Index cols, float* maxima, Index begin, Index end);
  void (*scales)(const float* maxima, const fp8::ScaleRule& rule, float* scales, float* scale_inverse, Index begin,
                 Index end);
  void (*multiply)(const bf16* x, Index cols, const float* scales, float* scaled, Index begin, Index end);
  void (*clamp)(float* scaled, Index cols, float largest, Index begin, Index end);
  void (*encode)(const float* scaled, Index cols, fp8::Format format, std::uint8_t* codes, Index begin, Index end);
};

[[nodiscard]] const UnfusedCast& unfused_cast(CpuIsa isa);

}  // namespace octet::ops::cpu
