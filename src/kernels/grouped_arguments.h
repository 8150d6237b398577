// The arguments of the kernels of a mixture of experts, as arguments.h has those of the others.
#pragma once

#include "kernels/arguments.h"

namespace octet::kernels {

/// Which routed rows are whose. Group e has rows [offsets[e], offsets[e + 1]), and of transposed codes the columns
/// [padded_offsets[e], padded_offsets[e + 1]), in whole tiles.
struct RowGroups {
  const std::int32_t* offsets;         // [count + 1]
  const std::int32_t* padded_offsets;  // [count + 1]; null where nothing is transposed
  int count;
};

// ---- routing --------------------------------------------------------------------------------------------------------

/// How a router chooses: see ops::RouterRule.
struct RouterRule {
  int experts, top_k, groups, kept_groups;
  float scale;
  bool softmax;  // else sigmoid
  bool normalised;
};

struct Route {
  const float* logits;    // [rows, experts]
  const float* bias;      // [experts], optional
  std::int32_t* experts;  // [rows, top_k]
  float* weights;         // [rows, top_k]
  std::uint64_t* load;    // [experts], added to
  std::int64_t rows;
  RouterRule rule;
};

/// How often each sequence chose each expert, added to.
struct CountChoices {
  const std::int32_t* experts;  // [choices]
  std::uint64_t* counts;        // [sequences, expert_count]
  std::int64_t choices, choices_per_sequence;
  int expert_count;
};

struct RouteBackward {
  const float* logits;          // [rows, experts]
  const std::int32_t* experts;  // [rows, top_k]
  const float* dweights;        // [rows, top_k]
  const std::uint64_t* counts;  // [rows / seq_len, experts]; null without a balance loss
  float* dlogits;               // [rows, experts]
  double* partials;             // [blocks], with counts: each block's part of the balance loss
  std::int64_t rows, seq_len;
  RouterRule rule;
  float balance_scale;
};

struct BalanceBias {
  float* bias;          // [experts]
  std::uint64_t* load;  // [experts], cleared
  int experts;
  float rate;
};

/// Choices sorted by expert, those of one in their order, in three launches: each block counts a chunk of them, then
/// one block makes offsets and where each chunk's rows of each expert begin, then each block hands them out.
struct GroupTokens {
  const std::int32_t* experts;   // [choices]
  std::int32_t* counts;          // [chunks, groups]
  std::int32_t* offsets;         // [groups + 1]
  std::int32_t* padded_offsets;  // [groups + 1]
  std::int32_t* choice_of_row;   // [choices]
  std::int32_t* row_of_choice;   // [choices]
  std::int64_t choices;
  int chunks, groups;
};

// ---- permutation and casts ------------------------------------------------------------------------------------------

struct GatherRows {
  const bf16* x;                      // [tokens, cols], or the routed rows
  const std::int32_t* choice_of_row;  // null where x holds the routed rows
  RowGroups groups;
  bf16* y;            // [rows, cols], optional
  Measured measured;  // of y; column partials [blocks + groups, cols]
  int top_k, cols;
  bool aligned;
  bool ahead;  // shared memory has room for the next row
};

/// amax [groups, cols] from what `blocks` blocks left of routed rows: block b of group e in row b + e.
struct FoldGroupColumns {
  const bf16* partials;  // [blocks + groups, cols]
  bf16* amax;
  RowGroups groups;
  int blocks, cols;
};

/// Transposed codes of routed rows, whose columns have a scale for each group.
struct GroupSide {
  std::uint8_t* codes;   // [cols, padded]; null where they are not wanted
  const bf16* amax;      // [groups, cols]
  float* scale_inverse;  // [groups, cols]
};

struct GatherRowsCast {
  const bf16* x;                      // [tokens, cols], or the routed rows
  const std::int32_t* choice_of_row;  // null where x holds the routed rows
  RowGroups groups;
  GroupSide transposed;
  std::int64_t padded;
  int top_k, cols, tiles_across;
  fp8::ScaleRule rule;
  bool aligned;       // rows of x start at multiples of 16 bytes
  bool rows_aligned;  // rows of transposed codes do
};

struct CombineRows {
  const bf16* routed;                 // [rows, cols]
  const std::int32_t* row_of_choice;  // [tokens, top_k]
  const bf16* base;                   // [tokens, cols], optional
  bf16* out;                          // [tokens, cols]; may be base
  std::int64_t tokens;
  int top_k, cols;
  bool aligned;
};

struct GroupedSwigluForward {
  const bf16* gate_up;                // [rows, 2 dim]
  const float* weights;               // by choice
  const std::int32_t* choice_of_row;  // [rows]
  RowGroups groups;
  bf16* y;            // [rows, dim], optional
  Measured measured;  // of y; column partials [blocks + groups, dim]
  int dim;
  bool aligned;
  bool ahead;  // shared memory has room for the next row of each operand
};

struct GroupedSwigluBackward {
  const bf16* gate_up;                // [rows, 2 dim]
  const bf16* dy;                     // [rows, dim]
  const float* weights;               // by choice
  const std::int32_t* choice_of_row;  // [rows]
  RowGroups groups;
  bf16* dgate_up;     // [rows, 2 dim], optional; may be gate_up
  float* dweights;    // by choice
  Measured measured;  // of dgate_up; column partials [blocks + groups, 2 dim]
  int dim;
  bool aligned;
  bool ahead;  // shared memory has room for the next row of each operand
};

struct GroupedSwigluCast {
  const bf16* gate_up;                // [rows, 2 dim]
  const bf16* dy;                     // [rows, dim], with transposed codes
  const float* weights;               // by choice
  const std::int32_t* choice_of_row;  // [rows]
  RowGroups groups;
  GroupSide transposed;  // of dgate_up [rows, 2 dim]
  GroupSide activated;   // of y [rows, dim]
  std::int64_t padded;
  int dim, tiles_across;
  fp8::ScaleRule rule;
  bool aligned;       // rows of gate_up and dy start at multiples of 16 bytes
  bool rows_aligned;  // rows of transposed codes do
};

// ---- products -------------------------------------------------------------------------------------------------------

/// A tensor as a copy engine is told of it: CUtensorMap's bytes.
struct alignas(64) TensorMap {
  std::uint64_t words[16];
};

/// Products of groups, D = A B^T, for grouped_products_wgmma.cu. Each group has rows of A and D of its own and a B of
/// its own; or, `by_contraction`, a stretch of the contraction and a D of its own.
struct GroupedProduct {
  TensorMap a, b;               // in boxes of 128 bytes by 64
  TensorMap d_boxes;            // of a bf16 D, in boxes of 128 bytes by 16
  const float* a_scales;        // of codes: [rows], or [groups, m]
  const float* b_scales;        // of codes: [groups, n]
  void* d;                      // [rows, n] bf16, or [groups, m, n]
  const std::int32_t* offsets;  // [groups + 1] of the rows, or in the contraction
  int groups;
  int m, n, k;  // m where groups share it, k where they share that
  bool by_contraction;
  bool paired_rows;  // the two blocks of a cluster share B, not A
  bool f32;          // D, which otherwise is bf16
  bool accumulate;   // to f32
};

/// The same for grouped_products_mfma.cu. `product` is the first group's, of as many rows, or of as much of the
/// contraction, as all groups have.
struct GroupedMfmaProduct {
  Product product;
  const std::int32_t* offsets;  // [groups + 1]
  int groups;
};

}  // namespace octet::kernels
