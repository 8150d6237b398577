// Splitting work over threads at boundaries that depend on the work alone, never on the number of threads.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/thread_pool.h"

namespace octet::ops::cpu {

/// Calls body(begin, end) for consecutive ranges of at most `grain` items of [0, count).
template <typename Body>
void parallel_ranges(ThreadPool& pool, std::int64_t count, std::int64_t grain, const Body& body) {
  pool.run((count + grain - 1) / grain,
           [&](std::int64_t chunk, int) { body(chunk * grain, std::min(count, (chunk + 1) * grain)); });
}

/// Rows per range so that one range moves about 64 KiB: long enough to hide the dispatch, short enough to balance.
[[nodiscard]] inline std::int64_t row_grain(std::int64_t bytes_per_row) {
  return std::max<std::int64_t>(1, 65536 / std::max<std::int64_t>(1, bytes_per_row));
}

}  // namespace octet::ops::cpu
