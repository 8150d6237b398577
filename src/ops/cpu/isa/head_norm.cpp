// RMSNorm of each query and key head, fused with its rotation, forward and backward.
#include "ops/cpu/isa/kernels.h"

namespace octet::ops::cpu::OCTET_ISA {
namespace {

/// What all heads of a row share.
struct Angles {
  const float* cosines;  // [hd / 2]
  const float* sines;
};

[[gnu::always_inline]] inline Angles angles_of(const float* cos_sin, const HeadNormShape& shape, Index row) {
  const float* cosines = cos_sin + (row % shape.seq_len + shape.offset) * shape.head_dim;
  return {cosines, cosines + shape.head_dim / 2};
}

[[gnu::always_inline]] inline float rstd_of(const bf16* head, Index dim, float eps) {
  F32 squares{};
  for (Index i = 0; i < dim; i += kLanes) {
    const F32 x = load(head + i, dim - i);
    squares = squares + x * x;
  }
  return 1.0F / __builtin_sqrtf(sum(squares) / static_cast<float>(dim) + eps);
}

[[gnu::always_inline]] inline void norm_and_turn(const bf16* x, const bf16* weight, const Angles& angles, Index dim,
                                                 float eps, bf16* y) {
  const Index half = dim / 2;
  const float rstd = rstd_of(x, dim, eps);
  for (Index i = 0; i < half; i += kLanes) {
    const Index count = half - i;
    const F32 cosine = load(angles.cosines + i, count);
    const F32 sine = load(angles.sines + i, count);
    const F32 a = load(x + i, count) * rstd * load(weight + i, count);
    const F32 b = load(x + half + i, count) * rstd * load(weight + half + i, count);
    store(y + i, a * cosine - b * sine, count);
    store(y + half + i, b * cosine + a * sine, count);
  }
}

/// The two halves of the normed head's gradient.
struct Turned {
  F32 first, second;
};

[[gnu::always_inline]] inline Turned turn_back(const bf16* dy, const Angles& angles, Index half, Index i) {
  const Index count = half - i;
  const F32 cosine = load(angles.cosines + i, count);
  const F32 sine = load(angles.sines + i, count);
  const F32 a = load(dy + i, count);
  const F32 b = load(dy + half + i, count);
  return {a * cosine + b * sine, b * cosine - a * sine};
}

/// dy [hd] becomes dx; dweight [hd] is added to.
[[gnu::always_inline]] inline void through_norm(const bf16* x, const bf16* weight, const Angles& angles, Index dim,
                                                float eps, bf16* dy, float* dweight) {
  const Index half = dim / 2;
  const float rstd = rstd_of(x, dim, eps);
  F32 products{};
  for (Index i = 0; i < half; i += kLanes) {
    const Index count = half - i;
    const Turned normed = turn_back(dy, angles, half, i);
    const F32 first = normed.first * (load(x + i, count) * rstd);
    const F32 second = normed.second * (load(x + half + i, count) * rstd);
    store(dweight + i, load(dweight + i, count) + first, count);
    store(dweight + half + i, load(dweight + half + i, count) + second, count);
    products = products + first * load(weight + i, count) + second * load(weight + half + i, count);
  }
  const float mean = sum(products) / static_cast<float>(dim);
  for (Index i = 0; i < half; i += kLanes) {
    const Index count = half - i;
    const Turned normed = turn_back(dy, angles, half, i);
    const F32 first = load(x + i, count) * rstd;
    const F32 second = load(x + half + i, count) * rstd;
    store(dy + i, (normed.first * load(weight + i, count) - first * mean) * rstd, count);
    store(dy + half + i, (normed.second * load(weight + half + i, count) - second * mean) * rstd, count);
  }
}

}  // namespace

void head_norm_rope(const HeadNormRope& op, Index begin, Index end) {
  const HeadNormShape& shape = op.shape;
  const Index dim = shape.head_dim;
  const Index normed = shape.normed_heads() * dim;
  for (Index row = begin; row < end; ++row) {
    const Angles angles = angles_of(op.cos_sin, shape, row);
    const bf16* x = op.x + row * shape.cols();
    bf16* y = op.y + row * shape.cols();
    for (Index head = 0; head < shape.normed_heads(); ++head) {
      const bf16* weight = op.weights + (head < shape.heads ? 0 : dim);
      norm_and_turn(x + head * dim, weight, angles, dim, op.eps, y + head * dim);
    }
    __builtin_memcpy(y + normed, x + normed, static_cast<std::size_t>(shape.cols() - normed) * sizeof(bf16));
  }
}

void head_norm_rope_backward(const HeadNormRopeBackward& op, Index begin, Index end, float* partial,
                             std::uint16_t* column_maxima) {
  const HeadNormShape& shape = op.shape;
  const Index dim = shape.head_dim;
  for (Index row = begin; row < end; ++row) {
    const Angles angles = angles_of(op.cos_sin, shape, row);
    const bf16* x = op.x + row * shape.cols();
    bf16* dqkv = op.dqkv + row * shape.cols();
    for (Index head = 0; head < shape.normed_heads(); ++head) {
      const Index side = head < shape.heads ? 0 : dim;
      through_norm(x + head * dim, op.weights + side, angles, dim, op.eps, dqkv + head * dim, partial + side);
    }
    if (op.codes.codes != nullptr) cast_row(dqkv, shape.cols(), op.codes, row);
    if (column_maxima != nullptr) fold_columns(dqkv, shape.cols(), column_maxima);
  }
}

}  // namespace octet::ops::cpu::OCTET_ISA
