// A Llama small enough for the oracle, with weights that bf16 holds exactly, so that both models have the same.
#pragma once

#include "model/llama.h"
#include "ops/reference/llama.h"

namespace octet::test {

/// Two layers, grouped queries, an untied head; all sizes are multiples of 16, as FP8 products ask.
[[nodiscard]] LlamaConfig small_llama();
/// The same as Qwen3 has it: heads that together are wider than the stream, each normed, and a tied head.
[[nodiscard]] LlamaConfig small_qwen3();
[[nodiscard]] ops::reference::LlamaConfig oracle_config(const LlamaConfig& config);

/// Random weights large enough that every part of the model matters to the loss.
[[nodiscard]] ops::reference::Parameters random_weights(const LlamaConfig& config);
/// Random tokens; every seventh target is ignored.
[[nodiscard]] ops::reference::LlamaBatch random_batch(const LlamaConfig& config, const BatchShape& shape);
/// The batch's, with documents where it has them.
[[nodiscard]] BatchShape shape_of(const ops::reference::LlamaBatch& batch);
/// How many targets of a batch count.
[[nodiscard]] std::int64_t counted_targets(const ops::reference::LlamaBatch& batch);

/// Every layer that can be is converted, the head too if `fp8_head`.
[[nodiscard]] PrecisionOptions precision(std::string_view recipe, fp8::FormatFamily family = fp8::FormatFamily::ocp,
                                         bool fp8_head = false);

}  // namespace octet::test
