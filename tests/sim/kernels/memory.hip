// Kernels that reach memory by other ways than plain pointers: buffers, loads into LDS, flat addresses, atomics.
#include "device.h"

#if defined(__AMDGCN__)
using Resource = __amdgpu_buffer_rsrc_t;
/// The first `bytes` bytes from `base` on.
DEVICE Resource buffer(const void* base, u32 bytes) {
  return __builtin_amdgcn_make_buffer_rsrc(const_cast<void*>(base), 0, bytes, 0x27000);
}
using InGlobal = __attribute__((address_space(1))) void*;
using InLds = __attribute__((address_space(3))) void*;
DEVICE InGlobal in_global(const void* pointer) {
  return (InGlobal) const_cast<void*>(pointer);
}
DEVICE InLds in_lds(void* pointer) {
  return (InLds)pointer;
}
#endif

/// out[i] = values[i] + the four dwords at 4 i of it, for all lanes; what lies past `bytes` counts as 0, and is not
/// written.
KERNEL sum_buffers(const u32* values, u32* out, u32 bytes) {
  const Resource from = buffer(values, bytes);
  const u32 i = global_thread();
  const u32x4 four = __builtin_amdgcn_raw_buffer_load_b128(from, 4 * i, 0, 0);
  const u32 one = __builtin_amdgcn_raw_buffer_load_b32(from, 0, 4 * block(), 0);
  const u32 narrow = __builtin_amdgcn_raw_buffer_load_b8(from, i, 0, 0);
  const u32 sum = four.x + four.y + four.z + four.w + one + narrow;
  __builtin_amdgcn_raw_buffer_store_b32(sum, buffer(out, bytes), 4 * i, 0, 0);
}

/// histogram[values[i] % 16] += 1 through a buffer, which has room for `bins` of the 16.
KERNEL count_by_buffer(const u32* values, u32* histogram, u32 bins) {
  __builtin_amdgcn_raw_ptr_buffer_atomic_add_i32(1, buffer(histogram, 4 * bins), values[global_thread()] % 16 * 4, 0,
                                                 0);
}

/// Reverses 256 dwords of each block by way of LDS, into which they are loaded from global memory.
KERNEL reverse_through_lds(const u32* values, u32* out) {
  alignas(16) SHARED u32 tile[256];
  const u32 wave = __builtin_amdgcn_readfirstlane(thread() / 64);
  __builtin_amdgcn_global_load_lds(in_global(values + global_thread()), in_lds(tile + 64 * wave), 4, 0, 0);
  __builtin_amdgcn_s_waitcnt(0);
  barrier();
  out[global_thread()] = tile[255 - thread()];
}

/// The same through a buffer of `bytes` bytes: what lies behind comes as 0.
KERNEL reverse_buffer_through_lds(const u32* values, u32* out, u32 bytes) {
  alignas(16) SHARED u32 tile[256];
  const u32 wave = __builtin_amdgcn_readfirstlane(thread() / 64);
  __builtin_amdgcn_raw_ptr_buffer_load_lds(buffer(values, bytes), in_lds(tile + 64 * wave), 4, 4 * global_thread(), 0,
                                           0, 0);
  __builtin_amdgcn_s_waitcnt(0);
  barrier();
  out[global_thread()] = tile[255 - thread()];
}

/// Even lanes count up a word of LDS, odd ones a word of global memory, and all read a word of either, or of their
/// scratch, by one pointer.
KERNEL choose_by_pointer(u32* words, const u32* choices, u32* out) {
  SHARED u32 shared[64];
  u32 own[16];
  const u32 i = thread();
  shared[i] = 1000 + i;
  for (u32 k = 0; k < 16; ++k) own[k] = 3000 + 16 * i + (k ^ choices[i]);
  u32* counted = i % 2 == 0 ? &shared[i] : &words[i];
  barrier();
  __hip_atomic_fetch_add(counted, 5U, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  barrier();
  const u32 choice = choices[i];
  const u32* read = choice % 3 == 0 ? &words[i] : choice % 3 == 1 ? &shared[i] : &own[choice];
  out[i] = *read;
}

/// How far a wave's clock gets over an instruction, and MODE.
KERNEL read_state(u32* out) {
  const u64 begin = __builtin_amdgcn_s_memtime();
  __builtin_amdgcn_s_sleep(1);
  const u64 end = __builtin_amdgcn_s_memrealtime();
  if (thread() == 0) {
    out[0] = static_cast<u32>(end - begin);
    out[1] = __builtin_amdgcn_s_getreg(1 | (31 << 11));
  }
}

KERNEL give_up(const u32* values) {
  if (values[global_thread()] == 13) __builtin_trap();
}

/// Sums and extremes by atomics of all widths, of values apart by their remainders by 4: addresses that differ between
/// lanes, as the compiler reduces those that do not by itself. Three sums and three extremes for each remainder.
KERNEL reduce_by_atomics(const u32* values, const double* doubles, u64* sums, double* extremes, float* total) {
  const u32 value = values[global_thread()];
  const double wide = doubles[global_thread()];
  u64* const sum = sums + value % 4 * 3;
  auto* const extreme = (__attribute__((address_space(1))) double*)(extremes + value % 4 * 3);
  __hip_atomic_fetch_add(sum, static_cast<u64>(value) << 20, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  __hip_atomic_fetch_max(reinterpret_cast<long*>(sum + 1), static_cast<long>(value) - 500, __ATOMIC_RELAXED,
                         __HIP_MEMORY_SCOPE_AGENT);
  __hip_atomic_fetch_xor(sum + 2, static_cast<u64>(value) << 30, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  __builtin_amdgcn_global_atomic_fadd_f64(extreme, wide);
  __builtin_amdgcn_global_atomic_fmin_f64(extreme + 1, wide);
  __builtin_amdgcn_global_atomic_fmax_f64(extreme + 2, wide);
  SHARED float of_block;
  if (thread() == 0) of_block = 0;
  barrier();
  __hip_atomic_fetch_add(&of_block, static_cast<float>(value), __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
  barrier();
  if (thread() == 0) total[block()] = of_block;
}

#if defined(__gfx950__)
using i32x2 = int __attribute__((vector_size(8)));
/// out[c][r] = values[r][c] for a matrix of bytes of 32 rows and 16 columns: each group of 16 lanes transposes 8 rows.
KERNEL transpose_bytes(const u8* values, u8* out) {
  alignas(16) SHARED u8 tile[512];
  const u32 i = lane();
  for (u32 k = 0; k < 8; ++k) tile[8 * i + k] = values[8 * i + k];
  barrier();
  const auto column =
      __builtin_amdgcn_ds_read_tr8_b64_v2i32((__attribute__((address_space(3))) i32x2*)in_lds(tile + 8 * i));
  for (u32 k = 0; k < 8; ++k) {
    out[i % 16 * 32 + i / 16 * 8 + k] = static_cast<u8>(static_cast<u32>(column[k / 4]) >> (8 * (k % 4)));
  }
}

/// As reverse_through_lds, with 16 bytes to each lane.
KERNEL reverse_wide_through_lds(const u32x4* values, u32x4* out) {
  alignas(16) SHARED u32x4 tile[256];
  const u32 wave = __builtin_amdgcn_readfirstlane(thread() / 64);
  __builtin_amdgcn_global_load_lds(in_global(values + global_thread()), in_lds(tile + 64 * wave), 16, 0, 0);
  __builtin_amdgcn_s_waitcnt(0);
  barrier();
  out[global_thread()] = tile[255 - thread()];
}
#endif
