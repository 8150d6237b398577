// Arithmetic other than FP8's and single precision's: what clang makes of doubles, halves, short integers, and of
// arrays in registers that are indexed.
#include "device.h"

using half = _Float16;
using half2 = half __attribute__((ext_vector_type(2)));
using short2 = short __attribute__((ext_vector_type(2)));
using u16x2 = u16 __attribute__((ext_vector_type(2)));

/// results[4 * i] = a / b, the root of |a|, the fused a * b + a, and the remainder of rounding a to an integer.
KERNEL double_arithmetic(const double* a, const double* b, double* results, u32 count) {
  const u32 i = global_thread();
  if (i >= count) return;
  results[4 * i] = a[i] / b[i];
  results[4 * i + 1] = __builtin_sqrt(__builtin_fabs(a[i]));
  results[4 * i + 2] = __builtin_fma(a[i], b[i], a[i]);
  results[4 * i + 3] = a[i] - __builtin_rint(a[i]);
}

/// The exponential function as libraries compute it: reduction to [-ln 2 / 2, ln 2 / 2], a polynomial, a power of two.
KERNEL double_exponential(const double* a, double* results, u32 count) {
  const u32 i = global_thread();
  if (i >= count) return;
  const double power = __builtin_rint(a[i] * 1.4426950408889634);
  double x = __builtin_fma(power, -0.693147180369123816490, a[i]);
  x = __builtin_fma(power, -1.90821492927058770002e-10, x);
  double sum = 1;
  for (int k = 16; k > 0; --k) sum = __builtin_fma(sum, x / k, 1.0);
  results[i] = __builtin_ldexp(sum, static_cast<int>(power));
}

/// Between doubles and integers of 64 bits, and comparisons: as many as there are smaller ones among 256.
KERNEL double_conversions(const double* a, long* whole, double* again, u32* ranks) {
  const u32 i = global_thread();
  whole[i] = static_cast<long>(a[i]);
  again[i] = static_cast<double>(whole[i]) + static_cast<double>(static_cast<float>(a[i]));
  u32 rank = 0;
  for (u32 k = 0; k < 256; ++k) rank += a[k] < a[i] || (a[k] == a[i] && k < i) ? 1 : 0;
  ranks[i] = rank;
}

/// results[3 * i] = a * b + c, a / b, the larger of a and c; of halves alone.
KERNEL half_arithmetic(const half* a, const half* b, const half* c, half* results, u32 count) {
  const u32 i = global_thread();
  if (i >= count) return;
  results[3 * i] = __builtin_fmaf16(a[i], b[i], c[i]);
  results[3 * i + 1] = a[i] / b[i];
  results[3 * i + 2] = __builtin_fmaxf16(a[i], c[i]);
}

/// A dot product of pairs of halves in each lane, the same by v_dot2, and a sum that mixes halves with floats.
KERNEL half_pairs(const half2* a, const half2* b, half2* sums, float* dots, float* mixed) {
  const u32 i = global_thread();
  half2 sum = {0, 0};
  float dot = 0;
  float mix = 1;
  for (u32 k = 0; k < 8; ++k) {
    const half2 x = a[8 * i + k];
    const half2 y = b[8 * i + k];
    sum = __builtin_elementwise_fma(x, y, sum) - y;
    dot = __builtin_amdgcn_fdot2(x, y, dot, false);
    mix = __builtin_fmaf(static_cast<float>(x[1]), static_cast<float>(y[0]), mix);
  }
  sums[i] = sum;
  dots[i] = dot;
  mixed[i] = mix;
}

/// Saturating sums, products and shifts of pairs of integers of 16 bits; a dot product of bytes.
KERNEL short_arithmetic(const short2* a, const short2* b, short2* sums, u16x2* products, int* dots) {
  const u32 i = global_thread();
  sums[i] = __builtin_elementwise_sub_sat(__builtin_elementwise_add_sat(a[i], b[i]), b[i] >> short2{3, 5});
  products[i] = __builtin_bit_cast(u16x2, a[i]) * __builtin_bit_cast(u16x2, b[i]) + u16x2{7, 9};
  dots[i] = __builtin_amdgcn_sdot4(__builtin_bit_cast(int, a[i]), __builtin_bit_cast(int, b[i]), 1000, false);
}

/// An array that stays in registers: places come from memory, the same for all lanes.
KERNEL index_registers(const u32* values, const u32* places, u32* out, u32 count) {
  u32 local[16];
  const u32 i = global_thread();
  for (u32 k = 0; k < 16; ++k) local[k] = values[16 * i + k];
  u32 sum = 0;
  for (u32 k = 0; k < count; ++k) {
    const u32 from = places[2 * k] & 15;
    const u32 to = places[2 * k + 1] & 15;
    sum = sum * 31 + local[from];
    local[to] = sum;
  }
  for (u32 k = 0; k < 16; ++k) out[16 * i + k] = local[k];
}

/// The same with places that differ between lanes.
KERNEL index_registers_by_lane(const u32* values, u32* out) {
  u32 local[8];
  const u32 i = global_thread();
  for (u32 k = 0; k < 8; ++k) local[k] = values[8 * i + k];
  u32 at = i & 7;
  for (u32 k = 0; k < 8; ++k) {
    local[at] += k;
    at = local[at] & 7;
  }
  for (u32 k = 0; k < 8; ++k) out[8 * i + k] = local[k];
}
