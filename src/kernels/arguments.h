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

/// Causal attention of H query heads on KV key and value heads of hd elements. A row of qkv holds all of them.
struct AttentionSizes {
  std::int64_t qkv_stride;  // (H + 2 KV) hd
  std::int64_t out_stride;  // H hd
  int batch, seq_len, heads, kv_heads, head_dim;
  float scale;  // of the scores
};

struct AttentionForward {
  const bf16* qkv;  // [B S, qkv_stride]
  bf16* out;        // [B S, out_stride]
  float* lse;       // [B, H, S]
  AttentionSizes sizes;
};

struct AttentionBackward {
  const bf16* qkv;   // [B S, qkv_stride]
  const bf16* out;   // [B S, out_stride]
  const bf16* dout;  // [B S, out_stride]
  const float* lse;  // [B, H, S]
  float* delta;      // [B, H, S]: the sum of out * dout over each head
  bf16* dqkv;        // [B S, qkv_stride]
  AttentionSizes sizes;
  bool aligned;  // heads of out and dout start at multiples of 16 bytes
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
