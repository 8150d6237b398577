// FP8 casts as their rule reads, the maxima that their scales come from, and codes back to numbers.
#pragma once

#include "fp8/bf16.h"
#include "fp8/formats.h"
#include "fp8/scale.h"
#include "ops/reference/vectors.h"

namespace octet::ops::reference {

struct Codes {
  std::vector<std::uint8_t> codes;   // of the rule's format
  std::vector<float> scale_inverse;  // one per row of `codes`, or one in all
};

/// Exact.
[[nodiscard]] Vector widen(std::span<const bf16> x);
[[nodiscard]] Vector widen(std::span<const float> x);
/// Exact; a NaN code gives NaN.
[[nodiscard]] Vector decode(std::span<const std::uint8_t> codes, fp8::Format format);

/// x^T [cols, rows] of x [rows, cols].
template <typename T>
[[nodiscard]] std::vector<T> transpose(std::span<const T> x, Index rows, Index cols) {
  std::vector<T> transposed(x.size());
  for (Index r = 0; r < rows; ++r) {
    for (Index c = 0; c < cols; ++c) transposed[c * rows + r] = x[r * cols + c];
  }
  return transposed;
}

/// The amax of each row of x [rows, cols].
[[nodiscard]] std::vector<bf16> row_maxima(std::span<const bf16> x, Index rows, Index cols);
/// The amax of each column of x [rows, cols].
[[nodiscard]] std::vector<bf16> column_maxima(std::span<const bf16> x, Index rows, Index cols);

/// Codes of x [rows, cols] under scales from `maxima`, one per row or one in all, whether or not they are those of x.
[[nodiscard]] Codes cast_rows(std::span<const bf16> x, std::span<const bf16> maxima, Index rows, Index cols,
                              fp8::ScaleRule rule);
/// One scale per row of x [rows, cols].
[[nodiscard]] Codes quantize_rows(std::span<const bf16> x, Index rows, Index cols, fp8::ScaleRule rule);
/// One scale for all of x; the codes lie as the values do.
[[nodiscard]] Codes quantize_tensor(std::span<const bf16> x, fp8::ScaleRule rule);

/// What the codes of a row are multiplied by. An empty scale_inverse stands for ones; a single one is that of every
/// row.
[[nodiscard]] double scale_inverse_of_row(std::span<const float> scale_inverse, Index row);
/// codes * scale_inverse, [rows, cols].
[[nodiscard]] Vector dequantize(const Codes& codes, fp8::Format format, Index rows, Index cols);

struct CastCounts {
  std::uint64_t saturated = 0;    ///< |x / scale_inverse| above the format's largest value, infinities included
  std::uint64_t overflowed = 0;   ///< NaN or infinite after a non-saturating cast
  std::uint64_t underflowed = 0;  ///< not zero, but its code is
};
/// x [rows, cols]; scale_inverse as in scale_inverse_of_row().
[[nodiscard]] CastCounts cast_statistics(std::span<const bf16> x, std::span<const float> scale_inverse,
                                         fp8::Format format, Index rows, Index cols);

}  // namespace octet::ops::reference
