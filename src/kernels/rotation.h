// Pairs of a head's halves, turned by their position's angles.
#pragma once

#include "kernels/eight.h"

namespace octet::kernels {

/// x, the second of a pair, turned; the first is turned by minus the sine. The multiply-add is written out, so that
/// every kernel rounds alike.
OCTET_DEVICE float turn(float x, float other, float cosine, float sine) {
  return fmaf(x, cosine, other * sine);
}

/// Cosines and sines of eight neighbouring pairs.
struct Angles {
  Eight cosines;
  Eight sines;

  OCTET_DEVICE void load(const float* from, int half) {
    load_cached(from, cosines);
    load_cached(from + half, sines);
  }

 private:
  static OCTET_DEVICE void load_cached(const float* from, Eight& x) {
    const Vector halves[2] = {load_16_bytes_again<Vector>(from), load_16_bytes_again<Vector>(from + 4)};
#pragma unroll
    for (int i = 0; i < 8; ++i) x[i] = fp8::float_of(halves[i / 4].words[i % 4]);
  }
};

}  // namespace octet::kernels
