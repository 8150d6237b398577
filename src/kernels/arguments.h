// The arguments of every kernel: one struct each, passed by value, the same on host and device.
#pragma once

#include <cstdint>

#include "core/step_scalars.h"
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

/// One side of a product, [outer, k]; a transposed one lies as [k, outer].
struct ProductSide {
  const void* data;
  const float* scale_inverse;  // of codes: [outer], or [1]
  std::int64_t outer;
  std::int64_t pitch;  // elements from one row, as they lie, to the next
  bool one_scale = false;
  bool aligned = false;  // rows as they lie begin at multiples of 16 bytes
};

/// D[m, n] = A[m, k] B[n, k]^T on AMD's matrix units.
struct Product {
  ProductSide a, b;
  void* d;  // bf16, or f32
  std::int64_t k;
  bool f32;
  bool accumulate;  // to f32
  bool aligned;     // rows of D begin at multiples of 16 bytes
};

struct EmbeddingForward {
  const std::int32_t* tokens;  // [rows]
  const bf16* table;           // [vocab, dim]
  bf16* out;                   // [rows, dim]
  std::int64_t rows;
  int dim;
  bool aligned;
};

struct EmbeddingBackward {
  const std::int32_t* tokens;  // [rows]
  const bf16* dy;              // [rows, dim]
  void* dtable;                // [vocab, dim], accumulated
  std::int64_t rows;
  int dim;
  bool aligned;
};

struct RmsNormForward {
  const bf16* x;       // [rows, dim] in rows of x_stride
  const bf16* delta;   // [rows, dim], optional
  const bf16* weight;  // [dim]
  bf16* x_out;         // [rows, dim], with delta
  bf16* y;             // [rows, dim], optional
  float* rstd;         // [rows]
  Measured measured;   // of y
  std::int64_t rows, x_stride;
  int dim;
  float eps;
  bool aligned;
  bool ahead;  // shared memory has room for the next row of each operand
};

struct RmsNormBackward {
  const bf16* dy;          // [rows, dim]
  const bf16* x;           // [rows, dim] in rows of x_stride
  const bf16* weight;      // [dim]
  const float* rstd;       // [rows]
  const bf16* residual;    // [rows, dim], optional
  bf16* dx;                // [rows, dim] in rows of x_stride
  float* weight_partials;  // [blocks, dim]
  Measured measured;       // of dx
  std::int64_t rows, x_stride;
  int dim;
  bool aligned;
  bool ahead;  // shared memory has room for the next row of each operand
};

/// Pairs (i, i + half) of the first `heads` heads of each row.
struct Rope {
  bf16* qkv;             // [rows, row_stride]
  const float* cos_sin;  // [positions, 2 half]
  Measured measured;     // of the first `cols` columns, where rows are held in registers
  std::int64_t rows, row_stride, offset;
  int seq_len, cols, heads, half;
  float direction;  // 1, or -1 to rotate back
  bool aligned;
  bool ahead;  // shared memory has room for the next row
};

/// Rows of query heads, key heads and value heads: (heads + 2 kv_heads) of 2 half elements.
struct HeadNormSizes {
  std::int64_t rows, offset;
  int seq_len, heads, kv_heads, half;
  float eps;
};

struct HeadNormRope {
  const bf16* x;         // [rows, cols]
  const bf16* weights;   // [2, 2 half]
  const float* cos_sin;  // [positions, 2 half]
  bf16* y;               // [rows, cols]
  HeadNormSizes sizes;
};

struct HeadNormRopeBackward {
  const bf16* x;           // [rows, cols]
  const bf16* weights;     // [2, 2 half]
  const float* cos_sin;    // [positions, 2 half]
  bf16* dqkv;              // [rows, cols], in place
  float* weight_partials;  // [blocks, 2, 2 half]
  HeadNormSizes sizes;
};

struct AppendToCache {
  const bf16* qkv;  // [batch seq_len, q_cols + k_cols + v_cols]
  bf16* cache_k;    // [batch, capacity, k_cols]
  bf16* cache_v;    // [batch, capacity, v_cols]
  std::int64_t position, capacity, seq_len;
  int q_cols, k_cols, v_cols;
};

struct AttentionDecode {
  const bf16* qkv;       // [batch, (heads + kv_heads) head_dim + kv_heads value_dim]
  const bf16* cache_k;   // [batch, capacity, kv_heads head_dim]
  const bf16* cache_v;   // [batch, capacity, kv_heads value_dim]
  bf16* out;             // [batch, heads value_dim]
  float* probabilities;  // [batch, heads, capacity]
  std::int64_t length, capacity;
  int heads, kv_heads, head_dim, value_dim;
  float scale;
};

