// Sums and maxima over the threads of a block, or of each of its rows of threads.
#pragma once

#include <cmath>

#include "kernels/prelude.h"

namespace octet::kernels {

/// What a block holds: one row of threads, or as many as it is launched with. On NVIDIA's GPUs a kernel for several
/// takes all barriers that a block may have, so that no more than four blocks share a multiprocessor.
enum class BlockRows { one, several };

/// Puts together what the threads that share thread_index_y() have, for all of them. One fold after the other uses the
/// two halves of `parts` in turn, so that one barrier each does: who still reads the last one's parts is past that by
/// the time its half is written again.
template <typename T, BlockRows R = BlockRows::one>
class BlockFold {
 public:
  static constexpr int kParts = 64;

  OCTET_DEVICE explicit BlockFold(T (&parts)[kParts]) : parts_(parts) {}

  /// Added in an order that depends on thread_count() alone.
  OCTET_DEVICE T sum(T x) {
    return fold(x, T{}, Butterfly{[](T a, T b) { return a + b; }});
  }
  /// The largest number; a NaN is passed over.
  OCTET_DEVICE T largest(T x) {
    return fold(x, -INFINITY, Butterfly{[](T a, T b) { return fmaxf(a, b); }});
  }
  /// The smallest; `most` is as large as any.
  OCTET_DEVICE T least(T x, T most) {
    return fold(x, most, Butterfly{[](T a, T b) { return b < a ? b : a; }});
  }
  /// Of words that hold two bf16 magnitudes each: the larger of all, as bits.
  OCTET_DEVICE std::uint16_t largest_half(T halves) {
    const std::uint32_t low = halves & 0xFFFFU;
    const std::uint32_t high = halves >> 16;
    return static_cast<std::uint16_t>(fold(low > high ? low : high, T{}, [](T x) { return warp_largest(x); }));
  }

 private:
  /// What all lanes of a warp have, put together two by two.
  template <typename Combine>
  struct Butterfly {
    Combine combine;
    OCTET_DEVICE T operator()(T x) const {
#pragma unroll
      for (int mask = kWarpSize / 2; mask > 0; mask /= 2) x = combine(x, shuffle_xor(x, mask));
      return x;
    }
  };
  template <typename Combine>
  Butterfly(Combine) -> Butterfly<Combine>;

  /// `nothing` is what leaves any x as it is.
  template <typename AcrossWarp>
  OCTET_DEVICE T fold(T x, T nothing, AcrossWarp across_warp) {
    const int warps = (thread_count() + kWarpSize - 1) / kWarpSize;
    const int row = R == BlockRows::one ? 0 : thread_index_y();
    T* parts = parts_ + turn_ + row * warps;  // not kept: registers are few
    turn_ ^= kParts / 2;
    x = across_warp(x);
    const int lane = thread_index() % kWarpSize;
    if (lane == 0) parts[thread_index() / kWarpSize] = x;
    if constexpr (R == BlockRows::one) {
      sync_block();
    } else {
      sync_row();
    }
    return across_warp(lane < warps ? parts[lane] : nothing);
  }

  T* parts_;
  int turn_ = 0;
};

}  // namespace octet::kernels
