// Arguments of the kernels in plain_casts.hip, the same on host and device.
#pragma once

#include <cstdint>

#include "fp8/bf16.h"

namespace octet::test {

struct Magnitudes {
  const bf16* x;  // [count]
  bf16* to;       // [count]
  std::int64_t count;
};

struct RowMaxima {
  const bf16* x;  // [rows, cols] without signs, a row for each block
  bf16* amax;     // [rows]
  std::int64_t cols;
};

struct MakeScales {
  const bf16* amax;      // [rows]
  float* scale;          // [rows]
  float* scale_inverse;  // [rows]
  std::int64_t rows;
};

struct Scale {
  const bf16* x;       // [count]
  const float* scale;  // [count / cols]
  float* to;           // [count]
  std::int64_t count, cols;
};

struct ClampAndCast {
  const float* x;       // [count]
  std::uint8_t* codes;  // [count]
  std::int64_t count;
};

/// Element (r, c) of x is at r * x_row_stride + c * x_col_stride, and its code likewise.
struct CastColumns {
  const bf16* x;         // [rows, cols]
  std::uint8_t* codes;   // [cols, rows]
  float* scale_inverse;  // [cols]
  std::int64_t rows, cols, x_row_stride, x_col_stride, codes_row_stride, codes_col_stride;
};

struct ColumnMaxima {
  const bf16* x;        // [rows, cols]
  std::uint32_t* amax;  // [cols] bits of bf16, zero before
  std::int64_t rows, cols;
  std::int64_t rows_each;  // of a block
};

}  // namespace octet::test
