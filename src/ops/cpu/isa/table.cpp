// The table of one instruction set's kernels.
#include "ops/cpu/isa/kernels.h"

namespace octet::ops::cpu::OCTET_ISA {

const RowKernels kernels{
    .embedding_forward = embedding_forward,
    .cross_entropy = cross_entropy,
    .rope = rope,
    .quantize_rows = quantize_rows,
    .maxima = maxima,
    .adamw = adamw,
    .rmsnorm_forward = rmsnorm_forward,
    .swiglu_forward = swiglu_forward,
    .swiglu_backward = swiglu_backward,
    .rmsnorm_backward = rmsnorm_backward,
    .cast_as_stored = cast_as_stored,
    .cast_transposed = cast_transposed,
    .rmsnorm_forward_cast = rmsnorm_forward_cast,
    .swiglu_backward_cast = swiglu_backward_cast,
    .route = route,
    .route_backward = route_backward,
    .gather_rows = gather_rows,
    .grouped_swiglu_forward = grouped_swiglu_forward,
    .grouped_swiglu_backward = grouped_swiglu_backward,
    .combine_rows = combine_rows,
    .gather_rows_cast = gather_rows_cast,
    .grouped_swiglu_cast = grouped_swiglu_cast,
    .embedding_backward = embedding_backward,
    .column_sums = column_sums,
    .sum_of_squares_bf16 = sum_of_squares_bf16,
    .sum_of_squares_f32 = sum_of_squares_f32,
    .sum = sum_of_floats,
    .find_non_finite_bf16 = find_non_finite_bf16,
    .find_non_finite_f32 = find_non_finite_f32,
    .difference_bf16 = difference_bf16,
    .difference_f32 = difference_f32,
    .cast_statistics = cast_statistics,
    .decode_to_bf16 = decode_to_bf16,
    .decode_to_f32 = decode_to_f32,
    .widen_to_f32 = widen_to_f32,
    .epilogue = epilogue,
    .softmax_row = softmax_row,
    .softmax_backward_row = softmax_backward_row,
    .dot = dot,
    .attention_decode = attention_decode,
};

}  // namespace octet::ops::cpu::OCTET_ISA
