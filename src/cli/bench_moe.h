// `octet bench moe`: the expert layer of a mixture of experts, in FP8 beside bf16.
#pragma once

#include <cstdint>
#include <string>

#include "cli/bench.h"
#include "fp8/recipe.h"

namespace octet::cli {

/// By default the experts of a rank of DeepSeek-V3.
struct MoeBenchOptions {
  std::string device = "cuda";
  std::int64_t experts = 32;
  std::int64_t rows = 32768;  ///< routed, of all experts
  std::int64_t dim = 7168;
  std::int64_t ffn_dim = 2048;
  fp8::Accumulation accumulation = fp8::Accumulation::fast;
  std::int64_t top_k = 8;           ///< experts of a token, in the whole layer
  std::int64_t shared_experts = 1;  ///< in the whole layer
};

/// Forward and backward of w1, w3, SwiGLU and w2 over routed rows that are equally shared, skewed, all of one expert,
/// or of every eighth: the whole of it with and without casts of weights, and each op by itself; in FP8, in FP8 whose
/// casts are passes of their own, and in bf16. UserError for sizes
/// that products do not take.
[[nodiscard]] BenchReport bench_moe(const MoeBenchOptions& options);

}  // namespace octet::cli
