// What clang makes of wide integers, of memory of a lane behind a call, of atomics in LDS and of scans of a wave.
#include "device.h"

using i32 = int;
using i64 = long;

/// 64-bit arithmetic: out [count, 16]. Neither b nor a signed quotient's divisor is 0, and no quotient overflows.
KERNEL wide_integers(const u64* a, const u64* b, u64* out, u32 count) {
  const u32 i = global_thread();
  if (i >= count) return;
  const u64 x = a[i];
  const u64 y = b[i];
  const i64 p = static_cast<i64>(x);
  const i64 q = static_cast<i64>(y);
  u64* to = out + u64{i} * 16;
  to[0] = x + y;
  to[1] = x - y;
  to[2] = x * y;
  to[3] = static_cast<u64>(static_cast<unsigned __int128>(x) * y >> 64);
  to[4] = x << (y & 63);
  to[5] = x >> (y & 63);
  to[6] = static_cast<u64>(p >> (y & 63));
  to[7] = x / y;
  to[8] = x % y;
  to[9] = static_cast<u64>(p / q);
  to[10] = static_cast<u64>(p % q);
  to[11] = u64{x < y} | u64{x <= y} << 1 | u64{p < q} << 2 | u64{p <= q} << 3 | u64{x == y} << 4 | u64{x != y} << 5;
  to[12] = x < y ? x : y;
  to[13] = static_cast<u64>(p > q ? p : q);
  to[14] = static_cast<u64>(__builtin_popcountl(x));
  to[15] = (x & y) ^ (x | ~y);
}

#define PRIVATE __attribute__((address_space(5)))

/// Walks through a table of the caller's in scratch, and notes the way in one of its own. A real call.
__attribute__((device, noinline)) u32 walk(PRIVATE u32* table, u32 steps) {
  u32 visits[24] = {};
  u32 at = 0;
  for (u32 k = 0; k < steps; ++k) {
    at = table[at] & 15;
    table[at] += k;
    visits[(at + k) % 24] += at;
  }
  u32 sum = 0;
  for (u32 k = 0; k < 24; ++k) sum = sum * 31 + visits[k];
  return sum;
}

/// out[i] = a number of what two walks of other lengths leave behind.
KERNEL call_with_scratch(const u32* values, u32* out) {
  u32 table[16];
  const u32 i = global_thread();
  for (u32 k = 0; k < 16; ++k) table[k] = values[(i + k * 5) & 255];
  u32 sum = walk((PRIVATE u32*)table, i & 15);
  sum = sum * 31 + walk((PRIVATE u32*)table, 20);
  for (u32 k = 0; k < 16; ++k) sum = sum * 31 + table[k];
  out[i] = sum;
}

constexpr int kRelaxed = __ATOMIC_RELAXED;
constexpr int kWorkgroup = __HIP_MEMORY_SCOPE_WORKGROUP;

#define GLOBAL __attribute__((address_space(1)))

/// The order of its calls decides how a sum is rounded.
__attribute__((device, noinline)) void add_to(GLOBAL float* sum, float value) {
  __hip_atomic_fetch_add(sum, value, kRelaxed, __HIP_MEMORY_SCOPE_AGENT);
}

KERNEL add_by_calls(const float* values, float* sum) {
  add_to((GLOBAL float*)sum, values[global_thread()]);
}

