// CUDA's part of the prelude.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp8.h>

#include <cstdint>

#include "fp8/bf16.h"
#include "fp8/formats.h"

#define OCTET_KERNEL(threads) extern "C" __global__ void __launch_bounds__(threads)
// The same, where registers are to leave room for `blocks` blocks on a multiprocessor.
#define OCTET_DENSE_KERNEL(threads, blocks) extern "C" __global__ void __launch_bounds__(threads, blocks)
#define OCTET_DEVICE __device__ __forceinline__
#define OCTET_SHARED __shared__
// The formats that the device multiplies.
#define OCTET_E4M3 e4m3fn
#define OCTET_E5M2 e5m2
// A kernel's struct of arguments: read where it lies, without a copy for each thread.
#define OCTET_ARGUMENTS(Struct) const __grid_constant__ Struct

namespace octet::kernels {

inline constexpr int kWarpSize = 32;
inline constexpr int kSharedBytes = 227 * 1024;

template <typename T>
OCTET_DEVICE const T& in_place(const T& arguments) {
  return arguments;
}

OCTET_DEVICE int thread_index() {
  return static_cast<int>(threadIdx.x);
}
OCTET_DEVICE int thread_count() {
  return static_cast<int>(blockDim.x);
}
OCTET_DEVICE int thread_index_y() {  // from one lane, which tells the compiler that a warp has one
  return __shfl_sync(0xFFFF'FFFFU, static_cast<int>(threadIdx.y), 0);
}
OCTET_DEVICE int thread_count_y() {
  return static_cast<int>(blockDim.y);
}
OCTET_DEVICE int block_index() {
  return static_cast<int>(blockIdx.x);
}
OCTET_DEVICE int block_index_y() {
  return static_cast<int>(blockIdx.y);
}
OCTET_DEVICE int block_count() {
  return static_cast<int>(gridDim.x);
}
OCTET_DEVICE int block_count_y() {
  return static_cast<int>(gridDim.y);
}
OCTET_DEVICE void await_previous_kernels() {
  asm volatile("griddepcontrol.launch_dependents;");
  asm volatile("griddepcontrol.wait;" ::: "memory");
}
OCTET_DEVICE void sync_block() {
  __syncthreads();
}
OCTET_DEVICE void sync_row() {  // the first of a block's sixteen barriers is sync_block()'s
  const int threads = (thread_count() + kWarpSize - 1) / kWarpSize * kWarpSize;
  asm volatile("barrier.sync %0, %1;" ::"r"(1 + thread_index_y()), "r"(threads) : "memory");
}
OCTET_DEVICE bool block_any(bool x) {
  return __syncthreads_or(x ? 1 : 0) != 0;
}

OCTET_DEVICE void* dynamic_shared() {
  extern __shared__ uint4 bytes[];
  return bytes;
}

template <typename T>
OCTET_DEVICE T shuffle_xor(T x, int mask) {
  return __shfl_xor_sync(0xFFFF'FFFFU, x, mask);
}

/// The largest that any lane of the warp has.
OCTET_DEVICE std::uint32_t warp_largest(std::uint32_t x) {
  return __reduce_max_sync(0xFFFF'FFFFU, x);
}

using WarpMask = std::uint32_t;

OCTET_DEVICE WarpMask warp_mask(bool x) {
  return __ballot_sync(0xFFFF'FFFFU, x ? 1 : 0);
}
OCTET_DEVICE int count_bits(WarpMask mask) {
  return __popc(mask);
}

OCTET_DEVICE void add_atomically(std::uint64_t* to, std::uint64_t x) {
  static_assert(sizeof(unsigned long long) == sizeof(std::uint64_t));
  atomicAdd(reinterpret_cast<unsigned long long*>(to), static_cast<unsigned long long>(x));
}

OCTET_DEVICE float fast_exp(float x) {
  return __expf(x);
}
OCTET_DEVICE float fast_reciprocal(float x) {
  float reciprocal;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(reciprocal) : "f"(x));
  return reciprocal;
}

OCTET_DEVICE float fast_sqrt(float x) {
  float root;
  asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(root) : "f"(x));
  return root;
}

template <typename T>
OCTET_DEVICE T anew(T x) {
  return x;
}
template <typename T, typename Other>
OCTET_DEVICE T anew_after(T x, Other /*y*/) {
  return x;
}
template <typename T>
OCTET_DEVICE T uniform_anew(T x) {
  return x;
}
OCTET_DEVICE void one_by_one() {}

OCTET_DEVICE std::uint32_t max_u16x2(std::uint32_t a, std::uint32_t b) {
  return __vmaxu2(a, b);
}

template <typename V>
OCTET_DEVICE V load_16_bytes(const void* from) {
  static_assert(sizeof(V) == 16);
  const uint4 loaded = __ldcs(static_cast<const uint4*>(from));
  return *reinterpret_cast<const V*>(&loaded);
}
template <typename V>
OCTET_DEVICE V load_16_bytes_again(const void* from) {
  static_assert(sizeof(V) == 16);
  const uint4 loaded = *static_cast<const uint4*>(from);
  return *reinterpret_cast<const V*>(&loaded);
}
template <typename V>
OCTET_DEVICE void store_16_bytes(void* to, const V& x) {
  static_assert(sizeof(V) == 16);
  *static_cast<uint4*>(to) = *reinterpret_cast<const uint4*>(&x);
}

OCTET_DEVICE std::uint32_t to_bf16x2(float low, float high) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
  return *reinterpret_cast<const std::uint32_t*>(&pair);
}

template <fp8::Format F>
OCTET_DEVICE std::uint16_t encode_pair(float low, float high) {
  static_assert(F == fp8::Format::e4m3fn || F == fp8::Format::e5m2, "NVIDIA multiplies OCP formats");
  return __nv_cvt_float2_to_fp8x2(make_float2(low, high), __NV_SATFINITE,
                                  F == fp8::Format::e4m3fn ? __NV_E4M3 : __NV_E5M2);
}

OCTET_DEVICE float exp2_fast(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// ---- dynamic shared memory, and copies to it that run beside the threads --------------------------------------------
OCTET_DEVICE std::uint32_t shared_address(const void* shared) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(shared));
}

inline constexpr bool kCopiesRunBeside = true;

template <int Bytes>
OCTET_DEVICE void begin_copy(void* shared, const void* from, bool there) {
  static_assert(Bytes == 4 || Bytes == 16);
  const int bytes = there ? Bytes : 0;  // the rest of the 16 becomes zero, and nothing is read
  if constexpr (Bytes == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(shared)), "l"(from), "r"(bytes)
                 : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(shared_address(shared)), "l"(from), "r"(bytes)
                 : "memory");
  }
}
OCTET_DEVICE void finish_copies() {
  asm volatile("cp.async.wait_all;" ::: "memory");
}
OCTET_DEVICE void end_copy_group() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}
template <int Groups>
OCTET_DEVICE void finish_older_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(Groups) : "memory");
}

