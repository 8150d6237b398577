// A DeepSeek-V3 small enough for the oracle, with weights that bf16 holds exactly, so that both models have the same.
#pragma once

#include <map>
#include <memory>

#include "model/agreement.h"
#include "model/deepseek.h"
#include "ops/reference/deepseek.h"

namespace octet::test {

/// A dense layer and one of experts in groups, with a shared one; low-rank queries. All sizes are multiples of 16, as
/// FP8 products ask.
[[nodiscard]] DeepSeekConfig small_deepseek();
/// The same with what may be left out left out, and the router of Qwen3: softmax, normalised, no groups, no bias, no
/// shared expert.
[[nodiscard]] DeepSeekConfig plain_deepseek();

/// That router behind grouped queries whose heads are normed, and together wider than the stream: Qwen3's mixture of
/// experts, with a dense layer before it.
[[nodiscard]] DeepSeekConfig small_qwen3_moe();

[[nodiscard]] ops::reference::DeepSeekConfig oracle_config(const DeepSeekConfig& config);
/// Random weights large enough that every part of the model matters to the loss.
[[nodiscard]] ops::reference::Parameters random_weights(const DeepSeekConfig& config);

/// Random tokens, every seventh target ignored, whose choices of experts no error of bf16 changes: the first of several
/// for which the oracle says so.
[[nodiscard]] ops::reference::LlamaBatch clear_batch(const DeepSeekConfig& config, const BatchShape& shape);

/// bf16 products with fp32 sums: of few tokens, through latents.
inline constexpr Bounds kLatentBounds{2e-3, 36, 28};

/// Biases [E] by the oracle's names of layers.
using Biases = std::map<std::string, ops::reference::Vector>;

[[nodiscard]] std::unique_ptr<DeepSeek> make_deepseek(const DeepSeekConfig& config, const BatchShape& shape,
                                                      ModelOptions options);
/// Sets the biases of an allocated model's routers: zero where there is none.
void write_biases(ops::Device& device, const Model& model, const Biases& biases);

}  // namespace octet::test