/// Nine operations on eight words of LDS each, by a workgroup of 256: words [9, 8] as they end, and of each thread what
/// adding 1 and an exchange returned.
KERNEL lds_atomics(const u32* values, u32* words, u32* tickets, u32* exchanged) {
  SHARED u32 shared[9][8];
  SHARED u32 counters[8];
  SHARED u32 last[8];
  if (thread() < 72) shared[thread() / 8][thread() % 8] = 0x1000'0000U * (thread() % 8) + thread();
  if (thread() < 8) counters[thread()] = 0;
  if (thread() < 8) last[thread()] = ~0U;
  barrier();
  const u32 value = values[thread()];
  const u32 to = value & 7;
  __hip_atomic_fetch_add(&shared[0][to], value, kRelaxed, kWorkgroup);
  __hip_atomic_fetch_sub(&shared[1][to], value, kRelaxed, kWorkgroup);
  __hip_atomic_fetch_and(&shared[2][to], value, kRelaxed, kWorkgroup);
  __hip_atomic_fetch_or(&shared[3][to], value, kRelaxed, kWorkgroup);
  __hip_atomic_fetch_xor(&shared[4][to], value, kRelaxed, kWorkgroup);
  __hip_atomic_fetch_max(&shared[5][to], value, kRelaxed, kWorkgroup);
  __hip_atomic_fetch_min(&shared[6][to], value, kRelaxed, kWorkgroup);
  __hip_atomic_fetch_max(reinterpret_cast<i32*>(&shared[7][to]), static_cast<i32>(value), kRelaxed, kWorkgroup);
  __hip_atomic_fetch_min(reinterpret_cast<i32*>(&shared[8][to]), static_cast<i32>(value), kRelaxed, kWorkgroup);
  tickets[thread()] = __hip_atomic_fetch_add(&counters[to], 1U, kRelaxed, kWorkgroup);
  exchanged[thread()] = __hip_atomic_exchange(&last[to], thread(), kRelaxed, kWorkgroup);
  barrier();
  if (thread() < 72) words[thread()] = shared[thread() / 8][thread() % 8];
}

/// The source that `Control` names, 0 where there is none or the row is not in `Rows`.
template <int Control, int Rows = 15>
DEVICE u32 shifted(u32 value) {
  return static_cast<u32>(__builtin_amdgcn_update_dpp(0, static_cast<int>(value), Control, Rows, 15, false));
}

/// sums [lanes, 5]: the sum of the lanes up to this one, of its row twice over, of all, and of the lanes from it on.
KERNEL sum_waves(const u32* values, u32* sums) {
  const u32 value = values[global_thread()];
  u32 scan = value;
  scan += shifted<0x111>(scan);       // row_shr:1
  scan += shifted<0x112>(scan);       // row_shr:2
  scan += shifted<0x114>(scan);       // row_shr:4
  scan += shifted<0x118>(scan);       // row_shr:8
  scan += shifted<0x142, 0xA>(scan);  // row_bcast:15 into rows 1 and 3
  scan += shifted<0x143, 0xC>(scan);  // row_bcast:31 into rows 2 and 3
  u32 rotated = value;
  rotated += shifted<0x128>(rotated);  // row_ror:8
  rotated += shifted<0x124>(rotated);
  rotated += shifted<0x122>(rotated);
  rotated += shifted<0x121>(rotated);
  u32 broadcast = 0;
  broadcast += shifted<0x150>(value) + shifted<0x151>(value) + shifted<0x152>(value) + shifted<0x153>(value);
  broadcast += shifted<0x154>(value) + shifted<0x155>(value) + shifted<0x156>(value) + shifted<0x157>(value);
  broadcast += shifted<0x158>(value) + shifted<0x159>(value) + shifted<0x15A>(value) + shifted<0x15B>(value);
  broadcast += shifted<0x15C>(value) + shifted<0x15D>(value) + shifted<0x15E>(value) + shifted<0x15F>(value);
  u32 around = value;
  u32 all = value;
  u32 later = value;
  u32 suffix = value;
  for (u32 step = 1; step < 64; ++step) {
    around = shifted<0x134>(around);  // wave_rol:1
    all += around;
    later = shifted<0x130>(later);  // wave_shl:1
    suffix += later;
  }
  u32* to = sums + global_thread() * 5;
  to[0] = scan;
  to[1] = rotated;
  to[2] = broadcast;
  to[3] = all;
  to[4] = suffix;
}
