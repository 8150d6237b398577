// Small kernels that show the simulator's whole way: arguments, branches, LDS, barriers, DPP, division, scratch, atomics.
#include "device.h"

/// sums[i] = a[i] + b[i] for i < count.
KERNEL vector_add(const float* a, const float* b, float* sums, u32 count) {
  const u32 i = global_thread();
  if (i < count) sums[i] = a[i] + b[i];
}

/// Each lane's place in three dimensions, and the launch's extents: twelve numbers at the lane's number in the grid.
KERNEL places(u32* out) {
  const u32 group[3] = {__builtin_amdgcn_workgroup_id_x(), __builtin_amdgcn_workgroup_id_y(),
                        __builtin_amdgcn_workgroup_id_z()};
  const u32 item[3] = {__builtin_amdgcn_workitem_id_x(), __builtin_amdgcn_workitem_id_y(),
                       __builtin_amdgcn_workitem_id_z()};
  const u32 size[3] = {__builtin_amdgcn_workgroup_size_x(), __builtin_amdgcn_workgroup_size_y(),
                       __builtin_amdgcn_workgroup_size_z()};
  const u32 grid[3] = {__builtin_amdgcn_grid_size_x(), __builtin_amdgcn_grid_size_y(), __builtin_amdgcn_grid_size_z()};
  u32 at = 0;
  for (int axis = 2; axis >= 0; --axis) at = at * grid[axis] + group[axis] * size[axis] + item[axis];
  for (u32 axis = 0; axis < 3; ++axis) {
    out[at * 12 + axis] = group[axis];
    out[at * 12 + 3 + axis] = item[axis];
    out[at * 12 + 6 + axis] = size[axis];
    out[at * 12 + 9 + axis] = grid[axis];
  }
}

/// out[i] = values[i * stride], four bytes to each lane.
KERNEL gather(const u32* values, u32* out, u32 stride) {
  out[global_thread()] = values[global_thread() * stride];
}

/// sums[block] = the sum of 256 values: within 16 lanes by DPP, between these by permutes, between waves through LDS.
KERNEL reduce(const float* values, float* sums) {
  SHARED float of_wave[4];
  float sum = values[block() * 256 + thread()];
  sum += moved<0xB1>(sum);   // quad_perm:[1,0,3,2]
  sum += moved<0x4E>(sum);   // quad_perm:[2,3,0,1]
  sum += moved<0x141>(sum);  // row_half_mirror
  sum += moved<0x140>(sum);  // row_mirror
  sum += from_lane(sum, lane() ^ 16);
  sum += from_lane(sum, lane() ^ 32);
  if (lane() == 0) of_wave[thread() / 64] = sum;
  barrier();
  if (thread() == 0) sums[block()] = of_wave[0] + of_wave[1] + of_wave[2] + of_wave[3];
}

/// The fault that a missing barrier is: thread 0 reads what other waves write.
KERNEL reduce_without_barrier(const float* values, float* sums) {
  SHARED float of_wave[4];
  const float sum = values[block() * 256 + thread()];
  if (lane() == 0) of_wave[thread() / 64] = sum;
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  if (thread() == 0) sums[block()] = of_wave[0] + of_wave[1] + of_wave[2] + of_wave[3];
}

/// Barriers that not all reach: 0 half a wave, 1 one wave of four, 2 waves at two places; else all.
KERNEL diverge(u32* out, u32 how) {
  SHARED u32 values[256];
  values[thread()] = thread();
  if (how == 0 && lane() < 32) barrier();
  if (how == 1 && thread() < 64) barrier();
  if (how == 2) {
    if (thread() / 128 == 0) {
      barrier();
      values[thread()] += 1;
    } else {
      values[thread()] += 2;
      barrier();
    }
  }
  if (how > 2) barrier();
  out[thread()] = values[thread() ^ 1];
}

/// Atomic updates of one word by all waves, which are no race; reading it without a barrier would be one.
KERNEL count_in_lds(const u32* values, u32* counts, u32 with_barrier) {
  SHARED u32 count;
  if (thread() == 0) count = 0;
  barrier();
  __hip_atomic_fetch_add(&count, values[thread()] & 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
  if (with_barrier != 0) barrier();
  counts[block() * 256 + thread()] = __hip_atomic_load(&count, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
}

KERNEL divide(const float* a, const float* b, float* quotients, u32 count) {
  const u32 i = global_thread();
  if (i < count) quotients[i] = a[i] / b[i];
}

KERNEL divide_integers(const u64* a, const u64* b, u64* quotients, u32* narrow, u32 count) {
  const u32 i = global_thread();
  if (i >= count) return;
  quotients[i] = a[i] / b[i];
  narrow[2 * i] = static_cast<u32>(a[i]) / (static_cast<u32>(b[i]) | 1);
  narrow[2 * i + 1] = static_cast<u32>(static_cast<int>(a[i]) % (static_cast<int>(b[i] >> 7) | 1));
}

/// An array indexed by data lies in scratch.
KERNEL permute_in_scratch(const u32* values, u32* out) {
  u32 local[24];
  const u32 i = global_thread();
  for (u32 k = 0; k < 24; ++k) local[k] = values[(i + k * 7) & 255];
  u32 at = i % 24;
  for (u32 k = 0; k < 24; ++k) {
    const u32 next = local[at] % 24;
    local[at] += k;
    at = next;
  }
  u32 sum = 0;
  for (u32 k = 0; k < 24; ++k) sum = sum * 31 + local[k];
  out[i] = sum;
}

/// histogram[value % 16] += 1, and the sum of floats in the order of workgroups.
KERNEL accumulate(const u32* values, u32* histogram, float* sum) {
  const u32 value = values[global_thread()];
  __hip_atomic_fetch_add(&histogram[value & 15], 1U, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  __hip_atomic_fetch_add(sum, static_cast<float>(value) * 0.1F, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