/// Causal attention of H query heads on KV key heads, of hd elements both, and KV value heads of vd. A row of qkv holds
/// all of them.
struct AttentionSizes {
  std::int64_t qkv_stride;  // (H + KV) hd + KV vd
  std::int64_t out_stride;  // H vd
  int batch, seq_len, heads, kv_heads, head_dim, value_dim;
  float scale;  // of the scores
};

struct AttentionForward {
  const bf16* qkv;                     // [B S, qkv_stride]
  bf16* out;                           // [B S, out_stride]
  float* lse;                          // [B, H, S]
  const std::int32_t* document_start;  // [B S], optional: the first key that each query sees
  AttentionSizes sizes;
};

struct AttentionBackward {
  const bf16* qkv;                     // [B S, qkv_stride]
  const bf16* out;                     // [B S, out_stride]
  const bf16* dout;                    // [B S, out_stride]
  const float* lse;                    // [B, H, S]
  float* delta;                        // [B, H, S]: the sum of out * dout over each head
  bf16* dqkv;                          // [B S, qkv_stride]
  const std::int32_t* document_start;  // [B S], optional
  AttentionSizes sizes;
  bool aligned;  // heads of out and dout start at multiples of 16 bytes
};

struct SwigluForward {
  const bf16* gate_up;  // [rows, 2 dim]
  bf16* y;              // [rows, dim], optional
  Measured measured;    // of y
  std::int64_t rows;
  int dim;
  bool aligned;
  bool ahead;  // shared memory has room for the next row of each operand
};

struct SwigluBackward {
  const bf16* gate_up;  // [rows, 2 dim]
  const bf16* dy;       // [rows, dim]
  bf16* dgate_up;       // [rows, 2 dim], optional; may be gate_up
  Measured measured;    // of dgate_up
  std::int64_t rows;
  int dim;
  bool aligned;
  bool ahead;  // shared memory has room for the next row of each operand
};

/// Where nobody wants codes, x may be several matrices, one for each of the blocks along y: [rows, cols] each, as are
/// row maxima, and column partials.
struct QuantizeRows {
  const bf16* x;      // [rows, cols]
  Measured measured;  // of x
  std::int64_t rows;
  int cols;
  bool aligned;
  bool ahead;  // shared memory has room for the next row of each operand
};

/// One scale from the largest of all, and its inverse, of each block's matrix.
struct MakeScale {
  const bf16* amax;      // [matrices, count]
  float* scale;          // [matrices]
  float* scale_inverse;  // [matrices]
  std::int64_t count;
  fp8::ScaleRule rule;
};

/// to[i] = from[0].
struct RepeatScale {
  const float* from;
  float* to;  // [count]
  std::int64_t count;
};

/// Codes in one layout, [outer, inner]: each outer slice under a scale of its own, or all under one.
struct CastSide {
  std::uint8_t* codes;     // null where the layout is not wanted
  const bf16* amax;        // [outer]; null where `one_scale` serves all
  const float* one_scale;  // [1]
  float* scale_inverse;    // [outer], with amax
};

/// Codes of x [rows, cols] under known maxima; of as many matrices, one after another, as there are blocks along y.
struct CastTiles {
  const bf16* x;
  CastSide stored;      // [rows, cols]
  CastSide transposed;  // [cols, rows]
  std::int64_t rows;
  int cols;
  fp8::ScaleRule rule;
  int tiles_across, tiles;  // at least one, which makes the scales of slices that hold nothing
  bool aligned;             // rows of x and of stored codes start at multiples of 16 and 8 bytes
  bool rows_aligned;        // rows of transposed codes start at multiples of 16 bytes
};

/// Transposed codes of the gradient that SwigluBackward computes, and of what SwigluForward made.
struct SwigluBackwardCast {
  const bf16* gate_up;  // [rows, 2 dim]
  const bf16* dy;       // [rows, dim]
  CastSide transposed;  // [2 dim, rows], under amax
  CastSide activated;   // the same of y [rows, dim]
  std::int64_t rows;
  int dim;
  fp8::ScaleRule rule;
  int tiles_across, tiles;  // of [rows, dim]; at least one
  bool aligned;             // rows of gate_up and dy start at multiples of 16 bytes
  bool rows_aligned;        // rows of transposed codes do
};

/// Transposed codes of what RmsNormForward computes.
struct RmsNormForwardCast {
  const bf16* x;        // [rows, dim]
  const bf16* weight;   // [dim]
  const float* rstd;    // [rows]
  CastSide transposed;  // [dim, rows], under amax
  std::int64_t rows;
  int dim;
  fp8::ScaleRule rule;
  int tiles_across, tiles;  // at least one
  bool aligned;             // rows of x, and weight, start at multiples of 16 bytes
  bool rows_aligned;        // rows of transposed codes do
};

