// The GPU's entries of the op table, family by family: each op's run and, where it needs scratch, its workspace.
#pragma once

#include "ops/backend.h"

namespace octet::ops::gpu {

// norms.cpp
void rmsnorm_forward(Device& device, const RmsNormForward& op, Workspace workspace);
[[nodiscard]] std::size_t rmsnorm_forward_workspace(const Device& device, const RmsNormForward& op);
void rmsnorm_forward_cast(Device& device, const RmsNormForwardCast& op, Workspace workspace);
void rmsnorm_backward(Device& device, const RmsNormBackward& op, Workspace workspace);
[[nodiscard]] std::size_t rmsnorm_backward_workspace(const Device& device, const RmsNormBackward& op);

// attention.cpp
void attention_forward(Device& device, const AttentionForward& op, Workspace workspace);
[[nodiscard]] std::size_t attention_forward_workspace(const Device& device, const AttentionForward& op);
void attention_backward(Device& device, const AttentionBackward& op, Workspace workspace);
[[nodiscard]] std::size_t attention_backward_workspace(const Device& device, const AttentionBackward& op);

// feed_forward.cpp
void swiglu_forward(Device& device, const SwigluForward& op, Workspace workspace);
[[nodiscard]] std::size_t swiglu_forward_workspace(const Device& device, const SwigluForward& op);
void swiglu_backward(Device& device, const SwigluBackward& op, Workspace workspace);
[[nodiscard]] std::size_t swiglu_backward_workspace(const Device& device, const SwigluBackward& op);
void swiglu_backward_cast(Device& device, const SwigluBackwardCast& op, Workspace workspace);

// products.cpp
void gemm(Device& device, const Gemm& op, Workspace workspace);
[[nodiscard]] std::size_t gemm_workspace(const Device& device, const Gemm& op);

// casts.cpp
void quantize_rows(Device& device, const QuantizeRows& op, Workspace workspace);
[[nodiscard]] std::size_t quantize_rows_workspace(const Device& device, const QuantizeRows& op);
void maxima(Device& device, const Maxima& op, Workspace workspace);
[[nodiscard]] std::size_t maxima_workspace(const Device& device, const Maxima& op);
void cast(Device& device, const Cast& op, Workspace workspace);
[[nodiscard]] std::size_t cast_workspace(const Device& device, const Cast& op);

// routing.cpp
void route(Device& device, const Route& op, Workspace workspace);
void route_backward(Device& device, const RouteBackward& op, Workspace workspace);
[[nodiscard]] std::size_t route_backward_workspace(const Device& device, const RouteBackward& op);
void balance_bias(Device& device, const BalanceBias& op, Workspace workspace);
void group_tokens(Device& device, const GroupTokens& op, Workspace workspace);
[[nodiscard]] std::size_t group_tokens_workspace(const Device& device, const GroupTokens& op);

// gather.cpp
void gather_rows(Device& device, const GatherRows& op, Workspace workspace);
[[nodiscard]] std::size_t gather_rows_workspace(const Device& device, const GatherRows& op);
void gather_rows_cast(Device& device, const GatherRowsCast& op, Workspace workspace);
void combine_rows(Device& device, const CombineRows& op, Workspace workspace);

// grouped_feed_forward.cpp
void grouped_swiglu_forward(Device& device, const GroupedSwigluForward& op, Workspace workspace);
[[nodiscard]] std::size_t grouped_swiglu_forward_workspace(const Device& device, const GroupedSwigluForward& op);
void grouped_swiglu_backward(Device& device, const GroupedSwigluBackward& op, Workspace workspace);
[[nodiscard]] std::size_t grouped_swiglu_backward_workspace(const Device& device, const GroupedSwigluBackward& op);
void grouped_swiglu_cast(Device& device, const GroupedSwigluCast& op, Workspace workspace);

// grouped_products.cpp
void grouped_gemm(Device& device, const GroupedGemm& op, Workspace workspace);
[[nodiscard]] std::size_t grouped_gemm_workspace(const Device& device, const GroupedGemm& op);
void grouped_wgrad(Device& device, const GroupedWgrad& op, Workspace workspace);
[[nodiscard]] std::size_t grouped_wgrad_workspace(const Device& device, const GroupedWgrad& op);

// latent_attention.cpp
void mla_assemble(Device& device, const MlaAssemble& op, Workspace workspace);
void mla_assemble_backward(Device& device, const MlaAssembleBackward& op, Workspace workspace);

// sums.cpp
void add(Device& device, const Add& op, Workspace workspace);
void shift_tokens(Device& device, const ShiftTokens& op, Workspace workspace);

// embedding.cpp
void embedding_forward(Device& device, const EmbeddingForward& op, Workspace workspace);
void embedding_backward(Device& device, const EmbeddingBackward& op, Workspace workspace);

// rope.cpp
void rope(Device& device, const Rope& op, Workspace workspace);
[[nodiscard]] std::size_t rope_workspace(const Device& device, const Rope& op);

// head_norm.cpp
void head_norm_rope(Device& device, const HeadNormRope& op, Workspace workspace);
void head_norm_rope_backward(Device& device, const HeadNormRopeBackward& op, Workspace workspace);
[[nodiscard]] std::size_t head_norm_rope_backward_workspace(const Device& device, const HeadNormRopeBackward& op);

// decode.cpp
void append_to_cache(Device& device, const AppendToCache& op, Workspace workspace);
void attention_decode(Device& device, const AttentionDecode& op, Workspace workspace);
[[nodiscard]] std::size_t attention_decode_workspace(const Device& device, const AttentionDecode& op);

// loss.cpp
void cross_entropy(Device& device, const CrossEntropy& op, Workspace workspace);

// whole_tensor.cpp
void sum_floats(Device& device, const SumFloats& op, Workspace workspace);
[[nodiscard]] std::size_t sum_floats_workspace(const Device& device, const SumFloats& op);
void sum_of_squares(Device& device, const SumOfSquares& op, Workspace workspace);
[[nodiscard]] std::size_t sum_of_squares_workspace(const Device& device, const SumOfSquares& op);
void find_non_finite(Device& device, const FindNonFinite& op, Workspace workspace);
[[nodiscard]] std::size_t find_non_finite_workspace(const Device& device, const FindNonFinite& op);
void cast_statistics(Device& device, const CastStatistics& op, Workspace workspace);
void zero(Device& device, const Zero& op, Workspace workspace);
void copy(Device& device, const Copy& op, Workspace workspace);
void difference(Device& device, const Difference& op, Workspace workspace);
[[nodiscard]] std::size_t difference_workspace(const Device& device, const Difference& op);

// adamw.cpp
void adamw(Device& device, const AdamW& op, Workspace workspace);
[[nodiscard]] std::size_t adamw_workspace(const Device& device, const AdamW& op);

}  // namespace octet::ops::gpu
