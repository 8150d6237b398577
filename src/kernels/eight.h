// Eight neighbours of a row as floats in a thread's registers, from bf16 or fp32 memory: where it is aligned and holds
// all eight, in loads of 16 bytes.
#pragma once

#include "kernels/prelude.h"

namespace octet::kernels {

using Eight = float[8];

OCTET_DEVICE void unpack(const Vector& vector, Eight& x) {
#pragma unroll
  for (int w = 0; w < 4; ++w) {
    x[2 * w] = low_half(vector.words[w]);
    x[2 * w + 1] = high_half(vector.words[w]);
  }
}

OCTET_DEVICE Vector pack(const Eight& x) {
  Vector vector;
#pragma unroll
  for (int w = 0; w < 4; ++w) vector.words[w] = to_bf16x2(x[2 * w], x[2 * w + 1]);
  return vector;
}

/// The larger magnitudes of two vectors, signs cleared.
OCTET_DEVICE void raise(Vector& maxima, const Vector& x) {
#pragma unroll
  for (int w = 0; w < 4; ++w) maxima.words[w] = max_u16x2(maxima.words[w], x.words[w]);
}

OCTET_DEVICE void load_eight(const bf16* from, Eight& x) {
  unpack(load_16_bytes<Vector>(from), x);
}
OCTET_DEVICE void load_eight(const float* from, Eight& x) {
  const Vector halves[2] = {load_16_bytes<Vector>(from), load_16_bytes<Vector>(from + 4)};
#pragma unroll
  for (int i = 0; i < 8; ++i) x[i] = fp8::float_of(halves[i / 4].words[i % 4]);
}

OCTET_DEVICE void store_eight(float* to, const Eight& x) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    Vector vector;
#pragma unroll
    for (int i = 0; i < 4; ++i) vector.words[i] = fp8::bits_of(x[4 * half + i]);
    store_16_bytes(to + 4 * half, vector);
  }
}
OCTET_DEVICE void store_eight(bf16* to, const Eight& x) {
  store_16_bytes(to, pack(x));
}

// ---- the slower path: the first `count` of eight, at any address ----------------------------------------------------

OCTET_DEVICE float widen(bf16 x) {
  return to_float(x);
}
OCTET_DEVICE float widen(float x) {
  return x;
}

/// As bf16; the others become zero.
OCTET_DEVICE Vector load_some(const bf16* from, Index count) {
  Vector x{};
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const std::uint32_t bits = i < count ? from[i].bits : 0U;
    x.words[i / 2] |= bits << (i % 2 * 16);
  }
  return x;
}
/// The others become `fill`.
template <typename T>
OCTET_DEVICE void load_some(const T* from, Index count, float fill, Eight& x) {
#pragma unroll
  for (int i = 0; i < 8; ++i) x[i] = i < count ? widen(from[i]) : fill;
}
OCTET_DEVICE void store_some(float* to, Index count, const Eight& x) {
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    if (i < count) to[i] = x[i];
  }
}
OCTET_DEVICE void store_some(bf16* to, Index count, const Vector& vector) {
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    if (i < count) to[i].bits = static_cast<std::uint16_t>(vector.words[i / 2] >> (i % 2 * 16));
  }
}
OCTET_DEVICE void store_some(bf16* to, Index count, const Eight& x) {
  store_some(to, count, pack(x));
}

}  // namespace octet::kernels
