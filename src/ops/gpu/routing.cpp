// Launches of routing.
#include <algorithm>

#include "kernels/grouped_arguments.h"
#include "ops/gpu/entries.h"
#include "ops/gpu/gpu_device.h"

namespace octet::ops::gpu {
namespace {

constexpr Index kChunk = 512;  // choices a block, as kernels/routing.cu has it
constexpr unsigned kTokenThreads = 128;

kernels::RouterRule router_rule(const RouterRule& rule) {
  return {.experts = static_cast<int>(rule.experts),
          .top_k = static_cast<int>(rule.top_k),
          .groups = static_cast<int>(rule.groups),
          .kept_groups = static_cast<int>(rule.kept_groups),
          .scale = rule.scale,
          .softmax = rule.score == RouterScore::softmax,
          .normalised = rule.normalised};
}

/// A warp a token, with two words an expert.
LaunchShape token_launch(const Device& device, Index rows, Index experts) {
  const unsigned warps = kTokenThreads / static_cast<unsigned>(gpu(device).warp_size());
  const Index most = Index{gpu(device).multiprocessors()} * 16;
  return {.blocks_x = static_cast<unsigned>(std::min<Index>(blocks_for(rows, warps), most)),
          .threads = kTokenThreads,
          .shared_bytes = warps * 2 * static_cast<unsigned>(experts) * 4};
}

std::uint64_t* counts_of(std::int64_t* load) {
  return reinterpret_cast<std::uint64_t*>(load);
}

/// With a balance loss: how often each sequence chose each expert, and each block's part of the loss.
struct BalancePlan {
  LaunchShape shape;
  Index count;
  std::uint64_t* counts;
  double* partials;
};

BalancePlan plan(const Device& device, const RouteBackward& op, WorkspaceCutter& cutter) {
  const LaunchShape shape = token_launch(device, op.rows, op.rule.experts);
  if (op.balance_scale == 0) return {shape, 0, nullptr, nullptr};
  const Index count = op.rows / std::max<Index>(1, op.seq_len) * op.rule.experts;
  auto* counts = cutter.take<std::uint64_t>(count);
  return {shape, count, counts, cutter.take<double>(shape.blocks_x)};
}

/// Choices of each chunk for each expert.
std::int32_t* plan(const GroupTokens& op, WorkspaceCutter& cutter) {
  return cutter.take<std::int32_t>(Index{blocks_for(op.rows * op.top_k, kChunk)} * op.expert_count);
}

}  // namespace

void route(Device& device, const Route& op, Workspace) {
  gpu(device).launch(
      "route", token_launch(device, op.rows, op.rule.experts),
      kernels::Route{op.logits, op.bias, op.experts, op.weights, counts_of(op.load), op.rows, router_rule(op.rule)});
}

std::size_t route_backward_workspace(const Device& device, const RouteBackward& op) {
  WorkspaceCutter cutter;
  (void)plan(device, op, cutter);
  return cutter.used();
}

void route_backward(Device& device, const RouteBackward& op, Workspace workspace) {
  if (op.rows == 0) return;
  WorkspaceCutter cutter(workspace);
  const BalancePlan p = plan(device, op, cutter);
  const GpuDevice& on = gpu(device);
  if (p.counts != nullptr) {
    constexpr unsigned kThreads = 256;
    const Index choices = op.rows * op.rule.top_k;
    on.driver().zero(p.counts, static_cast<std::size_t>(p.count) * sizeof *p.counts);
    on.count_launch();
    on.launch("count_choices", {.blocks_x = blocks_for(choices, kThreads), .threads = kThreads},
              kernels::CountChoices{op.experts, p.counts, choices, op.seq_len * op.rule.top_k,
                                    static_cast<int>(op.rule.experts)});
  }
  on.launch("route_backward", p.shape,
            kernels::RouteBackward{op.logits, op.experts, op.dweights, p.counts, op.dlogits, p.partials, op.rows,
                                   op.seq_len, router_rule(op.rule), op.balance_scale});
  if (p.counts == nullptr) return;
  on.launch("finish_sum", {.threads = 256},
            kernels::FinishSum{p.partials, op.balance_loss, 1, static_cast<int>(p.shape.blocks_x)});
}

void balance_bias(Device& device, const BalanceBias& op, Workspace) {
  gpu(device).launch("balance_bias", {.threads = threads_for(device, op.experts, 1024)},
                     kernels::BalanceBias{op.bias, counts_of(op.load), static_cast<int>(op.experts), op.rate});
}

std::size_t group_tokens_workspace(const Device&, const GroupTokens& op) {
  WorkspaceCutter cutter;
  (void)plan(op, cutter);
  return cutter.used();
}

void group_tokens(Device& device, const GroupTokens& op, Workspace workspace) {
  WorkspaceCutter cutter(workspace);
  std::int32_t* counts = plan(op, cutter);
  const Index choices = op.rows * op.top_k;
  const LaunchShape chunks{.blocks_x = blocks_for(choices, kChunk), .threads = 256};
  const kernels::GroupTokens arguments{op.experts,
                                       counts,
                                       op.offsets,
                                       op.padded_offsets,
                                       op.choice_of_row,
                                       op.row_of_choice,
                                       choices,
                                       static_cast<int>(chunks.blocks_x),
                                       static_cast<int>(op.expert_count)};
  gpu(device).launch("count_group_tokens", chunks, arguments);
  gpu(device).launch("place_groups", {.threads = threads_for(device, op.expert_count, 1024)}, arguments);
  gpu(device).launch("hand_out_rows", chunks, arguments);
}

}  // namespace octet::ops::gpu
