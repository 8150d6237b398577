// What several ops have in common: codes and maxima that producers leave beside their bf16 results for the FP8 products
// that read them, and a side of such a product.
#pragma once

#include <cstdint>

#include "core/dtype.h"
#include "fp8/recipe.h"
#include "fp8/scale.h"

namespace octet::ops {

using fp8::Accumulation;
using fp8::ScaleAxis;

// The largest magnitude (amax) of a slice is measured where its values are made and passed on as bf16, which holds it
// exactly: whoever casts the slice later has its scale without another pass. A NaN is the largest of all.

/// Where a producer leaves FP8 codes of its bf16 output [rows, cols], one scale per row. Unused where codes is null.
struct RowCodes {
  std::uint8_t* codes = nullptr;   // [rows, cols] bytes of the rule's format
  float* scale_inverse = nullptr;  // [rows]
  bf16* amax = nullptr;            // [rows], optional
  fp8::ScaleRule rule = fp8::ScaleRule::of(fp8::Format::e4m3fn, true);
  bool wanted = false;  // set in plans too, where pointers are null

  [[nodiscard]] double bytes(std::int64_t rows, std::int64_t cols) const {
    return wanted ? static_cast<double>(rows * cols + rows * 4) : 0.0;
  }
};

/// Where a producer leaves the amax of each column of its bf16 output. Unused where amax is null.
struct ColumnMaxima {
  bf16* amax = nullptr;  // [cols]
  bool wanted = false;   // set in plans too
};

/// Where an op leaves transposed FP8 codes of a bf16 matrix [rows, cols], a scale for each column, whose amax is known.
struct ColumnCodes {
  std::uint8_t* codes = nullptr;   // [cols, rows] bytes of the rule's format
  float* scale_inverse = nullptr;  // [cols]
  const bf16* amax = nullptr;      // [cols]
  fp8::ScaleRule rule = fp8::ScaleRule::of(fp8::Format::e4m3fn, true);
  bool wanted = false;  // set in plans too

  [[nodiscard]] double bytes(std::int64_t rows, std::int64_t cols) const {
    return wanted ? static_cast<double>(rows * cols + cols * 6) : 0;
  }
};

/// One layout of a cast. The scale of a row of the layout, or of all, comes from the maxima that the cast is given.
struct CastLayout {
  std::uint8_t* codes = nullptr;               // [outer, contraction] bytes of the rule's format
  float* scale_inverse = nullptr;              // [outer] or [1], as `axis` says
  fp8::ScaleAxis axis = fp8::ScaleAxis::none;  // none: this layout is not wanted

  [[nodiscard]] bool wanted() const { return axis != fp8::ScaleAxis::none; }
};

/// One side of a product, seen as [outer, k]: FP8 codes are always stored that way (contiguous along k). A bf16 operand
/// may be stored transposed, as [k, outer].
struct GemmOperand {
  const void* data = nullptr;
  const float* scale_inverse = nullptr;  // [1] or [outer], as `axis` says
  DType dtype = DType::bf16;
  ScaleAxis axis = ScaleAxis::none;
  bool transposed = false;
};

}  // namespace octet::ops
