// Kernels with a planted fault each, for the detectors. The line at fault is marked: tests look for the mark behind the
// kernel's name, and for its number in the message.
#include "device.h"

/// out[i] = values[i + first].
KERNEL load(const u32* values, u32* out, u32 first) {
  out[thread()] = values[thread() + first];  // fault
}

KERNEL load_vectors(const u32x4* values, u32x4* out) {
  out[thread()] = values[thread()];  // fault
}

KERNEL load_uniformly(const u32* scale, u32* out) {
  out[thread()] = *scale;  // fault
}

DEVICE u32 element(const u32* values, u32 i) {
  return values[i];  // inlined
}
KERNEL load_by_function(const u32* values, u32* out) {
  out[thread()] = element(values, thread());  // fault
}

/// LDS of which `written` values are written, one less in each next workgroup.
KERNEL load_lds(u32* out, u32 written, u32 first) {
  SHARED u32 values[256];
  if (thread() < written - block()) values[thread()] = thread();
  barrier();
  out[thread()] = values[thread() + first];  // fault
}

/// Scratch of which `written` values are written.
KERNEL load_scratch(u32* out, u32 written, u32 at) {
  u32 values[40];
  for (u32 i = 0; i < written; ++i) values[i] = i;
  out[thread()] = values[at];  // fault
}

KERNEL load_misaligned(const u8* bytes, u32* out, u32 first) {
  out[thread()] = *reinterpret_cast<const u32*>(bytes + first + 4 * thread());  // fault
}

KERNEL load_lds_misaligned(u32x4* out, u32 first) {
  alignas(16) SHARED u8 bytes[2048];
  reinterpret_cast<u64*>(bytes)[thread()] = thread();
  barrier();
  out[thread()] = *reinterpret_cast<const u32x4*>(bytes + first + 16 * (thread() % 64));  // fault
}

KERNEL update_misaligned(u8* bytes, u32 first) {
  u32* word = reinterpret_cast<u32*>(bytes + first);
  __hip_atomic_fetch_add(word, 1U, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);  // fault
}

/// A fault where `to` is the kernel's own code, or where there are several workgroups.
KERNEL store(u32* to) {
  to[thread()] = block();  // fault
}

KERNEL store_to_arguments(u32 value) {
  u64 address = reinterpret_cast<u64>(__builtin_amdgcn_kernarg_segment_ptr());
  asm volatile("" : "+s"(address));  // so that clang does not know that this is undefined
  *reinterpret_cast<__attribute__((address_space(1))) u32*>(address) = value;  // fault
}

KERNEL exchange_without_barrier(u32* out) {
  SHARED u32 values[256];
  values[thread()] = 0;
  barrier();
  values[thread()] = thread();  // fault
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  out[thread()] = values[thread() ^ 64U];  // other
}

KERNEL read_of_another_workgroup(u32* values, u32* out) {
  values[global_thread()] = 1;  // fault
  barrier();
  out[global_thread()] = values[global_thread() ^ 256U];  // other
}

KERNEL count_and_read(u32* count, u32* out) {
  __hip_atomic_fetch_add(count, 1U, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);  // fault
  out[global_thread()] = *count;                                                  // other
}

/// No fault: both are atomic.
KERNEL pass_flags(u32* flags, u32* out) {
  __hip_atomic_store(&flags[block()], 1U, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  out[global_thread()] = __hip_atomic_load(&flags[block() ^ 1U], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}

KERNEL diverge_within_a_wave(u32* out) {
  if (lane() < 32) barrier();  // fault
  out[thread()] = lane();
}
