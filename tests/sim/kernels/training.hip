// Kernels as training has them: a row-wise FP8 cast, and an FP8 product by tiles.
#include "device.h"

#if defined(__gfx950__)
constexpr float kLargest = 448;
#else
constexpr float kLargest = 240;
#endif

DEVICE float low_half(u32 pair) {
  return as_float(pair << 16);
}
DEVICE float high_half(u32 pair) {
  return as_float(pair & 0xFFFF0000U);
}
DEVICE u32 four_codes(float a, float b, float c, float d) {
  const int low = __builtin_amdgcn_cvt_pk_fp8_f32(a, b, 0, false);
  return static_cast<u32>(__builtin_amdgcn_cvt_pk_fp8_f32(c, d, low, true));
}
DEVICE float clamped(float value) {
  return __builtin_amdgcn_fmed3f(value, -kLargest, kLargest);
}

/// codes[row, column] = x[row, column] * scales[row] as FP8, scales[row] = largest / amax. x is bf16 [blocks, columns];
/// columns is a multiple of 8.
KERNEL quantize_rows(const u32x4* x, u32x2* codes, float* scales, u32 columns) {
  SHARED float of_wave[4];
  const u32 vectors = columns / 8;
  const u32x4* row = x + u64{block()} * vectors;
  float amax = 0;
  for (u32 i = thread(); i < vectors; i += 256) {
    const u32x4 eight = row[i];
    for (u32 k = 0; k < 4; ++k) {
      amax = __builtin_fmaxf(amax, __builtin_fabsf(low_half(eight[k])));
      amax = __builtin_fmaxf(amax, __builtin_fabsf(high_half(eight[k])));
    }
  }
  for (u32 mask = 32; mask != 0; mask /= 2) amax = __builtin_fmaxf(amax, from_lane(amax, lane() ^ mask));
  if (lane() == 0) of_wave[thread() / 64] = amax;
  barrier();
  amax = __builtin_fmaxf(__builtin_fmaxf(of_wave[0], of_wave[1]), __builtin_fmaxf(of_wave[2], of_wave[3]));
  const float scale = kLargest / amax;
  if (thread() == 0) scales[block()] = scale;
  for (u32 i = thread(); i < vectors; i += 256) {
    const u32x4 eight = row[i];
    float scaled[8];
    for (u32 k = 0; k < 4; ++k) {
      scaled[2 * k] = clamped(low_half(eight[k]) * scale);
      scaled[2 * k + 1] = clamped(high_half(eight[k]) * scale);
    }
    codes[u64{block()} * vectors + i] = u32x2{four_codes(scaled[0], scaled[1], scaled[2], scaled[3]),
                                              four_codes(scaled[4], scaled[5], scaled[6], scaled[7])};
  }
}

/// c[m, n] = sum over k of a[m, k] * b[n, k]: FP8 codes, c in fp32. A block makes a tile of 128 x 128; blocks lie along
/// n first. Sizes are multiples of the tile, depth of 32.
KERNEL multiply_tiles(const u8* a, const u8* b, float* c, u32 columns, u32 depth) {
  constexpr u32 kPitch = 48;  // bytes from row to row in LDS, so that rows begin at other banks
  alignas(16) SHARED u8 a_tile[128 * kPitch];
  alignas(16) SHARED u8 b_tile[128 * kPitch];
  const u32 tiles = columns / 128;
  const u32 m0 = block() / tiles * 128;
  const u32 n0 = block() % tiles * 128;
  const u32 wave = thread() / 64;
  const u32 wave_m = wave / 2 * 64;
  const u32 wave_n = wave % 2 * 64;
  f32x16 sums[2][2] = {};
  for (u32 k0 = 0; k0 < depth; k0 += 32) {
    const u32 row = thread() / 2;
    const u32 byte = thread() % 2 * 16;
    const u32x4 a_part = *reinterpret_cast<const u32x4*>(a + u64{m0 + row} * depth + k0 + byte);
    const u32x4 b_part = *reinterpret_cast<const u32x4*>(b + u64{n0 + row} * depth + k0 + byte);
    barrier();
    *reinterpret_cast<u32x4*>(a_tile + row * kPitch + byte) = a_part;
    *reinterpret_cast<u32x4*>(b_tile + row * kPitch + byte) = b_part;
    barrier();
    for (u32 k = 0; k < 32; k += 16) {
      long a_codes[2];
      long b_codes[2];
      for (u32 i = 0; i < 2; ++i) {
        const u32 at = k + lane() / 32 * 8;
        a_codes[i] = *reinterpret_cast<const long*>(a_tile + (wave_m + i * 32 + lane() % 32) * kPitch + at);
        b_codes[i] = *reinterpret_cast<const long*>(b_tile + (wave_n + i * 32 + lane() % 32) * kPitch + at);
      }
      for (u32 i = 0; i < 2; ++i) {
        for (u32 j = 0; j < 2; ++j) {
          sums[i][j] = __builtin_amdgcn_mfma_f32_32x32x16_fp8_fp8(a_codes[i], b_codes[j], sums[i][j], 0, 0, 0);
        }
      }
    }
  }
  for (u32 i = 0; i < 2; ++i) {
    for (u32 j = 0; j < 2; ++j) {
      for (u32 part = 0; part < 16; ++part) {
        const u32 m = m0 + wave_m + i * 32 + part / 4 * 8 + lane() / 32 * 4 + part % 4;
        c[u64{m} * columns + n0 + wave_n + j * 32 + lane() % 32] = sums[i][j][part];
      }
    }
  }
}
