// The choice among the instruction sets that the row kernels are compiled for.
#include "ops/cpu/row_kernels.h"

#ifdef __x86_64__
#include <cpuid.h>
#endif

#include "core/error.h"
#include "ops/cpu/unfused_cast.h"

namespace octet::ops {
namespace cpu {

namespace baseline {
extern const RowKernels kernels;
extern const UnfusedCast unfused_passes;
}  // namespace baseline
#ifdef __x86_64__
namespace avx2 {
extern const RowKernels kernels;
extern const UnfusedCast unfused_passes;
}  // namespace avx2
namespace avx512 {
extern const RowKernels kernels;
extern const UnfusedCast unfused_passes;
}  // namespace avx512
#endif

const RowKernels& row_kernels(CpuIsa isa) {
#ifdef __x86_64__
  if (isa == CpuIsa::avx512) return avx512::kernels;
  if (isa == CpuIsa::avx2) return avx2::kernels;
#endif
  check(isa == CpuIsa::baseline, "this machine's kernels exist at the baseline level only");
  return baseline::kernels;
}

const UnfusedCast& unfused_cast(CpuIsa isa) {
#ifdef __x86_64__
  if (isa == CpuIsa::avx512) return avx512::unfused_passes;
  if (isa == CpuIsa::avx2) return avx2::unfused_passes;
#endif
  check(isa == CpuIsa::baseline, "this machine's kernels exist at the baseline level only");
  return baseline::unfused_passes;
}

}  // namespace cpu

std::string_view name(CpuIsa isa) {
  switch (isa) {
    case CpuIsa::baseline:
      return "baseline";
    case CpuIsa::avx2:
      return "avx2";
    case CpuIsa::avx512:
      return "avx512";
  }
  throw Failure("no such instruction set: {}", static_cast<int>(isa));
}

#ifdef __x86_64__
namespace {

/// What x86-64-v3 asks for beyond the features whose names every compiler knows: F16C, MOVBE, LZCNT.
bool has_small_v3_features() {
  constexpr unsigned kF16cAndMovbe = 1U << 29U | 1U << 22U;  // of leaf 1, ecx
  constexpr unsigned kLzcnt = 1U << 5U;                      // of leaf 0x80000001, ecx
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) == 0 || (ecx & kF16cAndMovbe) != kF16cAndMovbe) return false;
  return __get_cpuid(0x8000'0001U, &eax, &ebx, &ecx, &edx) != 0 && (ecx & kLzcnt) != 0;
}

}  // namespace
#endif

CpuIsa detect_cpu_isa() {
#ifdef __x86_64__
  const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
                  __builtin_cpu_supports("fma") && has_small_v3_features();
  const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                  __builtin_cpu_supports("avx512vl");
  if (v4) return CpuIsa::avx512;
  if (v3) return CpuIsa::avx2;
#endif
  return CpuIsa::baseline;
}

}  // namespace octet::ops
