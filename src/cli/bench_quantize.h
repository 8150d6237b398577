// `octet bench quantize`: FP8 casts on the CPU, fused against pass by pass, beside the speed of a copy.
#pragma once

#include <cstdint>
#include <vector>

#include "cli/bench.h"
#include "fp8/formats.h"
#include "ops/cpu/cpu_isa.h"

namespace octet::cli {

struct QuantizeBenchOptions {
  ops::CpuIsa isa = ops::detect_cpu_isa();
  std::int64_t rows = 16384;  // of the matrix in memory; it should exceed the last-level cache
  std::int64_t cols = 4096;
  int threads = 0;  // 0: all cores
  std::vector<fp8::Format> formats{fp8::Format::e4m3fn, fp8::Format::e4m3fnuz, fp8::Format::e5m2,
                                   fp8::Format::e5m2fnuz};
  int repetitions = 9;  // at least 9; medians are reported
};

/// Casts a matrix [rows, cols] bf16, and one that fits the second-level cache of every core, in every format: by rows
/// in five separate passes, fused, and fused with the maxima of the columns, each of rows as they lie and of rows that
/// are gathered for experts; under known maxima by columns, transposed, and to both layouts at once. Measures the
/// maxima alone and decodes to bf16 as well. Throws UserError for sizes below 1, more than the machine's instruction
/// set, or fewer than 9 repetitions.
[[nodiscard]] BenchReport bench_quantize(const QuantizeBenchOptions& options);

}  // namespace octet::cli
