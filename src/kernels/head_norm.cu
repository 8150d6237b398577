// Norms of query and key heads with their rotation: 2 (x) + 2 (y) bytes an element forward, value heads among them, 2
// (x) + 2 + 2 (dqkv) backward. A group of threads in a warp holds a head, each eight elements of its first half and
// those of the second that they are turned with: nothing but sums crosses threads.
#include "kernels/arguments.h"
#include "kernels/rotation.h"

namespace octet::kernels {
namespace {

constexpr int kThreads = 256;

/// A thread's share of a head.
struct HeadPart {
  Eight first;
  Eight second;

  OCTET_DEVICE void load(const bf16* from, int half) {
    load_eight(from, first);
    load_eight(from + half, second);
  }
  /// Of gains, which every head needs.
  OCTET_DEVICE void load_again(const bf16* from, int half) {
    unpack(load_16_bytes_again<Vector>(from), first);
    unpack(load_16_bytes_again<Vector>(from + half), second);
  }
  OCTET_DEVICE void store(bf16* to, int half) const {
    store_eight(to, first);
    store_eight(to + half, second);
  }
};

/// The threads that hold a head, and which heads they take: group, group + groups, ...
struct HeadGroup {
  int threads, groups, group, place;  // place: of this thread's first element in each half

  OCTET_DEVICE explicit HeadGroup(int half)
      : threads(half / 8),
        groups(thread_count() / threads),
        group(thread_index() / threads),
        place(thread_index() % threads * 8) {}

  /// Over the threads of a group; all of a warp take part.
  [[nodiscard]] OCTET_DEVICE float sum(float x) const {
    for (int mask = threads / 2; mask > 0; mask /= 2) x += shuffle_xor(x, mask);
    return x;
  }
  [[nodiscard]] OCTET_DEVICE float rstd(const HeadPart& x, float eps) const {
    float squares = 0;
#pragma unroll
    for (int i = 0; i < 8; ++i) squares += x.first[i] * x.first[i] + x.second[i] * x.second[i];
    return 1.0F / sqrtf(sum(squares) / static_cast<float>(16 * threads) + eps);
  }
};

OCTET_DEVICE int columns_of(const HeadNormSizes& sizes) {
  return (sizes.heads + 2 * sizes.kv_heads) * 2 * sizes.half;
}

OCTET_DEVICE const float* angles_of(const float* cos_sin, const HeadNormSizes& sizes, Index row) {
  return cos_sin + (row % sizes.seq_len + sizes.offset) * 2 * sizes.half;
}

OCTET_DEVICE void head_norm_rope(const HeadNormRope& a) {
  const HeadNormSizes& sizes = a.sizes;
  const int half = sizes.half;
  const int normed = sizes.heads + sizes.kv_heads;
  const HeadGroup group(half);
  for (Index r = block_index(); r < sizes.rows; r += block_count()) {
    const bf16* x_row = a.x + r * columns_of(sizes);
    bf16* y_row = a.y + r * columns_of(sizes);
    Angles angles;
    angles.load(angles_of(a.cos_sin, sizes, r) + group.place, half);
    for (int begin = 0; begin < normed; begin += group.groups) {  // as often for every thread of a warp
      const int head = begin + group.group;
      const int at = head * 2 * half + group.place;
      HeadPart x{};
      if (head < normed) x.load(x_row + at, half);
      const float rstd = group.rstd(x, sizes.eps);
      if (head >= normed) continue;
      HeadPart weight;
      weight.load_again(a.weights + (head < sizes.heads ? 0 : 2 * half) + group.place, half);
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        const float first = x.first[i] * rstd * weight.first[i];
        const float second = x.second[i] * rstd * weight.second[i];
        x.first[i] = turn(first, second, angles.cosines[i], -angles.sines[i]);
        x.second[i] = turn(second, first, angles.cosines[i], angles.sines[i]);
      }
      x.store(y_row + at, half);
    }
    for (int at = normed * 2 * half + thread_index() * 8; at < columns_of(sizes); at += thread_count() * 8) {
      store_16_bytes(y_row + at, load_16_bytes<Vector>(x_row + at));
    }
  }
}

/// Adds up what the groups of a block have of a side's gains: out [2 half].
OCTET_DEVICE void leave_sums(const HeadPart& sums, const HeadGroup& group, int half, float (&parts)[kThreads * 16],
                             float* out) {
  const int dim = 2 * half;
  sync_block();  // the other side's have been read
  store_eight(parts + group.group * dim + group.place, sums.first);
  store_eight(parts + group.group * dim + group.place + half, sums.second);
  sync_block();
  for (int i = thread_index(); i < dim; i += thread_count()) {
    float sum = 0;
    for (int k = 0; k < group.groups; ++k) sum += parts[k * dim + i];
    out[i] = sum;
  }
}

OCTET_DEVICE void add(HeadPart& sums, const HeadPart& x) {
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    sums.first[i] += x.first[i];
    sums.second[i] += x.second[i];
  }
}

