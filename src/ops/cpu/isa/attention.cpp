// What attention does outside its matrix products: rotary embedding, rows of the softmax, decoding against a cache.
#include "ops/cpu/isa/exp.h"
#include "ops/cpu/isa/kernels.h"

namespace octet::ops::cpu::OCTET_ISA {
namespace {

constexpr float kLeast = -__builtin_inff();

struct Softmax {
  float shift;  // the largest score
  float total;  // sum of exp(score - shift)

  [[nodiscard]] float lse() const { return shift + static_cast<float>(__builtin_log(static_cast<double>(total))); }
};

/// Of scale * scores. A NaN score makes the total NaN.
[[gnu::always_inline]] inline Softmax softmax_of(const float* scores, Index keys, float scale) {
  F32 largest = splat(kLeast);
  for (Index i = 0; i < keys; i += kLanes) {
    largest = max(keep(load(scores + i, keys - i) * scale, keys - i, kLeast), largest);
  }
  const float shift = max(largest);
  F32 total{};
  for (Index i = 0; i < keys; i += kLanes) {
    total = total + keep(exp(load(scores + i, keys - i) * scale - shift), keys - i, 0.0F);
  }
  return {shift, sum(total)};
}

[[gnu::always_inline]] inline void zero(bf16* x, Index begin, Index end) {
  __builtin_memset(x + begin, 0, static_cast<std::size_t>(end - begin) * sizeof(bf16));
}

/// out [head_dim] = sum over positions of weights[position] * values[position * stride + i].
[[gnu::always_inline]] inline void weighted_sum(const float* weights, const bf16* values, Index length, Index stride,
                                                Index head_dim, bf16* out) {
  for (Index i = 0; i < head_dim; i += kLanes) {
    F32 total{};
    for (Index position = 0; position < length; ++position) {
      total = total + load(values + position * stride + i, head_dim - i) * weights[position];
    }
    store(out + i, total, head_dim - i);
  }
}

}  // namespace

void rope(const Rope& op, Index begin, Index end, std::uint16_t* column_maxima) {
  const Index half = op.head_dim / 2;
  const float direction = op.inverse ? -1.0F : 1.0F;
  for (Index row = begin; row < end; ++row) {
    const float* cosines = op.cos_sin + (row % op.seq_len + op.offset) * op.head_dim;
    const float* sines = cosines + half;
    bf16* qkv = op.qkv + row * op.row_stride;
    for (Index head = 0; head < op.heads; ++head) {
      bf16* first = qkv + head * op.head_dim;
      bf16* second = first + half;
      for (Index i = 0; i < half; i += kLanes) {
        const Index count = half - i;
        const F32 cosine = load(cosines + i, count);
        const F32 sine = load(sines + i, count) * direction;
        const F32 a = load(first + i, count);
        const F32 b = load(second + i, count);
        store(first + i, a * cosine - b * sine, count);
        store(second + i, b * cosine + a * sine, count);
      }
    }
    if (op.codes.codes != nullptr) cast_row(qkv, op.row_stride, op.codes, row);
    if (column_maxima != nullptr) fold_columns(qkv, op.row_stride, column_maxima);
  }
}

float softmax_row(const float* scores, Index keys, Index padded, float scale, bf16* probabilities) {
  const Softmax softmax = softmax_of(scores, keys, scale);
  for (Index i = 0; i < keys; i += kLanes) {
    const F32 e = exp(load(scores + i, keys - i) * scale - softmax.shift);
    store(probabilities + i, e / splat(softmax.total), keys - i);
  }
  zero(probabilities, keys, padded);
  return softmax.lse();
}

void softmax_backward_row(const float* scores, const float* dp, Index keys, Index padded, float scale, float lse,
                          float delta, bf16* probabilities, bf16* ds) {
  for (Index i = 0; i < keys; i += kLanes) {
    const F32 p = exp(load(scores + i, keys - i) * scale - lse);
    store(probabilities + i, p, keys - i);
    store(ds + i, p * (load(dp + i, keys - i) - delta) * scale, keys - i);
  }
  zero(probabilities, keys, padded);
  zero(ds, keys, padded);
}

float dot(const bf16* a, const bf16* b, Index count) {
  F32 total{};
  for (Index i = 0; i < count; i += kLanes) total = total + load(a + i, count - i) * load(b + i, count - i);
  return sum(total);
}

void attention_decode(const AttentionDecode& op, Index begin, Index end, float* scores) {
  const Index key_stride = op.kv_heads * op.head_dim;
  const Index value_stride = op.kv_heads * op.value_dim;
  for (Index pair = begin; pair < end; ++pair) {
    const Index sequence = pair / op.heads;
    const Index head = pair % op.heads;
    const Index first = sequence * op.capacity;
    const Index kv_head = head * op.kv_heads / op.heads;
    const bf16* query = op.qkv + sequence * op.qkv_cols() + head * op.head_dim;
    const bf16* keys = op.cache_k + first * key_stride + kv_head * op.head_dim;
    const bf16* values = op.cache_v + first * value_stride + kv_head * op.value_dim;
    for (Index i = 0; i < op.length; ++i) scores[i] = dot(query, keys + i * key_stride, op.head_dim);
    const Softmax softmax = softmax_of(scores, op.length, op.scale);
    for (Index i = 0; i < op.length; i += kLanes) {
      const F32 e = exp(load(scores + i, op.length - i) * op.scale - softmax.shift);
      store(scores + i, e / splat(softmax.total), op.length - i);
    }
    weighted_sum(scores, values, op.length, value_stride, op.value_dim, op.out + pair * op.value_dim);
  }
}

}  // namespace octet::ops::cpu::OCTET_ISA
