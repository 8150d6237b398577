// The kernels of one instruction set, as RowKernels documents them, and what they share across files.
#pragma once

#include "ops/cpu/row_kernels.h"
#include "ops/cpu/simd.h"

namespace octet::ops::cpu::OCTET_ISA {

extern const RowKernels kernels;

void embedding_forward(const EmbeddingForward& op, Index begin, Index end);
void embedding_backward(const EmbeddingBackward& op, const std::int32_t* order, Index begin, Index end);
void rmsnorm_forward(const RmsNormForward& op, Index begin, Index end, std::uint16_t* column_maxima, bf16* unstored);
void rmsnorm_forward_cast(const RmsNormForwardCast& op, const float* scales, Index begin, Index end);
void rmsnorm_backward(const RmsNormBackward& op, Index begin, Index end, float* partial, std::uint16_t* column_maxima);
void column_sums(const float* partials, Index count, Index cols, float* sums, Index begin, Index end);

void swiglu_forward(const SwigluForward& op, Index begin, Index end, std::uint16_t* column_maxima, bf16* unstored);
void swiglu_backward(const SwigluBackward& op, Index begin, Index end, std::uint16_t* column_maxima, bf16* unstored);
void swiglu_backward_cast(const SwigluBackwardCast& op, const float* scales, Index begin, Index end);

void quantize_rows(const QuantizeRows& op, Index begin, Index end, std::uint16_t* column_maxima);
void maxima(const Maxima& op, Index begin, Index end, std::uint16_t* column_maxima);
void cast_as_stored(const Cast& op, const float* scales, Index begin, Index end);
void cast_transposed(const Cast& op, const float* row_scales, const float* column_scales, Index begin, Index end);
void cast_statistics(const CastStatistics& op, Index begin, Index end, RowKernels::CastTally& tally);

/// Casts row `row` of `codes` from x [cols], which its producer has just written: nothing else decides its codes.
void cast_row(const bf16* x, Index cols, const RowCodes& codes, Index row);
/// Raises maxima [cols] to the magnitudes of x [cols], which its producer has just written.
void fold_columns(const bf16* x, Index cols, std::uint16_t* maxima);

void route(const Route& op, Index begin, Index end, float* scratch);
void route_backward(const RouteBackward& op, const float* fractions, Index begin, Index end, float* scratch,
                    double* losses);
void gather_rows(const GatherRows& op, Index begin, Index end, std::uint16_t* column_maxima);
void gather_rows_cast(const GatherRowsCast& op, Index group, Index begin, Index end);
void combine_rows(const CombineRows& op, Index begin, Index end);
void grouped_swiglu_forward(const GroupedSwigluForward& op, Index begin, Index end, std::uint16_t* column_maxima,
                            bf16* unstored);
void grouped_swiglu_backward(const GroupedSwigluBackward& op, Index begin, Index end, std::uint16_t* column_maxima,
                             bf16* unstored);
void grouped_swiglu_cast(const GroupedSwigluCast& op, Index group, Index begin, Index end);

void cross_entropy(const CrossEntropy& op, Index begin, Index end);
double sum_of_squares_bf16(const bf16* x, Index begin, Index end);
double sum_of_squares_f32(const float* x, Index begin, Index end);
double sum_of_floats(const float* x, Index begin, Index end);
void adamw(const AdamW& op, Index begin, Index end, std::uint16_t* column_maxima);
Index find_non_finite_bf16(const bf16* x, Index begin, Index end);
Index find_non_finite_f32(const float* x, Index begin, Index end);
void difference_bf16(const bf16* reference, const bf16* x, Index begin, Index end, double* energies);
void difference_f32(const float* reference, const float* x, Index begin, Index end, double* energies);

void decode_to_bf16(const std::uint8_t* codes, fp8::Format format, bf16* out, Index begin, Index end);
void decode_to_f32(const std::uint8_t* codes, fp8::Format format, float* out, Index begin, Index end);
void widen_to_f32(const bf16* x, float* out, Index begin, Index end);
void epilogue(const RowKernels::Epilogue& tile);

void rope(const Rope& op, Index begin, Index end, std::uint16_t* column_maxima);
void head_norm_rope(const HeadNormRope& op, Index begin, Index end);
void head_norm_rope_backward(const HeadNormRopeBackward& op, Index begin, Index end, float* partial,
                             std::uint16_t* column_maxima);
float softmax_row(const float* scores, Index keys, Index padded, float scale, bf16* probabilities);
void softmax_backward_row(const float* scores, const float* dp, Index keys, Index padded, float scale, float lse,
                          float delta, bf16* probabilities, bf16* ds);
float dot(const bf16* a, const bf16* b, Index count);
void attention_decode(const AttentionDecode& op, Index begin, Index end, float* scores);

}  // namespace octet::ops::cpu::OCTET_ISA