template <int Bytes, int Count>
struct Copies {
  OCTET_DEVICE void begin(int /*i*/, void* shared, const void* from, bool there) {
    begin_copy<Bytes>(shared, from, there);
  }
  OCTET_DEVICE void end(int /*i*/, void* /*shared*/) const {}
};

template <typename V>
OCTET_DEVICE V load_shared_row(const void* shared) {
  static_assert(sizeof(V) == 16);
  return *static_cast<const V*>(shared);
}

// ---- the matrix unit ------------------------------------------------------------------------------------------------

/// The factors of a product: sixteen rows by sixteen elements along the contraction, bf16, spread over a warp. They
/// differ in which word holds which quarter: a right factor's upper eight rows, which are columns of the result, lie
/// in neighbouring words, as the instruction that takes them wants it.
struct LeftFactor {
  std::uint32_t words[4];
};
struct RightFactor {
  std::uint32_t words[4];
};

/// Sixteen by sixteen results, spread over a warp: eight a thread, in two rows.
struct Tile {
  static constexpr int kElements = 8;
  static constexpr int kRows = 2;          // rows that a thread has elements of
  static constexpr int kFirstRowMask = 1;  // threads that share a row: their indices differ in bits 0 and 1
  static constexpr int kEndRowMask = 4;
  float x[kElements];

