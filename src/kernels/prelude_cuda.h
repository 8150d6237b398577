// CUDA's part of the prelude.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp8.h>

#include <cstdint>

#include "fp8/formats.h"

#define OCTET_KERNEL(threads) extern "C" __global__ void __launch_bounds__(threads)
#define OCTET_DEVICE __device__ __forceinline__
#define OCTET_SHARED __shared__
// A kernel's struct of arguments: read where it lies, without a copy for each thread.
#define OCTET_ARGUMENTS(Struct) const __grid_constant__ Struct

namespace octet::kernels {

inline constexpr int kWarpSize = 32;

OCTET_DEVICE int thread_index() {
  return static_cast<int>(threadIdx.x);
}
OCTET_DEVICE int thread_count() {
  return static_cast<int>(blockDim.x);
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
OCTET_DEVICE void sync_block() {
  __syncthreads();
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
OCTET_DEVICE float fast_divide(float a, float b) {
  return __fdividef(a, b);
}

OCTET_DEVICE float fast_sqrt(float x) {
  float root;
  asm("sqrt.approx.f32 %0, %1;" : "=f"(root) : "f"(x));
  return root;
}

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

}  // namespace octet::kernels
