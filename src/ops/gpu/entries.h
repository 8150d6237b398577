// The GPU's entries of the op table, family by family: each op's run and, where it needs scratch, its workspace.
#pragma once

#include "ops/backend.h"

namespace octet::ops::gpu {

// norms.cpp
void rmsnorm_forward(Device& device, const RmsNormForward& op, Workspace workspace);
[[nodiscard]] std::size_t rmsnorm_forward_workspace(const Device& device, const RmsNormForward& op);
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

// casts.cpp
void quantize_rows(Device& device, const QuantizeRows& op, Workspace workspace);
[[nodiscard]] std::size_t quantize_rows_workspace(const Device& device, const QuantizeRows& op);
void maxima(Device& device, const Maxima& op, Workspace workspace);
[[nodiscard]] std::size_t maxima_workspace(const Device& device, const Maxima& op);
void cast(Device& device, const Cast& op, Workspace workspace);
[[nodiscard]] std::size_t cast_workspace(const Device& device, const Cast& op);

}  // namespace octet::ops::gpu
