// The choice among the instruction sets that the row kernels are compiled for.
#include "ops/cpu/row_kernels.h"

#include "core/error.h"

namespace octet::ops {
namespace cpu {

namespace baseline {
extern const RowKernels kernels;
}
#ifdef __x86_64__
namespace avx2 {
extern const RowKernels kernels;
}
namespace avx512 {
extern const RowKernels kernels;
}
#endif

const RowKernels& row_kernels(CpuIsa isa) {
#ifdef __x86_64__
  if (isa == CpuIsa::avx512) return avx512::kernels;
  if (isa == CpuIsa::avx2) return avx2::kernels;
#endif
  check(isa == CpuIsa::baseline, "this machine's kernels exist at the baseline level only");
  return baseline::kernels;
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

CpuIsa detect_cpu_isa() {
#ifdef __x86_64__
  if (__builtin_cpu_supports("x86-64-v4")) return CpuIsa::avx512;
  if (__builtin_cpu_supports("x86-64-v3")) return CpuIsa::avx2;
#endif
  return CpuIsa::baseline;
}

}  // namespace octet::ops
