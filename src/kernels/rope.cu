// Rotary positions in place: 2 + 2 bytes an element of the rotated heads; the table of cosines and sines is read by
// every head of a row and stays in the caches.
#include "kernels/arguments.h"
#include "kernels/eight.h"

namespace octet::kernels {
namespace {

OCTET_DEVICE void load_cached(const float* from, Eight& x) {
  const Vector halves[2] = {load_16_bytes_again<Vector>(from), load_16_bytes_again<Vector>(from + 4)};
#pragma unroll
  for (int i = 0; i < 8; ++i) x[i] = fp8::float_of(halves[i / 4].words[i % 4]);
}

/// Eight pairs of one head, the first of each at `first`.
OCTET_DEVICE void rotate_eight(bf16* first, const float* cosines, const Rope& a) {
  Eight x;
  Eight y;
  Eight cosine;
  Eight sine;
  load_eight(first, x);
  load_eight(first + a.half, y);
  load_cached(cosines, cosine);
  load_cached(cosines + a.half, sine);
  Eight turned_x;
  Eight turned_y;
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const float s = sine[i] * a.direction;
    turned_x[i] = x[i] * cosine[i] - y[i] * s;
    turned_y[i] = y[i] * cosine[i] + x[i] * s;
  }
  store_16_bytes(first, pack(turned_x));
  store_16_bytes(first + a.half, pack(turned_y));
}

OCTET_DEVICE void rotate_one(bf16* first, const float* cosines, const Rope& a) {
  const float x = to_float(first[0]);
  const float y = to_float(first[a.half]);
  const float cosine = cosines[0];
  const float sine = cosines[a.half] * a.direction;
  first[0] = to_bf16(x * cosine - y * sine);
  first[a.half] = to_bf16(y * cosine + x * sine);
}

OCTET_DEVICE void rope(const Rope& a) {
  const int step = a.aligned ? 8 : 1;
  const int per_head = a.half / step;
  for (Index t = block_index(); t < a.rows; t += block_count()) {
    const float* cosines = a.cos_sin + (t % a.seq_len + a.offset) * 2 * a.half;
    bf16* row = a.qkv + t * a.row_stride;
    for (int item = thread_index(); item < a.heads * per_head; item += thread_count()) {
      const int i = item % per_head * step;
      bf16* first = row + Index{item / per_head} * 2 * a.half + i;
      if (a.aligned) {
        rotate_eight(first, cosines + i, a);
      } else {
        rotate_one(first, cosines + i, a);
      }
    }
  }
}

}  // namespace
}  // namespace octet::kernels

OCTET_SIMPLE_KERNEL(512, rope, Rope, rope)
