// An op's sizes and element types as people read them in a profile: "m 256, n 512, k 64", "e4m3fn x e4m3fn -> f32".
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/dtype.h"

namespace octet::ops {

struct Extent {
  std::string_view name;
  std::int64_t value;
};

/// The extents of an op under the names of its members, those of an AttentionShape among them. An op whose extents have
/// new names gets a line here; a test asks that every op shows at least one.
template <typename Op>
[[nodiscard]] std::vector<Extent> extents_of(const Op& op) {
  std::vector<Extent> extents;
  const auto add = [&](std::string_view name, std::int64_t value) { extents.push_back({name, value}); };
  if constexpr (requires { op.shape; }) extents = extents_of(op.shape);
  if constexpr (requires { op.n; }) {  // a product; an optimizer's m is no extent
    if constexpr (requires { op.m; }) add("m", op.m);
    add("n", op.n);
    if constexpr (requires { op.k; }) add("k", op.k);
  }
  if constexpr (requires { op.groups.experts; }) {  // of routed rows
    add("experts", op.groups.experts);
    add("rows", op.groups.rows);
  }
  if constexpr (requires { op.rule.experts; }) add("experts", op.rule.experts);
  if constexpr (requires { op.expert_count; }) add("experts", op.expert_count);
  if constexpr (requires { std::int64_t{op.experts}; }) add("experts", op.experts);  // a pointer is no extent
  if constexpr (requires { op.rule.top_k; }) add("top_k", op.rule.top_k);
  if constexpr (requires { op.top_k; }) add("top_k", op.top_k);
  if constexpr (requires { op.matrices; }) {
    if (op.matrices != 1) add("matrices", op.matrices);
  }
  if constexpr (requires { op.rows; }) add("rows", op.rows);
  if constexpr (requires { op.cols; }) add("cols", op.cols);
  if constexpr (requires { op.row_stride; }) add("row_stride", op.row_stride);
  if constexpr (requires { op.dim; }) add("dim", op.dim);
  if constexpr (requires { op.vocab; }) add("vocab", op.vocab);
  if constexpr (requires { op.batch; }) add("batch", op.batch);
  if constexpr (requires { op.seq_len; }) add("seq_len", op.seq_len);
  if constexpr (requires { op.length; }) add("length", op.length);
  if constexpr (requires { op.heads; }) add("heads", op.heads);
  if constexpr (requires { op.kv_heads; }) add("kv_heads", op.kv_heads);
  if constexpr (requires { op.head_dim; }) add("head_dim", op.head_dim);
  if constexpr (requires { op.value_dim; }) add("value_dim", op.value_dim);
  if constexpr (requires { op.nope_dim; }) {
    add("nope_dim", op.nope_dim);
    add("rope_dim", op.rope_dim);
  }
  if constexpr (requires { op.count; }) add("count", op.count);
  if constexpr (requires { op.size; }) add("bytes", op.size);
  return extents;
}

/// The element types of a product's operands and result; empty for other ops, whose types their names imply.
template <typename Op>
[[nodiscard]] std::string types_of(const Op& op) {
  if constexpr (requires { op.a.dtype; }) {
    DType result = DType::bf16;
    if constexpr (requires { op.d_dtype; }) result = op.d_dtype;
    return fmt::format("{} x {} -> {}", name(op.a.dtype), name(op.b.dtype), name(result));
  } else {
    return {};
  }
}

}  // namespace octet::ops
