// Cases of the matrix product: operand formats, scale axes, layouts, outputs.
#pragma once

#include "ops/selftest/op_check.h"

namespace octet::ops::selftest {

/// Throws Failure where `dtype` is no FP8 format.
[[nodiscard]] fp8::Format format_of(DType dtype);

struct GemmSide {
  DType dtype = DType::bf16;
  ScaleAxis axis = ScaleAxis::none;
  bool transposed = false;
};

inline constexpr GemmSide kBf16Side{};
inline constexpr GemmSide kBf16Transposed{DType::bf16, ScaleAxis::none, true};

struct GemmCase {
  Index m, n, k;
  GemmSide a, b;
  DType d_dtype;
  bool accumulate = false;
  bool non_finite = false;

  [[nodiscard]] std::string describe() const;
};

template <>
struct OpCheck<Gemm> {
  static constexpr std::array<GemmCase, 25> kCases{{
      {0, 8, 16, kBf16Side, kBf16Side, DType::bf16},
      {8, 0, 16, kBf16Side, kBf16Side, DType::f32},
      {3, 5, 0, kBf16Side, kBf16Side, DType::bf16},
      {3, 5, 0, kBf16Side, kBf16Side, DType::f32, true},
      {1, 1, 1, kBf16Side, kBf16Side, DType::bf16},
      {7, 13, 31, kBf16Side, kBf16Side, DType::f32},
      {7, 13, 31, kBf16Transposed, kBf16Side, DType::bf16},
      {17, 5, 67, kBf16Side, kBf16Transposed, DType::f32, true},
      {33, 65, 129, kBf16Transposed, kBf16Transposed, DType::f32, true},
      {131, 257, 96, kBf16Side, kBf16Side, DType::bf16},
      {259, 515, 64, kBf16Transposed, kBf16Transposed, DType::f32, true},
      {259, 515, 64, kBf16Transposed, kBf16Transposed, DType::bf16},
      {9, 11, 40, kBf16Side, kBf16Side, DType::bf16, false, true},
      {1, 16, 16, {DType::e4m3fn, ScaleAxis::row}, {DType::e4m3fn, ScaleAxis::row}, DType::bf16},
      {16, 1, 1, {DType::e4m3fnuz, ScaleAxis::row}, {DType::e4m3fnuz, ScaleAxis::row}, DType::f32},
      {33, 47, 80, {DType::e4m3fn, ScaleAxis::row}, {DType::e4m3fn, ScaleAxis::row}, DType::bf16},
      {33, 47, 80, {DType::e4m3fn, ScaleAxis::row}, {DType::e4m3fn, ScaleAxis::row}, DType::f32, true},
      {33, 47, 80, {DType::e4m3fnuz, ScaleAxis::row}, {DType::e4m3fnuz, ScaleAxis::tensor}, DType::bf16},
      {48, 32, 67, {DType::e5m2, ScaleAxis::tensor}, {DType::e4m3fn, ScaleAxis::tensor}, DType::bf16},
      {48, 32, 67, {DType::e5m2fnuz, ScaleAxis::tensor}, {DType::e4m3fnuz, ScaleAxis::tensor}, DType::f32},
      {19, 23, 31, {DType::e5m2, ScaleAxis::row}, {DType::e5m2, ScaleAxis::row}, DType::f32, true},
      {19, 23, 31, {DType::e4m3fn, ScaleAxis::none}, {DType::e4m3fn, ScaleAxis::none}, DType::f32},
      {261, 517, 144, {DType::e4m3fn, ScaleAxis::row}, {DType::e4m3fn, ScaleAxis::row}, DType::bf16},
      {9, 11, 40, {DType::e4m3fn, ScaleAxis::row}, {DType::e4m3fn, ScaleAxis::row}, DType::bf16, false, true},
      {9, 11, 40, {DType::e4m3fnuz, ScaleAxis::row}, {DType::e4m3fnuz, ScaleAxis::row}, DType::f32, false, true},
  }};
  static constexpr std::array<GemmCase, 3> kThoroughCases{{
      {515, 1031, 700, kBf16Side, kBf16Transposed, DType::bf16},
      {515, 1031, 704, {DType::e4m3fn, ScaleAxis::row}, {DType::e4m3fn, ScaleAxis::row}, DType::bf16},
      {5, 17, 16411, {DType::e4m3fnuz, ScaleAxis::row}, {DType::e4m3fnuz, ScaleAxis::row}, DType::f32, true},
  }};
  static void run(Trial& trial, const GemmCase& c);
};

}  // namespace octet::ops::selftest
