// The CPU's entries for the ops of a mixture of experts: the run and workspace functions of each.
#pragma once

#include "ops/backend.h"

namespace octet::ops::cpu {

// routing.cpp
void run_route(Device& device, const Route& op, Workspace workspace);
[[nodiscard]] std::size_t route_workspace(const Device& device, const Route& op);
void run_route_backward(Device& device, const RouteBackward& op, Workspace workspace);
[[nodiscard]] std::size_t route_backward_workspace(const Device& device, const RouteBackward& op);
void run_balance_bias(Device& device, const BalanceBias& op, Workspace workspace);
void run_group_tokens(Device& device, const GroupTokens& op, Workspace workspace);

// routed_rows.cpp
void run_gather_rows(Device& device, const GatherRows& op, Workspace workspace);
[[nodiscard]] std::size_t gather_rows_workspace(const Device& device, const GatherRows& op);
void run_gather_rows_cast(Device& device, const GatherRowsCast& op, Workspace workspace);
void run_combine_rows(Device& device, const CombineRows& op, Workspace workspace);
void run_grouped_swiglu_forward(Device& device, const GroupedSwigluForward& op, Workspace workspace);
[[nodiscard]] std::size_t grouped_swiglu_forward_workspace(const Device& device, const GroupedSwigluForward& op);
void run_grouped_swiglu_backward(Device& device, const GroupedSwigluBackward& op, Workspace workspace);
[[nodiscard]] std::size_t grouped_swiglu_backward_workspace(const Device& device, const GroupedSwigluBackward& op);
void run_grouped_swiglu_cast(Device& device, const GroupedSwigluCast& op, Workspace workspace);

// grouped_products.cpp
void run_grouped_gemm(Device& device, const GroupedGemm& op, Workspace workspace);
[[nodiscard]] std::size_t grouped_gemm_workspace(const Device& device, const GroupedGemm& op);
void run_grouped_wgrad(Device& device, const GroupedWgrad& op, Workspace workspace);
[[nodiscard]] std::size_t grouped_wgrad_workspace(const Device& device, const GroupedWgrad& op);

}  // namespace octet::ops::cpu
