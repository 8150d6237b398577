// The edges of the matrix product: codes and bf16 to what the product reads, and its sums to the result.
#include "ops/cpu/isa/cast.h"
#include "ops/cpu/isa/kernels.h"

namespace octet::ops::cpu::OCTET_ISA {

void decode_to_bf16(const std::uint8_t* codes, fp8::Format format, bf16* out, Index begin, Index end) {
  with_format(format, [&](auto tag) {
    for (Index i = begin; i < end; i += kLanes) {
      // Every value of an FP8 format is a bf16: the lower half of the float is zero.
      store_rounded(out + i, bits_of(decode<tag.format>(widen(codes + i, end - i))) >> 16, end - i);
    }
  });
}

void decode_to_f32(const std::uint8_t* codes, fp8::Format format, float* out, Index begin, Index end) {
  with_format(format, [&](auto tag) {
    for (Index i = begin; i < end; i += kLanes) {
      store(out + i, decode<tag.format>(widen(codes + i, end - i)), end - i);
    }
  });
}

void widen_to_f32(const bf16* x, float* out, Index begin, Index end) {
  for (Index i = begin; i < end; i += kLanes) store(out + i, load(x + i, end - i), end - i);
}

void epilogue(const RowKernels::Epilogue& tile) {
  for (Index row = 0; row < tile.rows; ++row) {
    const float* sums = tile.sums + row * tile.cols;
    const float row_scale = tile.row_scale == nullptr ? 1.0F : tile.row_scale[tile.one_row_scale ? 0 : row];
    for (Index i = 0; i < tile.cols; i += kLanes) {
      const Index count = tile.cols - i;
      F32 value = load(sums + i, count) * row_scale;
      if (tile.col_scale != nullptr) {
        value = value * (tile.one_col_scale ? splat(tile.col_scale[0]) : load(tile.col_scale + i, count));
      }
      const Index at = row * tile.d_stride + i;
      if (tile.d_dtype == DType::bf16) {
        store(static_cast<bf16*>(tile.d) + at, value, count);
      } else {
        float* d = static_cast<float*>(tile.d) + at;
        store(d, tile.accumulate ? load(d, count) + value : value, count);
      }
    }
  }
}

}  // namespace octet::ops::cpu::OCTET_ISA
