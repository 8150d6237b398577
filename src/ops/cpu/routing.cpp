// The router on the CPU, its balance, and the permutation that sorts tokens by expert.
#include <algorithm>
#include <numeric>
#include <vector>

#include "ops/cpu/measured_rows.h"
#include "ops/cpu/moe_entries.h"

namespace octet::ops::cpu {
namespace {

constexpr Index kTokenGrain = 64;

/// Bytes of a thread's own rows of scores and the like.
std::size_t scratch_bytes(Index rows, Index experts) {
  return padded(static_cast<std::size_t>(rows * experts) * sizeof(float));
}

/// What the gradient keeps: how often each sequence chose each expert, times E / (K S), what each token adds to the
/// balance loss, and a piece for each thread.
struct BackwardLayout {
  float* fractions = nullptr;  // [T / S, E]
  double* losses = nullptr;    // [T]
  std::byte* scratch;
  std::size_t bytes;

  BackwardLayout(const CpuDevice& self, const RouteBackward& op, std::byte* workspace) {
    WorkspaceCutter cutter(workspace);
    if (op.balance_scale != 0) {
      fractions = cutter.take<float>(op.rows / op.seq_len * op.rule.experts);
      losses = cutter.take<double>(op.rows);
    }
    scratch = cutter.take<std::byte>(self.threads() * static_cast<Index>(scratch_bytes(2, op.rule.experts)));
    bytes = cutter.used();
  }
};

void count_choices(const RouteBackward& op, float* fractions) {
  const Index choices = op.seq_len * op.rule.top_k;
  const float unit = static_cast<float>(op.rule.experts) / static_cast<float>(choices);
  std::vector<std::int64_t> counts(static_cast<std::size_t>(op.rule.experts));
  for (Index sequence = 0; sequence < op.rows / op.seq_len; ++sequence) {
    std::ranges::fill(counts, 0);
    for (Index i = 0; i < choices; ++i) ++counts[static_cast<std::size_t>(op.experts[sequence * choices + i])];
    for (const std::int64_t count : counts) *fractions++ = static_cast<float>(count) * unit;
  }
}

}  // namespace

std::size_t route_workspace(const Device& device, const Route& op) {
  return static_cast<std::size_t>(cpu(device).threads()) * scratch_bytes(3, op.rule.experts);
}

void run_route(Device& device, const Route& op, Workspace workspace) {
  const CpuDevice& self = cpu(device);
  const std::size_t bytes = scratch_bytes(3, op.rule.experts);
  self.pool().run((op.rows + kTokenGrain - 1) / kTokenGrain, [&](Index chunk, int thread) {
    auto* scratch = reinterpret_cast<float*>(workspace.data() + static_cast<std::size_t>(thread) * bytes);
    self.kernels().route(op, chunk * kTokenGrain, std::min(op.rows, (chunk + 1) * kTokenGrain), scratch);
  });
  for (Index choice = 0; choice < op.rows * op.rule.top_k; ++choice) ++op.load[op.experts[choice]];
}

std::size_t route_backward_workspace(const Device& device, const RouteBackward& op) {
  return BackwardLayout(cpu(device), op, nullptr).bytes;
}

void run_route_backward(Device& device, const RouteBackward& op, Workspace workspace) {
  const CpuDevice& self = cpu(device);
  const BackwardLayout layout(self, op, workspace.data());
  const std::size_t bytes = scratch_bytes(2, op.rule.experts);
  if (layout.fractions != nullptr) count_choices(op, layout.fractions);
  self.pool().run((op.rows + kTokenGrain - 1) / kTokenGrain, [&](Index chunk, int thread) {
    auto* scratch = reinterpret_cast<float*>(layout.scratch + static_cast<std::size_t>(thread) * bytes);
    self.kernels().route_backward(op, layout.fractions, chunk * kTokenGrain,
                                  std::min(op.rows, (chunk + 1) * kTokenGrain), scratch, layout.losses);
  });
  if (layout.losses != nullptr) *op.balance_loss += std::accumulate(layout.losses, layout.losses + op.rows, 0.0);
}

void run_balance_bias(Device&, const BalanceBias& op, Workspace) {
  const std::int64_t total = std::accumulate(op.load, op.load + op.experts, std::int64_t{0});
  const auto sign = [&](std::int64_t load) {  // of mean - load, in whole numbers
    return (total > op.experts * load ? 1 : 0) - (total < op.experts * load ? 1 : 0);
  };
  std::int64_t sum = 0;
  for (Index e = 0; e < op.experts; ++e) sum += sign(op.load[e]);
  const float mean = static_cast<float>(sum) / static_cast<float>(op.experts);
  for (Index e = 0; e < op.experts; ++e) op.bias[e] += op.rate * (static_cast<float>(sign(op.load[e])) - mean);
  std::fill_n(op.load, op.experts, std::int64_t{0});
}

/// A counting sort, which keeps the order of tokens.
void run_group_tokens(Device&, const GroupTokens& op, Workspace) {
  const Index choices = op.rows * op.top_k;
  std::vector<std::int32_t> next(static_cast<std::size_t>(op.expert_count + 1));  // first their counts
  for (Index choice = 0; choice < choices; ++choice) ++next[static_cast<std::size_t>(op.experts[choice]) + 1];
  op.offsets[0] = op.padded_offsets[0] = 0;
  for (Index e = 0; e < op.expert_count; ++e) {
    const std::int32_t count = next[static_cast<std::size_t>(e) + 1];
    const Index tiles = (count + kGroupTile - 1) / kGroupTile;
    op.offsets[e + 1] = op.offsets[e] + count;
    op.padded_offsets[e + 1] = op.padded_offsets[e] + static_cast<std::int32_t>(tiles * kGroupTile);
  }
  std::copy_n(op.offsets, op.expert_count + 1, next.begin());
  for (Index choice = 0; choice < choices; ++choice) {
    const std::int32_t row = next[static_cast<std::size_t>(op.experts[choice])]++;
    op.row_of_choice[choice] = row;
    op.choice_of_row[row] = static_cast<std::int32_t>(choice);
  }
}

}  // namespace octet::ops::cpu
