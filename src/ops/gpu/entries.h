// The GPU's entries of the op table, family by family: each op's run and, where it needs scratch, its workspace.
#pragma once

#include "ops/backend.h"

namespace octet::ops::gpu {

// norms.cpp
void rmsnorm_forward(Device& device, const RmsNormForward& op, Workspace workspace);
[[nodiscard]] std::size_t rmsnorm_forward_workspace(const Device& device, const RmsNormForward& op);
void rmsnorm_backward(Device& device, const RmsNormBackward& op, Workspace workspace);
[[nodiscard]] std::size_t rmsnorm_backward_workspace(const Device& device, const RmsNormBackward& op);

// feed_forward.cpp
void swiglu_forward(Device& device, const SwigluForward& op, Workspace workspace);
[[nodiscard]] std::size_t swiglu_forward_workspace(const Device& device, const SwigluForward& op);
void swiglu_backward(Device& device, const SwigluBackward& op, Workspace workspace);
[[nodiscard]] std::size_t swiglu_backward_workspace(const Device& device, const SwigluBackward& op);

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

// refusals.cpp: why the device cannot run an op at its sizes and formats, or null
[[nodiscard]] const char* refuse_gemm(const Gemm& op);
[[nodiscard]] const char* refuse_cast(const Cast& op);
/// Of any op that leaves codes of its rows, `cols` long.
[[nodiscard]] const char* refuse_row_codes(const RowCodes& codes, std::int64_t cols);

}  // namespace octet::ops::gpu