  /// Which of the thread's rows element i is in; where that row and that element's column lie in the tile.
  static OCTET_DEVICE int row_of(int i) { return i / 2 % 2; }
  static OCTET_DEVICE int row(int of) { return thread_index() % kWarpSize / 4 + 8 * of; }
  static OCTET_DEVICE int col(int i) { return 2 * (thread_index() % 4) + i % 2 + i / 4 * 8; }
};

/// d [16, 16] += a [16, 16] b [16, 16]^T, both contracted along their second axis.
OCTET_DEVICE void multiply_add(Tile& d, const LeftFactor& a, const RightFactor& b) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {  // of b's rows, which are d's columns
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(d.x[4 * half]), "+f"(d.x[4 * half + 1]), "+f"(d.x[4 * half + 2]), "+f"(d.x[4 * half + 3])
        : "r"(a.words[0]), "r"(a.words[1]), "r"(a.words[2]), "r"(a.words[3]), "r"(b.words[2 * half]),
          "r"(b.words[2 * half + 1]));
  }
}

// A matrix load takes four blocks of 8 x 8, one after the other; threads 8 i to 8 i + 7 say where the rows of the i-th
// begin.

/// From shared memory [16 rows, 16 along the contraction], rows `pitch` elements apart and at multiples of 16 bytes.
OCTET_DEVICE LeftFactor load_left(const bf16* shared, int pitch) {
  const int lane = thread_index() % kWarpSize;
  const std::uint32_t from = shared_address(shared + lane % 16 * pitch + lane / 16 * 8);
  LeftFactor a;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(a.words[0]), "=r"(a.words[1]), "=r"(a.words[2]), "=r"(a.words[3])
               : "r"(from)
               : "memory");
  return a;
}
OCTET_DEVICE RightFactor load_right(const bf16* shared, int pitch) {
  const int lane = thread_index() % kWarpSize;
  const std::uint32_t from = shared_address(shared + (lane % 8 + lane / 16 * 8) * pitch + lane / 8 % 2 * 8);
  RightFactor b;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(b.words[0]), "=r"(b.words[1]), "=r"(b.words[2]), "=r"(b.words[3])
               : "r"(from)
               : "memory");
  return b;
}

/// A tile at a time keeps the fewest registers.
inline constexpr int kTransposedTiles = 1;

/// From shared memory [16 along the contraction, 16 rows].
OCTET_DEVICE void load_transposed_right(RightFactor (&factors)[1], const bf16* shared, int pitch) {
  const int lane = thread_index() % kWarpSize;
  const std::uint32_t from = shared_address(shared + lane % 16 * pitch + lane / 16 * 8);
  RightFactor& b = factors[0];
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(b.words[0]), "=r"(b.words[1]), "=r"(b.words[2]), "=r"(b.words[3])
               : "r"(from)
               : "memory");
}

/// Results, rounded to bf16, as the left factor of a product that contracts the tile's columns.
OCTET_DEVICE LeftFactor as_left(const Tile& d) {
  return {{to_bf16x2(d.x[0], d.x[1]), to_bf16x2(d.x[2], d.x[3]), to_bf16x2(d.x[4], d.x[5]), to_bf16x2(d.x[6], d.x[7])}};
}

/// Results, rounded to bf16, to shared memory [16, 16] whose rows are `pitch` elements apart.
OCTET_DEVICE void store_tiles(bf16* shared, int pitch, const Tile (&tiles)[1]) {
  const Tile& d = tiles[0];
#pragma unroll
  for (int i = 0; i < Tile::kElements; i += 2) {
    *reinterpret_cast<std::uint32_t*>(shared + Tile::row(Tile::row_of(i)) * pitch + Tile::col(i)) =
        to_bf16x2(d.x[i], d.x[i + 1]);
  }
}

}  // namespace octet::kernels
