// What test kernels need of HIP, by clang's builtins: no ROCm is installed where they are compiled.
#pragma once

#define KERNEL extern "C" __attribute__((global)) void __attribute__((amdgpu_flat_work_group_size(1, 256)))
#define DEVICE __attribute__((device)) inline
#define SHARED __attribute__((shared))

using u8 = unsigned char;
using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long;
using u32x2 = u32 __attribute__((ext_vector_type(2)));
using u32x4 = u32 __attribute__((ext_vector_type(4)));
using f32x4 = float __attribute__((ext_vector_type(4)));
using f32x16 = float __attribute__((ext_vector_type(16)));

#if defined(__AMDGCN__)
DEVICE u32 lane() {
  return __builtin_amdgcn_mbcnt_hi(~0U, __builtin_amdgcn_mbcnt_lo(~0U, 0U));
}
DEVICE u32 thread() {
  return __builtin_amdgcn_workitem_id_x();
}
DEVICE u32 block() {
  return __builtin_amdgcn_workgroup_id_x();
}
DEVICE u32 global_thread() {
  return block() * __builtin_amdgcn_workgroup_size_x() + thread();
}
DEVICE void barrier() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
DEVICE float as_float(u32 bits) {
  return __builtin_bit_cast(float, bits);
}
DEVICE u32 as_bits(float value) {
  return __builtin_bit_cast(u32, value);
}
/// The value of the lane that `Control` of DPP names; 0 where there is none.
template <int Control>
DEVICE float moved(float value) {
  return as_float(__builtin_amdgcn_update_dpp(0, as_bits(value), Control, 0xF, 0xF, true));
}
DEVICE float from_lane(float value, u32 source) {
  return as_float(__builtin_amdgcn_ds_bpermute(source << 2, as_bits(value)));
}
#endif
