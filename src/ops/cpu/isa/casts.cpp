// Casts to FP8 that keep the layout: rows with a scale each, tensors with one, and what a cast did to its input.
#include "ops/cpu/isa/cast.h"
#include "ops/cpu/isa/kernels.h"
#include "ops/cpu/row_scale.h"

namespace octet::ops::cpu::OCTET_ISA {
namespace {

/// Bits of the largest magnitude of x [count]. As integers a NaN is larger than infinity, and stays.
[[gnu::always_inline]] inline std::uint16_t largest_magnitude(const bf16* x, Index count) {
  const I16 mask = splat<std::int16_t>(0x7FFF);
  I16 even{};
  I16 odd{};
  Index i = 0;
  for (; i + 4 * kLanes <= count; i += 4 * kLanes) {
    even = max(even, load_64_bytes<I16>(x + i) & mask);
    odd = max(odd, load_64_bytes<I16>(x + i + 2 * kLanes) & mask);
  }
  if (i < count) {
    bf16 padded[4 * kLanes]{};
    __builtin_memcpy(padded, x + i, static_cast<std::size_t>(count - i) * sizeof(bf16));
    even = max(even, load_64_bytes<I16>(padded) & mask);
    odd = max(odd, load_64_bytes<I16>(padded + 2 * kLanes) & mask);
  }
  return static_cast<std::uint16_t>(max(max(even, odd)));
}

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
  const RowScale scale = row_scale(codes.rule, largest_magnitude(x, cols));
  codes.scale_inverse[row] = scale.inverse;
  with_format(codes.format,
              [&](auto tag) { encode_row<tag.format>(x, cols, scale.scale, cols, codes.codes + row * cols); });
}

void quantize_rows(const QuantizeRows& op, Index begin, Index end) {
  for (Index row = begin; row < end; ++row) cast_row(op.x + row * op.cols, op.cols, op.codes, row);
}

std::uint16_t absolute_maximum(const bf16* x, Index begin, Index end) {
  return largest_magnitude(x + begin, end - begin);
}

void cast_rows(const QuantizeTensor& op, float scale, Index begin, Index end) {
  constexpr Index kAhead = 2048;
  const Index first = begin * op.cols;
  with_format(op.format, [&](auto tag) {
    encode_row<tag.format>(op.x + first, (end - begin) * op.cols, scale, kAhead, op.codes + first);
  });
}

void cast_statistics(const CastStatistics& op, Index begin, Index end, std::uint64_t& saturated,
                     std::uint64_t& overflowed) {
  float largest = 0.0F;
  float largest_kept = 0.0F;
  with_format(op.format, [&](auto tag) {
    constexpr float kKept = fp8::largest_not_overflowing<tag.format>();
    largest = __builtin_bit_cast(float, Bits<tag.format>::max);
    largest_kept = kKept;
  });
  for (Index row = begin; row < end; ++row) {
    const bf16* x = op.x + row * op.cols;
    const float scale = 1.0F / op.scale_inverse[op.one_scale ? 0 : row];
    U32 too_large{};
    U32 lost{};
    for (Index i = 0; i < op.cols; i += kLanes) {
      const Index count = op.cols - i;
      const F32 scaled = keep(load(x + i, count) * scale, count, 0.0F);
      too_large = too_large - __builtin_bit_cast(U32, magnitude(scaled) > largest);  // a set lane is -1
      lost = lost - __builtin_bit_cast(U32, magnitude(scaled) > largest_kept) - __builtin_bit_cast(U32, is_nan(scaled));
    }
    saturated += sum(too_large);
    overflowed += sum(lost);
  }
}

}  // namespace octet::ops::cpu::OCTET_ISA
