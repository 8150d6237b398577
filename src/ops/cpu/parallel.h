// Splitting work over threads at boundaries that depend on the work alone, never on the number of threads.
#pragma once

#include <omp.h>

#include <algorithm>
#include <cstdint>

namespace octet::ops::cpu {

/// Calls body(begin, end) for consecutive ranges of at most `grain` items of [0, count), on up to `threads` threads.
template <typename Body>
void parallel_ranges(int threads, std::int64_t count, std::int64_t grain, const Body& body) {
  const std::int64_t chunks = (count + grain - 1) / grain;
#pragma omp parallel for schedule(dynamic) num_threads(threads) if (chunks > 1)
  for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
    body(chunk * grain, std::min(count, (chunk + 1) * grain));
  }
}

/// Calls body(task, thread) for each task in [0, count); `thread` is below `threads` and picks scratch memory.
template <typename Body>
void parallel_tasks(int threads, std::int64_t count, const Body& body) {
#pragma omp parallel for schedule(dynamic) num_threads(threads) if (count > 1)
  for (std::int64_t task = 0; task < count; ++task) body(task, omp_get_thread_num());
}

/// Rows per range so that one range moves about 64 KiB: long enough to hide the dispatch, short enough to balance.
[[nodiscard]] inline std::int64_t row_grain(std::int64_t bytes_per_row) {
  return std::max<std::int64_t>(1, 65536 / std::max<std::int64_t>(1, bytes_per_row));
}

}  // namespace octet::ops::cpu
