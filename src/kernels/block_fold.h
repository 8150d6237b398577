// Sums and maxima over the threads of a block, or of each of its rows of threads.
#pragma once

#include <cmath>

#include "kernels/prelude.h"

namespace octet::kernels {

/// Puts together what the threads that share thread_index_y() have, for all of them. One fold after the other uses the
/// two halves of `parts` in turn, so that one barrier each does: who still reads the last one's parts is past that by
/// the time its half is written again.
template <typename T>
class BlockFold {
 public:
  static constexpr int kParts = 64;

  OCTET_DEVICE explicit BlockFold(T (&parts)[kParts]) : parts_(parts) {}

  /// Added in an order that depends on thread_count() alone.
  OCTET_DEVICE T sum(T x) {
    return fold(x, T{}, [](T a, T b) { return a + b; });
  }
  /// The largest number; a NaN is passed over.
  OCTET_DEVICE T largest(T x) {
    return fold(x, -INFINITY, [](T a, T b) { return fmaxf(a, b); });
  }
  /// The smallest; `most` is as large as any.
  OCTET_DEVICE T least(T x, T most) {
    return fold(x, most, [](T a, T b) { return b < a ? b : a; });
  }
  /// Of words that hold two bf16 magnitudes each: the larger of all, as bits.
  OCTET_DEVICE std::uint16_t largest_half(T halves) {
    halves = fold(halves, T{}, [](T a, T b) { return max_u16x2(a, b); });
    const std::uint32_t low = halves & 0xFFFFU;
    const std::uint32_t high = halves >> 16;
    return static_cast<std::uint16_t>(low > high ? low : high);
  }

 private:
  /// `nothing` is what leaves any x as it is.
  template <typename Combine>
  OCTET_DEVICE T fold(T x, T nothing, Combine combine) {
    const int warps = (thread_count() + kWarpSize - 1) / kWarpSize;
    T* parts = parts_ + turn_ + thread_index_y() * warps;  // not kept: registers are few
    turn_ ^= kParts / 2;
    x = across_warp(x, combine);
    const int lane = thread_index() % kWarpSize;
    if (lane == 0) parts[thread_index() / kWarpSize] = x;
    sync_row();
    return across_warp(lane < warps ? parts[lane] : nothing, combine);
  }
  template <typename Combine>
  static OCTET_DEVICE T across_warp(T x, Combine combine) {
#pragma unroll
    for (int mask = kWarpSize / 2; mask > 0; mask /= 2) x = combine(x, shuffle_xor(x, mask));
    return x;
  }

  T* parts_;
  int turn_ = 0;
};

}  // namespace octet::kernels
