// Casts to FP8 that keep the layout, and the maxima that scales come from.
#include "ops/cpu/isa/cast.h"
#include "ops/cpu/isa/kernels.h"
#include "ops/cpu/row_scale.h"

namespace octet::ops::cpu::OCTET_ISA {
namespace {

/// Codes of x [count]. Fetches ahead, as encoding takes longer than the maximum that has read the row: with `ahead` a
/// whole row, the next maximum finds its values here.
template <fp8::Format F>
[[gnu::always_inline]] inline void encode_row(const bf16* x, Index count, float scale, Index ahead,
                                              std::uint8_t* codes) {
  const PairScales scales{splat(scale), splat(scale)};
  Index i = 0;
  for (; i + kPairLanes <= count; i += kPairLanes) {
    __builtin_prefetch(x + i + ahead);
    encode_pairs<F>(x + i, scales, codes + i);
  }
  if (i == count) return;
  bf16 padded[kPairLanes]{};
  std::uint8_t all_codes[kPairLanes];
  __builtin_memcpy(padded, x + i, static_cast<std::size_t>(count - i) * sizeof(bf16));
  encode_pairs<F>(padded, scales, all_codes);
  __builtin_memcpy(codes + i, all_codes, static_cast<std::size_t>(count - i));
}

}  // namespace

void cast_row(const bf16* x, Index cols, const RowCodes& codes, Index row) {
  const std::uint16_t amax = largest_magnitude(x, cols);
  const RowScale scale = row_scale(codes.rule, amax);
  codes.scale_inverse[row] = scale.inverse;
  if (codes.amax != nullptr) codes.amax[row] = bf16{amax};
  with_format(codes.rule.format(),
              [&](auto tag) { encode_row<tag.format>(x, cols, scale.scale, cols, codes.codes + row * cols); });
}

void fold_columns(const bf16* x, Index cols, std::uint16_t* maxima) {
  const I16 mask = splat<std::int16_t>(0x7FFF);
  Index i = 0;
  for (; i + 2 * kLanes <= cols; i += 2 * kLanes) {
    store_64_bytes(maxima + i, max(load_64_bytes<I16>(maxima + i), load_64_bytes<I16>(x + i) & mask));
  }
  for (; i < cols; ++i) {
    const auto magnitude = static_cast<std::uint16_t>(x[i].bits & 0x7FFFU);
    if (magnitude > maxima[i]) maxima[i] = magnitude;
  }
}

void quantize_rows(const QuantizeRows& op, Index begin, Index end, std::uint16_t* column_maxima) {
  for (Index row = begin; row < end; ++row) {
    const bf16* x = op.x + row * op.cols;
    cast_row(x, op.cols, op.codes, row);
    if (column_maxima != nullptr) fold_columns(x, op.cols, column_maxima);
  }
}

void maxima(const Maxima& op, Index begin, Index end, std::uint16_t* column_maxima) {
  for (Index row = begin; row < end; ++row) {
    const bf16* x = op.x + row * op.cols;
    if (op.row_amax != nullptr) op.row_amax[row] = bf16{largest_magnitude(x, op.cols)};
    fold_columns(x, op.cols, column_maxima);
  }
}

void cast_as_stored(const Cast& op, const float* scales, Index begin, Index end) {
  const bool by_row = op.as_stored.axis == ScaleAxis::row;
  with_format(op.rule.format(), [&](auto tag) {
    for (Index row = begin; row < end; ++row) {
      encode_row<tag.format>(op.x + row * op.cols, op.cols, scales[by_row ? row : 0], op.cols,
                             op.as_stored.codes + row * op.cols);
    }
  });
}

}  // namespace octet::ops::cpu::OCTET_ISA
