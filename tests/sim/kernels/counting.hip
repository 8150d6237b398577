// Kernels whose counts are known by construction: strides in LDS, spilled registers.
#include "device.h"

/// A wave: each lane writes a T, and reads its neighbour's; lanes are `pitch` values apart.
template <typename T>
DEVICE void exchange(T* words, T* out, u32 pitch) {
  words[thread() * pitch] = T{} + thread();
  barrier();
  out[thread()] = words[(thread() ^ 1) * pitch];
}
KERNEL exchange_b32(u32* out, u32 pitch) {
  SHARED u32 words[64 * 33];
  exchange(words, out, pitch);
}
KERNEL exchange_b64(u32x2* out, u32 pitch) {
  SHARED u32x2 words[64 * 17];
  exchange(words, out, pitch);
}
KERNEL exchange_b128(u32x4* out, u32 pitch) {
  SHARED u32x4 words[64 * 9];
  exchange(words, out, pitch);
}

/// out[k] = values[k] * the sum of all 100: more than fit into the 64 registers that eight waves leave a lane.
KERNEL __attribute__((amdgpu_waves_per_eu(8, 8))) spill(const u32* values, u32* out) {
  u32 kept[100];
  u32 sum = 0;
  for (u32 k = 0; k < 100; ++k) {
    kept[k] = values[k * 64 + thread()];
    sum += kept[k];
  }
  for (u32 k = 0; k < 100; ++k) out[k * 64 + thread()] = kept[k] * sum;
}

/// A value, then a flag that says it is there: releases the one, acquires the other.
KERNEL publish(u32* value, u32* flag) {
  value[global_thread()] = global_thread();
  __hip_atomic_fetch_add(flag, 1U, __ATOMIC_ACQ_REL, __HIP_MEMORY_SCOPE_AGENT);
}
