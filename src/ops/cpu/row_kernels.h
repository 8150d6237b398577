// Memory-bound CPU kernels, compiled once per instruction set from the same source. Each works on a range of rows (or
// columns, or elements), so that the caller can give ranges to threads; a range's result does not depend on the split.
#pragma once

#include <cstdint>

#include "ops/cpu/cpu_isa.h"
#include "ops/ops.h"

namespace octet::ops::cpu {

using Index = std::int64_t;

/// Columns that the transposing casts take at once, half of them dgate and half dup where SwiGLU's gradient is cast.
/// Ranges of columns are best multiples of it.
inline constexpr Index kColumnBlock = 128;

struct RowKernels {
  // rows [begin, end)
  void (*embedding_forward)(const EmbeddingForward&, Index begin, Index end);
  void (*cross_entropy)(const CrossEntropy&, Index begin, Index end);

  // rows [begin, end); column_maxima [cols], bits of bf16 magnitudes, are raised to those of these rows. Null where
  // nobody wants them, but never for `maxima`.
  void (*rope)(const Rope&, Index begin, Index end, std::uint16_t* column_maxima);
  void (*quantize_rows)(const QuantizeRows&, Index begin, Index end, std::uint16_t* column_maxima);
  void (*maxima)(const Maxima&, Index begin, Index end, std::uint16_t* column_maxima);
  void (*adamw)(const AdamW&, Index begin, Index end, std::uint16_t* column_maxima);
  // a row that is not stored goes to `unstored` [cols], which nobody reads where all are
  void (*rmsnorm_forward)(const RmsNormForward&, Index begin, Index end, std::uint16_t* column_maxima, bf16* unstored);
  void (*swiglu_forward)(const SwigluForward&, Index begin, Index end, std::uint16_t* column_maxima, bf16* unstored);
  void (*swiglu_backward)(const SwigluBackward&, Index begin, Index end, std::uint16_t* column_maxima, bf16* unstored);
  // also adds the sum of dy * xhat over these rows to partial [D], which the caller has zeroed
  void (*rmsnorm_backward)(const RmsNormBackward&, Index begin, Index end, float* partial,
                           std::uint16_t* column_maxima);

  // casts under scales [outer] or [1], as the layout's axis says: rows [begin, end) to the layout as stored, or columns
  // [begin, end) to the transposed layout, and on the way to the one as stored where both are wanted
  void (*cast_as_stored)(const Cast&, const float* scales, Index begin, Index end);
  void (*cast_transposed)(const Cast&, const float* row_scales, const float* column_scales, Index begin, Index end);

  // columns [begin, end) under scales [cols]; of dgate, of dup and of what was activated in the second, under [3 F]
  void (*rmsnorm_forward_cast)(const RmsNormForwardCast&, const float* scales, Index begin, Index end);
  void (*swiglu_backward_cast)(const SwigluBackwardCast&, const float* scales, Index begin, Index end);

  // tokens [begin, end); scratch [3 E] and [2 E]; fractions [T / S, E] and losses [T] of the balance loss: how often
  // each sequence chose each expert, times E / (K S), and what each token adds to the loss. Null where it is not wanted
  void (*route)(const Route&, Index begin, Index end, float* scratch);
  void (*route_backward)(const RouteBackward&, const float* fractions, Index begin, Index end, float* scratch,
                         double* losses);

  // routed rows [begin, end) of one group; column_maxima and unstored as above
  void (*gather_rows)(const GatherRows&, Index begin, Index end, std::uint16_t* column_maxima);
  void (*grouped_swiglu_forward)(const GroupedSwigluForward&, Index begin, Index end, std::uint16_t* column_maxima,
                                 bf16* unstored);
  void (*grouped_swiglu_backward)(const GroupedSwigluBackward&, Index begin, Index end, std::uint16_t* column_maxima,
                                  bf16* unstored);
  // tokens [begin, end)
  void (*combine_rows)(const CombineRows&, Index begin, Index end);

  // columns [begin, end) of the codes of one group
  void (*gather_rows_cast)(const GatherRowsCast&, Index group, Index begin, Index end);
  void (*grouped_swiglu_cast)(const GroupedSwigluCast&, Index group, Index begin, Index end);

  // columns [begin, end): all rows of them. order [T]: those of each token together, in their order
  void (*embedding_backward)(const EmbeddingBackward&, const std::int32_t* order, Index begin, Index end);
  void (*column_sums)(const float* partials, Index count, Index cols, float* sums, Index begin, Index end);  // +=

  // elements [begin, end)
  double (*sum_of_squares_bf16)(const bf16* x, Index begin, Index end);
  double (*sum_of_squares_f32)(const float* x, Index begin, Index end);
  double (*sum)(const float* x, Index begin, Index end);
  Index (*find_non_finite_bf16)(const bf16* x, Index begin, Index end);  // -1 where all are finite
  Index (*find_non_finite_f32)(const float* x, Index begin, Index end);
  // writes energies[0] = sum of reference^2 and energies[1] = sum of (x - reference)^2
  void (*difference_bf16)(const bf16* reference, const bf16* x, Index begin, Index end, double* energies);
  void (*difference_f32)(const float* reference, const float* x, Index begin, Index end, double* energies);

  // rows [begin, end): counts are added
  struct CastTally {
    std::uint64_t saturated = 0, overflowed = 0, underflowed = 0;
  };
  void (*cast_statistics)(const CastStatistics&, Index begin, Index end, CastTally& tally);

  // FP8 codes to matrix operands: elements [begin, end)
  void (*decode_to_bf16)(const std::uint8_t* codes, fp8::Format format, bf16* out, Index begin, Index end);
  void (*decode_to_f32)(const std::uint8_t* codes, fp8::Format format, float* out, Index begin, Index end);
  void (*widen_to_f32)(const bf16* x, float* out, Index begin, Index end);

  // the matrix product's epilogue over one tile [rows, cols] of fp32 sums (row stride cols): multiply by the inverse
  // scales (each pointer to one value or to one per row / column, as the flags say; null: 1), then store or add
  struct Epilogue {
    const float* sums;
    Index rows, cols;
    const float* row_scale;  // optional
    const float* col_scale;  // optional
    bool one_row_scale, one_col_scale;
    void* d;  // first element of the tile
    Index d_stride;
    DType d_dtype;
    bool accumulate;
  };
  void (*epilogue)(const Epilogue&);

  // softmax of attention, one row: probabilities[0, keys) = exp(scale * scores - max) / sum as bf16, zero in [keys,
  // padded)
  float (*softmax_row)(const float* scores, Index keys, Index padded, float scale, bf16* probabilities);  // returns lse
  // ds[0, keys) = p * (dp - delta) * scale with p = exp(scale * scores - lse), both as bf16, zero in [keys, padded)
  void (*softmax_backward_row)(const float* scores, const float* dp, Index keys, Index padded, float scale, float lse,
                               float delta, bf16* probabilities, bf16* ds);
  float (*dot)(const bf16* a, const bf16* b, Index count);
  void (*attention_decode)(const AttentionDecode&, Index begin, Index end,
                           float* scores);  // (sequence, head) pairs; scores [length]

  // rows [begin, end)
  void (*head_norm_rope)(const HeadNormRope&, Index begin, Index end);
  // also adds the weights' gradients over these rows to partial [2, hd], which the caller has zeroed; column_maxima as
  // above
  void (*head_norm_rope_backward)(const HeadNormRopeBackward&, Index begin, Index end, float* partial,
                                  std::uint16_t* column_maxima);
};

[[nodiscard]] const RowKernels& row_kernels(CpuIsa isa);

}  // namespace octet::ops::cpu
