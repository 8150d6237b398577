// Why a device that multiplies the formats of one family cannot run an op at its sizes and formats; null where it can.
#pragma once

#include <bit>
#include <cstdint>

#include "fp8/format_family.h"
#include "ops/gpu/gpu_device.h"
#include "ops/ops.h"

namespace octet::ops::gpu {

template <fp8::FormatFamily Family>
[[nodiscard]] const char* refuse_dtype(DType dtype) {
  const bool fnuz = dtype == DType::e4m3fnuz || dtype == DType::e5m2fnuz;
  const bool ocp = dtype == DType::e4m3fn || dtype == DType::e5m2;
  if (Family == fp8::FormatFamily::ocp && fnuz) return "the format is fnuz, and this device computes in OCP formats";
  if (Family == fp8::FormatFamily::fnuz && ocp) return "the format is OCP's, and this device computes in fnuz formats";
  return nullptr;
}

template <fp8::FormatFamily Family>
[[nodiscard]] const char* refuse_format(const fp8::ScaleRule& rule) {
  return refuse_dtype<Family>(dtype_of(rule.format()));
}

template <fp8::FormatFamily Family>
[[nodiscard]] const char* refuse_gemm(const Gemm& op) {
  for (const DType dtype : {op.a.dtype, op.b.dtype}) {
    if (const char* foreign = refuse_dtype<Family>(dtype)) return foreign;
  }
  if (!op.is_fp8()) return nullptr;
  if (op.a.axis == ScaleAxis::none || op.b.axis == ScaleAxis::none) return "codes come without scales";
  // Rows of A are filled up to a multiple, as those of a single token are, but not where D is added to.
  if (op.n % 16 != 0 || op.k % 16 != 0 || (op.accumulate && op.m % 16 != 0)) {
    return "FP8 products take multiples of 16 only: of N, of K and of the tokens of a micro-batch";
  }
  const DType gradients = dtype_of(fp8::gradient_format(Family));
  if (op.a.dtype == gradients && op.b.dtype == gradients) return "one side of an FP8 product must be e4m3";
  return nullptr;
}

/// Of what comes by expert: kernels of routing keep a list of them in shared memory.
[[nodiscard]] inline const char* refuse_experts(std::int64_t experts) {
  return experts > 1024 ? "more than 1024 experts" : nullptr;
}

/// A router whose choices, and groups of experts, a warp holds one a lane.
template <typename Op>
[[nodiscard]] const char* refuse_router(const Op& op) {
  if (op.rule.top_k > 32) return "a token chooses more than 32 experts";
  if (op.rule.groups > 32) return "experts come in more than 32 groups";
  return refuse_experts(op.rule.experts);
}

/// Of a grouped product whose sides and result have rows of these lengths in elements.
template <fp8::FormatFamily Family, typename Op>
[[nodiscard]] const char* refuse_grouped_product(const Op& op, std::int64_t first, std::int64_t second) {
  for (const DType dtype : {op.a.dtype, op.b.dtype}) {
    if (const char* foreign = refuse_dtype<Family>(dtype)) return foreign;
  }
  if (first == 0) return "there is nothing to contract";
  if (!op.is_fp8() && (first % 8 != 0 || second % 8 != 0)) return "grouped products in bf16 take multiples of 8 only";
  if (op.is_fp8() && (first % 16 != 0 || second % 16 != 0)) return "grouped FP8 products take multiples of 16 only";
  const DType gradients = dtype_of(fp8::gradient_format(Family));
  if (op.a.dtype == gradients && op.b.dtype == gradients) return "one side of an FP8 product must be e4m3";
  return refuse_experts(op.groups.experts);
}
template <fp8::FormatFamily Family>
[[nodiscard]] const char* refuse_grouped_gemm(const GroupedGemm& op) {
  return refuse_grouped_product<Family>(op, op.k, op.n);
}
template <fp8::FormatFamily Family>
[[nodiscard]] const char* refuse_grouped_wgrad(const GroupedWgrad& op) {
  return refuse_grouped_product<Family>(op, op.m, op.n);
}

template <fp8::FormatFamily Family>
[[nodiscard]] const char* refuse_grouped_swiglu_cast(const GroupedSwigluCast& op) {
  return refuse_format<Family>(op.transposed.wanted ? op.transposed.rule : op.activated.rule);
}

template <fp8::FormatFamily Family>
[[nodiscard]] const char* refuse_cast(const Cast& op) {
  return refuse_format<Family>(op.rule);
}

/// Of an op that leaves codes of columns.
template <fp8::FormatFamily Family, typename Op>
[[nodiscard]] const char* refuse_columns(const Op& op) {
  return refuse_format<Family>(op.transposed.rule);
}

/// Of an op that leaves codes of rows of any length.
template <fp8::FormatFamily Family, typename Op>
[[nodiscard]] const char* refuse_rows_of_any_length(const Op& op) {
  return op.codes.wanted ? refuse_format<Family>(op.codes.rule) : nullptr;
}

/// Of one whose rows a block must hold.
template <fp8::FormatFamily Family, typename Op>
[[nodiscard]] const char* refuse_rows(const Op& op) {
  return op.dim > kLongestRow ? "rows are longer than 32768 elements" : refuse_rows_of_any_length<Family>(op);
}

/// Of heads that are normed: a group of threads in a warp holds one, each eight elements of both halves.
template <typename Op>
[[nodiscard]] const char* refuse_normed_heads(const Op& op) {
  const auto dim = static_cast<std::uint64_t>(op.shape.head_dim);
  return std::has_single_bit(dim) && dim >= 16 && dim <= 512
             ? nullptr
             : "heads that are normed take 16, 32, 64, 128, 256 or 512 elements";
}

/// Of latent attention, whose kernels move eight neighbours at a time.
template <typename Op>
[[nodiscard]] const char* refuse_latent(const Op& op) {
  const MlaShape& shape = op.shape;
  const bool in_eights = shape.nope_dim % 8 == 0 && shape.rope_dim % 8 == 0 && shape.value_dim % 8 == 0;
  return in_eights ? nullptr : "parts of a head are no multiples of 8";
}

}  // namespace octet::ops::gpu
