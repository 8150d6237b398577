// What a cast does to its input: counts of what it clips and of what it makes zero. 2 bytes an element.
#include "kernels/arguments.h"
#include "kernels/block_fold.h"
#include "kernels/eight.h"

namespace octet::kernels {
namespace {

/// A NaN is lost, not clipped: comparisons with it are false.
OCTET_DEVICE void cast_statistics(const CastStatistics& a) {
  OCTET_SHARED std::uint64_t parts[BlockFold<std::uint64_t>::kParts];
  BlockFold<std::uint64_t> fold(parts);
  std::uint64_t saturated = 0;
  std::uint64_t overflowed = 0;
  std::uint64_t underflowed = 0;
  for (Index r = block_index(); r < a.rows; r += block_count()) {
    const bf16* row = a.x + r * a.cols;
    const float scale = 1.0F / a.scale_inverse[a.one_scale ? 0 : r];
    for (Index i = 8 * thread_index(); i < a.cols; i += 8 * thread_count()) {
      Eight x;
      if (a.aligned) {
        load_eight(row + i, x);
      } else {
        load_some(row + i, a.cols - i, 0, x);
      }
      int too_large = 0;
      int lost = 0;
      int vanished = 0;
#pragma unroll
      for (int k = 0; k < 8; ++k) {
        const float magnitude = fabsf(x[k] * scale);
        if (i + k >= a.cols) continue;  // a zero times an infinite scale would count
        too_large += magnitude > a.largest ? 1 : 0;
        lost += magnitude > a.largest_kept || fp8::is_nan(magnitude) ? 1 : 0;
        vanished += x[k] != 0.0F && magnitude <= a.largest_lost ? 1 : 0;
      }
      saturated += static_cast<std::uint64_t>(too_large);
      overflowed += static_cast<std::uint64_t>(lost);
      underflowed += static_cast<std::uint64_t>(vanished);
    }
  }
  saturated = fold.sum(saturated);
  overflowed = fold.sum(overflowed);
  underflowed = fold.sum(underflowed);
  if (thread_index() != 0) return;
  if (saturated > 0) add_atomically(a.saturated, saturated);
  if (overflowed > 0) add_atomically(a.overflowed, overflowed);
  if (underflowed > 0) add_atomically(a.underflowed, underflowed);
}

}  // namespace
}  // namespace octet::kernels

OCTET_SIMPLE_KERNEL(256, cast_statistics, CastStatistics, cast_statistics)
