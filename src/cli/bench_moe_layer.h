// `octet bench moe --layer`: a whole mixture of experts as a model runs it.
#pragma once

#include "cli/bench_moe.h"

namespace octet::cli {

/// Forward and backward of router, permutation, routed experts, shared expert and their sum, in bf16 and rowwise FP8,
/// with and without casts of weights, and the time of each op. Tokens are routed by a random router, and by one whose
/// biases send all of them to the same experts. UserError for sizes that do not go together.
[[nodiscard]] BenchReport bench_moe_layer(const MoeBenchOptions& options);

}  // namespace octet::cli
