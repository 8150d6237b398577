// Conversions of every bf16 value, and matrix instructions by their builtins.
#include "device.h"

/// codes[i] = the bf16 number i as FP8 and, above it, as BF8; values[i] = both codes decoded again.
KERNEL convert(u32* codes, float* values) {
  const u32 i = global_thread();
  const float value = as_float(i << 16);
  const int fp8 = __builtin_amdgcn_cvt_pk_fp8_f32(value, value, 0, false);
  const int bf8 = __builtin_amdgcn_cvt_pk_bf8_f32(value, value, 0, false);
  codes[i] = (static_cast<u32>(fp8) & 0xFF) | (static_cast<u32>(bf8) & 0xFF) << 8;
  values[2 * i] = __builtin_amdgcn_cvt_f32_fp8(fp8, 1);
  values[2 * i + 1] = __builtin_amdgcn_cvt_f32_bf8(bf8, 0);
}

/// codes[i] = the bf16 number i as BF8 in byte 0 and as FP8 in byte 2, rounded by randoms[i].
KERNEL convert_stochastically(const u32* randoms, u32* codes) {
  const u32 i = global_thread();
  const float value = as_float(i << 16);
  const int random = static_cast<int>(randoms[i]);
  const int bf8 = __builtin_amdgcn_cvt_sr_bf8_f32(value, random, 0, 0);
  codes[i] = static_cast<u32>(__builtin_amdgcn_cvt_sr_fp8_f32(value, random, bf8, 2));
}

using bf16x4 = short __attribute__((ext_vector_type(4)));

/// c [16, 16] = a [16, 32] b [16, 32]^T + c, in FP8; a wave.
KERNEL multiply_fp8(const u8* a, const u8* b, float* c) {
  const u32 row = lane() % 16;
  const u32 group = lane() / 16;
  const long a_codes = *reinterpret_cast<const long*>(a + row * 32 + group * 8);
  const long b_codes = *reinterpret_cast<const long*>(b + row * 32 + group * 8);
  f32x4 sums;
  for (u32 part = 0; part < 4; ++part) sums[part] = c[(group * 4 + part) * 16 + row];
  sums = __builtin_amdgcn_mfma_f32_16x16x32_fp8_fp8(a_codes, b_codes, sums, 0, 0, 0);
  for (u32 part = 0; part < 4; ++part) c[(group * 4 + part) * 16 + row] = sums[part];
}

/// c [16, 16] = a [16, 16] b [16, 16]^T + c, in bf16; a wave.
KERNEL multiply_bf16(const u16* a, const u16* b, float* c) {
  const u32 row = lane() % 16;
  const u32 group = lane() / 16;
  const bf16x4 a_values = *reinterpret_cast<const bf16x4*>(a + row * 16 + group * 4);
  const bf16x4 b_values = *reinterpret_cast<const bf16x4*>(b + row * 16 + group * 4);
  f32x4 sums;
  for (u32 part = 0; part < 4; ++part) sums[part] = c[(group * 4 + part) * 16 + row];
  sums = __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(a_values, b_values, sums, 0, 0, 0);
  for (u32 part = 0; part < 4; ++part) c[(group * 4 + part) * 16 + row] = sums[part];
}

/// c [4, 4, 4] = a [4, 4, 4] b [4, 4, 4] + c, four products of doubles; a wave.
KERNEL multiply_doubles(const double* a, const double* b, double* c) {
  const u32 i = lane() % 4;
  const u32 block = lane() / 4 % 4;
  const u32 k = lane() / 16;
  const double a_value = a[block * 16 + i * 4 + k];
  const double b_value = b[block * 16 + k * 4 + i];
  double* sum = c + block * 16 + k * 4 + i;
  *sum = __builtin_amdgcn_mfma_f64_4x4x4f64(a_value, b_value, *sum, 0, 0, 0);
}

#if defined(__gfx950__)
using f32x2 = float __attribute__((ext_vector_type(2)));
using i32x8 = int __attribute__((ext_vector_type(8)));

/// c [16, 16] = a [16, 128] b [16, 128]^T + c in FP8, with a scale for each 32 neighbours, [16, 4] of a and of b; a
/// wave.
KERNEL multiply_scaled(const u8* a, const u8* b, const u8* a_scales, const u8* b_scales, float* c) {
  const u32 row = lane() % 16;
  const u32 group = lane() / 16;
  i32x8 a_codes;
  i32x8 b_codes;
  for (u32 part = 0; part < 8; ++part) {
    const u32 at = row * 128 + part / 4 * 64 + group * 16 + part % 4 * 4;
    a_codes[part] = *reinterpret_cast<const int*>(a + at);
    b_codes[part] = *reinterpret_cast<const int*>(b + at);
  }
  f32x4 sums;
  for (u32 part = 0; part < 4; ++part) sums[part] = c[(group * 4 + part) * 16 + row];
  sums = __builtin_amdgcn_mfma_scale_f32_16x16x128_f8f6f4(a_codes, b_codes, sums, 0, 0, 0, a_scales[row * 4 + group], 0,
                                                          b_scales[row * 4 + group]);
  for (u32 part = 0; part < 4; ++part) c[(group * 4 + part) * 16 + row] = sums[part];
}

/// results[i] = values[i] as FP4 with that scale, decoded again.
KERNEL through_fp4(const float* values, float* results, float scale) {
  const u32 i = global_thread();
  const u32 codes = __builtin_amdgcn_cvt_scalef32_pk_fp4_f32(0, values[2 * i], values[2 * i + 1], scale, 1);
  const f32x2 decoded = __builtin_amdgcn_cvt_scalef32_pk_f32_fp4(codes, scale, 1);
  results[2 * i] = decoded[0];
  results[2 * i + 1] = decoded[1];
}
#endif
