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
