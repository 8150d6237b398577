// Rows of multi-head latent attention: one pass over each, in fp32 where anything is computed.
#include <algorithm>
#include <vector>

#include "ops/cpu/cpu_device.h"
#include "ops/cpu/parallel.h"

namespace octet::ops::cpu {
namespace {

/// Cosines and sines of one position.
struct Rotation {
  const float* cosines;
  const float* sines;
  Index pairs;
};

Rotation rotation_of(const float* cos_sin, const MlaShape& shape, Index row) {
  const Index pairs = shape.rope_dim / 2;
  const float* cosines = cos_sin + row % shape.seq_len * shape.rope_dim;
  return {cosines, cosines + pairs, pairs};
}

void rotate(const bf16* from, const Rotation& by, bf16* to) {
  for (Index i = 0; i < by.pairs; ++i) {
    const float a = to_float(from[2 * i]);
    const float b = to_float(from[2 * i + 1]);
    to[2 * i] = to_bf16(a * by.cosines[i] - b * by.sines[i]);
    to[2 * i + 1] = to_bf16(b * by.cosines[i] + a * by.sines[i]);
  }
}

template <typename T>
void rotate_back(const T* from, const Rotation& by, bf16* to) {
  const auto value = [](T x) {
    if constexpr (std::is_same_v<T, bf16>) {
      return to_float(x);
    } else {
      return x;
    }
  };
  for (Index i = 0; i < by.pairs; ++i) {
    const float a = value(from[2 * i]);
    const float b = value(from[2 * i + 1]);
    to[2 * i] = to_bf16(a * by.cosines[i] + b * by.sines[i]);
    to[2 * i + 1] = to_bf16(b * by.cosines[i] - a * by.sines[i]);
  }
}

void assemble_row(const MlaAssemble& op, Index row) {
  const MlaShape& shape = op.shape;
  const Rotation rotation = rotation_of(op.cos_sin, shape, row);
  const bf16* q = op.q + row * op.q_stride;
  const bf16* kv = op.kv + row * shape.kv_cols();
  bf16* queries = op.qkv + row * shape.qkv_cols();
  bf16* keys = queries + shape.q_cols();
  bf16* values = keys + shape.q_cols();
  bf16* first_key = keys + shape.nope_dim;
  rotate(op.k_rope + row * op.k_rope_stride, rotation, first_key);
  for (Index head = 0; head < shape.heads; ++head) {
    std::copy_n(q, shape.nope_dim, queries);
    rotate(q + shape.nope_dim, rotation, queries + shape.nope_dim);
    std::copy_n(kv, shape.nope_dim, keys);
    if (head > 0) std::copy_n(first_key, shape.rope_dim, keys + shape.nope_dim);
    std::copy_n(kv + shape.nope_dim, shape.value_dim, values);
    q += shape.qk_dim();
    kv += shape.nope_dim + shape.value_dim;
    queries += shape.qk_dim();
    keys += shape.qk_dim();
    values += shape.value_dim;
  }
}

void take_row_apart(const MlaAssembleBackward& op, Index row, std::span<float> shared) {
  const MlaShape& shape = op.shape;
  const Rotation rotation = rotation_of(op.cos_sin, shape, row);
  const bf16* queries = op.dqkv + row * shape.qkv_cols();
  const bf16* keys = queries + shape.q_cols();
  const bf16* values = keys + shape.q_cols();
  bf16* dq = op.dq + row * op.q_stride;
  bf16* dkv = op.dkv + row * shape.kv_cols();
  std::ranges::fill(shared, 0.0F);
  for (Index head = 0; head < shape.heads; ++head) {
    std::copy_n(queries, shape.nope_dim, dq);
    rotate_back(queries + shape.nope_dim, rotation, dq + shape.nope_dim);
    std::copy_n(keys, shape.nope_dim, dkv);
    for (Index i = 0; i < shape.rope_dim; ++i) {
      shared[static_cast<std::size_t>(i)] += to_float(keys[shape.nope_dim + i]);
    }
    std::copy_n(values, shape.value_dim, dkv + shape.nope_dim);
    queries += shape.qk_dim();
    keys += shape.qk_dim();
    values += shape.value_dim;
    dq += shape.qk_dim();
    dkv += shape.nope_dim + shape.value_dim;
  }
  rotate_back(shared.data(), rotation, op.dk_rope + row * op.k_rope_stride);
}

}  // namespace

void run_mla_assemble(Device& device, const MlaAssemble& op, Workspace) {
  parallel_ranges(cpu(device).pool(), op.shape.rows, row_grain(op.shape.qkv_cols() * 4), [&](Index begin, Index end) {
    for (Index row = begin; row < end; ++row) assemble_row(op, row);
  });
}

void run_mla_assemble_backward(Device& device, const MlaAssembleBackward& op, Workspace) {
  parallel_ranges(cpu(device).pool(), op.shape.rows, row_grain(op.shape.qkv_cols() * 4), [&](Index begin, Index end) {
    std::vector<float> shared(static_cast<std::size_t>(op.shape.rope_dim));
    for (Index row = begin; row < end; ++row) take_row_apart(op, row, shared);
  });
}

}  // namespace octet::ops::cpu