/// With g the gradient turned back and xhat = x * rstd: dx = rstd * (g * weight - xhat * mean(g * weight * xhat)); the
/// block's part of the gains' gradients = sums of g * xhat.
OCTET_DEVICE void head_norm_rope_backward(const HeadNormRopeBackward& a) {
  OCTET_SHARED float parts[kThreads * 16];
  const HeadNormSizes& sizes = a.sizes;
  const int half = sizes.half;
  const int normed = sizes.heads + sizes.kv_heads;
  const HeadGroup group(half);
  HeadPart query_sums{};
  HeadPart key_sums{};
  for (Index r = block_index(); r < sizes.rows; r += block_count()) {
    const bf16* x_row = a.x + r * columns_of(sizes);
    bf16* d_row = a.dqkv + r * columns_of(sizes);
    Angles angles;
    angles.load(angles_of(a.cos_sin, sizes, r) + group.place, half);
    for (int begin = 0; begin < normed; begin += group.groups) {  // as often for every thread of a warp
      const int head = begin + group.group;
      const bool there = head < normed;
      const int at = head * 2 * half + group.place;
      HeadPart x{};
      HeadPart d{};
      HeadPart weight{};
      if (there) {
        x.load(x_row + at, half);
        d.load(d_row + at, half);
        weight.load_again(a.weights + (head < sizes.heads ? 0 : 2 * half) + group.place, half);
      }
      const float rstd = group.rstd(x, sizes.eps);
      HeadPart products;  // g * xhat
      float sum = 0;
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        const float first = turn(d.first[i], d.second[i], angles.cosines[i], angles.sines[i]);
        const float second = turn(d.second[i], d.first[i], angles.cosines[i], -angles.sines[i]);
        x.first[i] *= rstd;
        x.second[i] *= rstd;
        products.first[i] = first * x.first[i];
        products.second[i] = second * x.second[i];
        sum += products.first[i] * weight.first[i] + products.second[i] * weight.second[i];
        d.first[i] = first * weight.first[i];
        d.second[i] = second * weight.second[i];
      }
      const float mean = group.sum(sum) / static_cast<float>(2 * half);
      if (!there) continue;
      if (head < sizes.heads) {
        add(query_sums, products);
      } else {
        add(key_sums, products);
      }
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        d.first[i] = (d.first[i] - x.first[i] * mean) * rstd;
        d.second[i] = (d.second[i] - x.second[i] * mean) * rstd;
      }
      d.store(d_row + at, half);
    }
  }
  float* out = a.weight_partials + Index{block_index()} * 4 * half;
  leave_sums(query_sums, group, half, parts, out);
  leave_sums(key_sums, group, half, parts, out + 2 * half);
}

}  // namespace
}  // namespace octet::kernels

OCTET_SIMPLE_KERNEL(256, head_norm_rope, HeadNormRope, head_norm_rope)
OCTET_SIMPLE_KERNEL(256, head_norm_rope_backward, HeadNormRopeBackward, head_norm_rope_backward)
