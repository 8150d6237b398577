// The arguments of every kernel: one struct each, passed by value, the same on host and device.
#pragma once

#include <cstdint>

#include "fp8/bf16.h"
#include "fp8/scale.h"

namespace octet::kernels {

/// What a producer leaves beside its bf16 output [rows, cols]; null pointers where it is not wanted.
struct Measured {
  std::uint8_t* codes;    // [rows, cols]
  float* scale_inverse;   // [rows]
  bf16* row_amax;         // [rows], optional with codes
  bf16* column_partials;  // [blocks, cols]
  fp8::ScaleRule rule;
};

struct RmsNormForward {
  const bf16* x;       // [rows, dim]
  const bf16* delta;   // [rows, dim], optional
  const bf16* weight;  // [dim]
  bf16* x_out;         // [rows, dim], with delta
  bf16* y;             // [rows, dim]
  float* rstd;         // [rows]
  Measured measured;   // of y
  std::int64_t rows;
  int dim;
  float eps;
  bool aligned;
};

struct RmsNormBackward {
  const bf16* dy;          // [rows, dim]
  const bf16* x;           // [rows, dim]
  const bf16* weight;      // [dim]
  const float* rstd;       // [rows]
  const bf16* residual;    // [rows, dim], optional
  bf16* dx;                // [rows, dim]
  float* weight_partials;  // [blocks, dim]
  Measured measured;       // of dx
  std::int64_t rows;
  int dim;
  bool aligned;
};

struct SwigluForward {
  const bf16* gate_up;  // [rows, 2 dim]
  bf16* y;              // [rows, dim]
  Measured measured;    // of y
  std::int64_t rows;
  int dim;
  bool aligned;
};

struct SwigluBackward {
  const bf16* gate_up;  // [rows, 2 dim]
  const bf16* dy;       // [rows, dim]
  bf16* dgate_up;       // [rows, 2 dim]
  Measured measured;    // of dgate_up
  std::int64_t rows;
  int dim;
  bool aligned;
};

struct QuantizeRows {
  const bf16* x;      // [rows, cols]
  Measured measured;  // of x
  std::int64_t rows;
  int cols;
  bool aligned;
};

/// scales[i] from amax[i], or scales[0] from the largest of all; and their inverses.
struct MakeScales {
  const bf16* amax;      // [count]
  float* scales;         // [count] or [1]
  float* scale_inverse;  // the same
  std::int64_t count;
  fp8::ScaleRule rule;
};

/// to[i] = from[0].
struct RepeatScale {
  const float* from;
  float* to;  // [count]
  std::int64_t count;
};

/// Codes of x [rows, cols] under known scales. A null layout is not wanted.
struct CastTiles {
  const bf16* x;
  const float* row_scales;         // [rows] or [1]
  const float* column_scales;      // [cols] or [1]
  std::uint8_t* stored_codes;      // [rows, cols]
  std::uint8_t* transposed_codes;  // [cols, rows]
  std::int64_t rows;
  int cols;
  bool scale_by_row, scale_by_column;
  bool aligned;       // rows of x and of stored codes start at multiples of 16 and 8 bytes
  bool rows_aligned;  // rows of transposed codes start at multiples of 16 bytes
};

/// amax[c] = the largest of partials [count, cols] in column c.
struct FoldColumns {
  const bf16* partials;
  bf16* amax;
  int count, cols;
};

/// sums[c] += the sum of partials [count, cols] in column c, in order.
struct SumColumns {
  const float* partials;
  float* sums;
  int count, cols;
};

}  // namespace octet::kernels
