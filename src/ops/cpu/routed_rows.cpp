// Routed rows on the CPU: ranges of each group's rows, or of the columns of its codes, go to threads.
#include <algorithm>
#include <mutex>
#include <vector>

#include "ops/cpu/measured_rows.h"
#include "ops/cpu/moe_entries.h"

namespace octet::ops::cpu {
namespace {

/// Rows of one group.
struct Chunk {
  Index group, begin, end;
};

std::vector<Chunk> chunks_of(const Groups& groups, Index grain) {
  std::vector<Chunk> chunks;
  for (Index e = 0; e < groups.experts; ++e) {
    for (Index begin = groups.offsets[e]; begin < groups.offsets[e + 1]; begin += grain) {
      chunks.push_back({e, begin, std::min<Index>(begin + grain, groups.offsets[e + 1])});
    }
  }
  return chunks;
}

std::size_t row_bytes(Index cols) {
  return padded(static_cast<std::size_t>(cols) * sizeof(bf16));
}

/// A thread has the maxima of the columns of its rows, and the row that is not stored, where there are such.
template <typename Op>
std::size_t bytes_per_thread(const Op& op, Index cols) {
  return (op.columns.wanted ? row_bytes(cols) : 0) + (op.stored ? 0 : row_bytes(cols));
}

template <typename Op>
std::size_t grouped_workspace(const Device& device, const Op& op, Index cols) {
  return static_cast<std::size_t>(cpu(device).threads()) * bytes_per_thread(op, cols);
}

/// Runs body(begin, end, column_maxima, unstored) over the rows of all groups and leaves the maxima of each group's
/// columns: threads raise them in turn, in whatever order, on which a maximum does not depend.
template <typename Op, typename Body>
void run_groups(Device& device, const Op& op, Workspace workspace, Index cols, Index bytes_per_row, const Body& body) {
  const CpuDevice& self = cpu(device);
  bf16* amax = op.columns.amax;
  const std::size_t bytes = bytes_per_thread(op, cols);
  constexpr Index kMeasuredRows = 32;  // at least, so that raising the group's maxima costs little beside its own
  const Index grain = amax == nullptr ? row_grain(bytes_per_row) : std::max(kMeasuredRows, row_grain(bytes_per_row));
  const std::vector<Chunk> chunks = chunks_of(op.groups, grain);
  if (amax != nullptr) std::fill_n(amax, op.groups.experts * cols, bf16{0});
  std::mutex raising;
  self.pool().run(std::ssize(chunks), [&](Index task, int thread) {
    const Chunk& chunk = chunks[static_cast<std::size_t>(task)];
    std::byte* own = workspace.data() + static_cast<std::size_t>(thread) * bytes;
    auto* unstored = reinterpret_cast<bf16*>(own + (amax == nullptr ? 0 : row_bytes(cols)));
    if (amax == nullptr) return body(chunk.begin, chunk.end, nullptr, unstored);
    auto* maxima = reinterpret_cast<std::uint16_t*>(own);
    std::fill_n(maxima, cols, std::uint16_t{0});
    body(chunk.begin, chunk.end, maxima, unstored);
    const std::lock_guard lock(raising);
    bf16* of_group = amax + chunk.group * cols;
    for (Index col = 0; col < cols; ++col) of_group[col].bits = std::max(of_group[col].bits, maxima[col]);
  });
}

/// Runs body(group, begin, end) over ranges of columns of all groups, empty ones among them: those have scales too.
template <typename Body>
void run_group_columns(Device& device, const Groups& groups, Index cols, Index grain, const Body& body) {
  const Index ranges = (cols + grain - 1) / grain;
  cpu(device).pool().run(groups.experts * ranges, [&](Index task, int) {
    const Index begin = task % ranges * grain;
    body(task / ranges, begin, std::min(cols, begin + grain));
  });
}

}  // namespace

std::size_t gather_rows_workspace(const Device& device, const GatherRows& op) {
  return grouped_workspace(device, op, op.dim);
}

void run_gather_rows(Device& device, const GatherRows& op, Workspace workspace) {
  const RowKernels& kernels = cpu(device).kernels();
  run_groups(device, op, workspace, op.dim, op.dim * 4,
             [&](Index begin, Index end, std::uint16_t* column_maxima, bf16* /*unstored*/) {
               kernels.gather_rows(op, begin, end, column_maxima);
             });
}

void run_gather_rows_cast(Device& device, const GatherRowsCast& op, Workspace) {
  const RowKernels& kernels = cpu(device).kernels();
  run_group_columns(device, op.groups, op.dim, kColumnBlock,
                    [&](Index group, Index begin, Index end) { kernels.gather_rows_cast(op, group, begin, end); });
}

void run_combine_rows(Device& device, const CombineRows& op, Workspace) {
  run_rows<&RowKernels::combine_rows>(device, op, op.rows, op.dim * 2 * (op.top_k + 2));
}

std::size_t grouped_swiglu_forward_workspace(const Device& device, const GroupedSwigluForward& op) {
  return grouped_workspace(device, op, op.dim);
}

void run_grouped_swiglu_forward(Device& device, const GroupedSwigluForward& op, Workspace workspace) {
  const RowKernels& kernels = cpu(device).kernels();
  run_groups(device, op, workspace, op.dim, op.dim * 6,
             [&](Index begin, Index end, std::uint16_t* column_maxima, bf16* unstored) {
               kernels.grouped_swiglu_forward(op, begin, end, column_maxima, unstored);
             });
}

std::size_t grouped_swiglu_backward_workspace(const Device& device, const GroupedSwigluBackward& op) {
  return grouped_workspace(device, op, 2 * op.dim);
}

void run_grouped_swiglu_backward(Device& device, const GroupedSwigluBackward& op, Workspace workspace) {
  const RowKernels& kernels = cpu(device).kernels();
  run_groups(device, op, workspace, 2 * op.dim, op.dim * 10,
             [&](Index begin, Index end, std::uint16_t* column_maxima, bf16* unstored) {
               kernels.grouped_swiglu_backward(op, begin, end, column_maxima, unstored);
             });
}

void run_grouped_swiglu_cast(Device& device, const GroupedSwigluCast& op, Workspace) {
  const RowKernels& kernels = cpu(device).kernels();
  run_group_columns(device, op.groups, op.dim, kColumnBlock / 2,
                    [&](Index group, Index begin, Index end) { kernels.grouped_swiglu_cast(op, group, begin, end); });
}

}  // namespace octet::ops::cpu