/// Counts of |x * scale| above two limits, added to what is there.
struct CastStatistics {
  const bf16* x;               // [rows, cols]
  const float* scale_inverse;  // [rows], or [1] where `one_scale`
  std::uint64_t* saturated;    // [1]
  std::uint64_t* overflowed;   // [1]
  std::uint64_t* underflowed;  // [1]
  std::int64_t rows;
  int cols;
  float largest, largest_kept;  // of the format, and what still rounds to it
  float largest_lost;           // what still rounds to zero
  bool one_scale = false;
  bool aligned;
};

/// amax[c] = the largest of partials [count, cols] in column c; of several matrices [matrices, count, cols], each
/// [matrices, cols].
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

/// amax[r] = the largest of partials [rows, count] in row r.
struct FoldRows {
  const bf16* partials;
  bf16* amax;
  std::int64_t rows;
  int count;
};

/// Blocks (x, 0) sum and, where they are launched, blocks (x, 1) fold: both the same columns.
struct SumAndFoldColumns {
  SumColumns sum;
  FoldColumns fold;
};

/// The first blocks fold columns, the others rows.
struct FoldRowsAndColumns {
  FoldRows rows;
  FoldColumns columns;
  int column_blocks;
};

struct CrossEntropy {
  bf16* logits;                 // [rows, vocab]
  const std::int32_t* targets;  // [rows]
  float* loss;                  // [rows]
  std::int64_t rows;
  int vocab;
  float gradient_scale;
  int held;  // vectors of a row that shared memory holds for each thread; none where rows are not aligned
  bool gradient;
  bool aligned;
};

/// One partial sum for each block, then total[0] += scale * all of them.
struct SumPartials {
  const void* x;     // [count]
  double* partials;  // [blocks]
  std::int64_t count;
  bool aligned;
};
/// Sums of reference^2 and of (x - reference)^2 over elements of T: the first of each block, then the second of each.
struct DifferencePartials {
  const void* reference;  // [count]
  const void* x;          // [count]
  double* partials;       // [2, blocks]
  std::int64_t count;
};
struct FinishSum {
  const double* partials;  // [count]
  double* total;           // [1]
  double scale;
  int count;
};

/// The place that each block finds, then first[0], the first of all or -1.
struct Search {
  const void* x;           // [count]
  std::int64_t* partials;  // [blocks]
  std::int64_t count;
  bool aligned;
};
struct FinishSearch {
  const std::int64_t* partials;  // [count]
  std::int64_t* first;           // [1]
  int count;
};

struct AdamW {
  float* master;               // [rows, cols], in kernels of a master
  bf16* weight;                // [rows, cols]
  const void* gradient;        // [rows, cols]
  void* m;                     // [rows, cols]
  void* v;                     // [rows, cols]
  const StepScalars* scalars;  // [1]
  bf16* row_partials;          // [rows, warps]: each warp's part of a row; null where nothing is measured
  bf16* column_partials;       // [blocks_y, cols], with row_partials
  std::int64_t rows, cols;     // of a matrix
  int blocks_each;             // blocks_y that share a matrix
  std::uint64_t stream;
  float beta1, beta2, eps, weight_decay, lr_scale;
  bool aligned;
};

// ---- latent attention -----------------------------------------------------------------------------------------------

/// Of a row; parts of heads are multiples of eight.
struct LatentShape {
  int seq_len, heads, nope, rope, value;
};

struct AssembleLatent {
  const bf16* q;         // [rows, heads (nope + rope)] in rows of q_stride
  const bf16* kv;        // [rows, heads (nope + value)]
  const bf16* k_rope;    // [rows, rope] in rows of k_rope_stride
  const float* cos_sin;  // [seq_len, rope]
  bf16* qkv;             // [rows, heads (2 (nope + rope) + value)]
  std::int64_t q_stride, k_rope_stride;
  LatentShape shape;
  bool aligned;  // vectors of eight lie at multiples of 16 bytes everywhere
};

struct AssembleLatentBackward {
  const bf16* dqkv;
  const float* cos_sin;
  bf16* dq;
  bf16* dkv;
  bf16* dk_rope;
  std::int64_t q_stride, k_rope_stride;
  LatentShape shape;
  bool aligned;
};

/// y = a + b, or a, rounded.
struct Add {
  const void* a;  // [count] f32 or bf16
  const bf16* b;  // [count], optional
  bf16* y;        // [count]
  std::int64_t count;
  bool aligned;
};

/// Each token's successor in its sequence, `last` after the last.
struct ShiftTokens {
  const std::int32_t* tokens;          // [rows]
  const std::int32_t* document_start;  // [rows], optional
  std::int32_t* shifted;               // [rows]
  std::int64_t rows, seq_len;
  std::int32_t last;
};

}  // namespace octet::kernels
