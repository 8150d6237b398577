// Ops that are run by ranges of rows, and the maxima that they leave of the columns of what they write.
#pragma once

#include <algorithm>
#include <cstring>
#include <optional>

#include "ops/cpu/cpu_device.h"
#include "ops/cpu/parallel.h"

namespace octet::ops::cpu {

/// Rounded up so that no two threads write to the same cache line.
[[nodiscard]] inline std::size_t padded(std::size_t bytes) {
  return (bytes + 63) / 64 * 64;
}

/// Column maxima of an op that is run by ranges of rows: each thread raises its own, the largest of all are the result.
/// A maximum does not depend on the order, so neither does it on the threads.
class ColumnFold {
 public:
  [[nodiscard]] static std::size_t workspace(const Device& device, Index cols) {
    return static_cast<std::size_t>(cpu(device).threads()) * bytes_per_thread(cols);
  }

  ColumnFold(const CpuDevice& device, Workspace workspace, Index cols)
      : pool_(device.pool()),
        workspace_(workspace.first(static_cast<std::size_t>(pool_.threads()) * bytes_per_thread(cols))),
        cols_(cols) {
    std::memset(workspace_.data(), 0, workspace_.size());
  }

  [[nodiscard]] std::uint16_t* of_thread(int thread) const {
    return reinterpret_cast<std::uint16_t*>(workspace_.data() +
                                            static_cast<std::size_t>(thread) * bytes_per_thread(cols_));
  }

  void write(bf16* amax) const {
    parallel_ranges(pool_, cols_, 4096, [&](Index begin, Index end) {
      for (Index col = begin; col < end; ++col) {
        std::uint16_t largest = 0;
        for (int thread = 0; thread < pool_.threads(); ++thread) largest = std::max(largest, of_thread(thread)[col]);
        amax[col] = bf16{largest};
      }
    });
  }

 private:
  [[nodiscard]] static std::size_t bytes_per_thread(Index cols) {
    return padded(static_cast<std::size_t>(cols) * sizeof(std::uint16_t));
  }

  ThreadPool& pool_;
  Workspace workspace_;
  Index cols_;
};

template <auto Kernel, typename Op>
void run_rows(Device& device, const Op& op, Index rows, Index bytes_per_row) {
  const CpuDevice& self = cpu(device);
  parallel_ranges(self.pool(), rows, row_grain(bytes_per_row),
                  [&](Index begin, Index end) { (self.kernels().*Kernel)(op, begin, end); });
}

/// Runs body(begin, end, column_maxima, thread) over chunks of rows, and writes the columns' maxima to `amax` [cols];
/// null where nobody wants them.
template <typename Body>
void measure_rows(const CpuDevice& self, Workspace workspace, Index rows, Index cols, Index bytes_per_row, bf16* amax,
                  const Body& body) {
  const Index grain = row_grain(bytes_per_row);
  std::optional<ColumnFold> fold;
  if (amax != nullptr) fold.emplace(self, workspace, cols);
  self.pool().run((rows + grain - 1) / grain, [&](Index chunk, int thread) {
    body(chunk * grain, std::min(rows, (chunk + 1) * grain), fold ? fold->of_thread(thread) : nullptr, thread);
  });
  if (fold) fold->write(amax);
}

/// The same as run_rows() for kernels that measure the columns of what they write.
template <auto Kernel, typename Op>
void run_measured_rows(Device& device, const Op& op, Workspace workspace, Index rows, Index cols, Index bytes_per_row,
                       bf16* amax) {
  const CpuDevice& self = cpu(device);
  measure_rows(self, workspace, rows, cols, bytes_per_row, amax,
               [&](Index begin, Index end, std::uint16_t* column_maxima, int /*thread*/) {
                 (self.kernels().*Kernel)(op, begin, end, column_maxima);
               });
}

/// The same for an op on several matrices that lie one after another, each with column maxima of its own: `amax`
/// [matrices, cols] or null. The kernel counts the rows of all.
template <auto Kernel, typename Op>
void measure_matrices(Device& device, const Op& op, Workspace workspace, Index bytes_per_row, bf16* amax) {
  const CpuDevice& self = cpu(device);
  for (Index matrix = 0; matrix < op.matrices; ++matrix) {
    const Index first = matrix * op.rows;
    measure_rows(self, workspace, op.rows, op.cols, bytes_per_row, amax == nullptr ? nullptr : amax + matrix * op.cols,
                 [&](Index begin, Index end, std::uint16_t* column_maxima, int /*thread*/) {
                   (self.kernels().*Kernel)(op, first + begin, first + end, column_maxima);
                 });
  }
}

}  // namespace octet::ops::cpu
