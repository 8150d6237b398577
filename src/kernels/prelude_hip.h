// HIP's part of the prelude, on clang's builtins alone: neither headers nor libraries of ROCm are needed to compile
// kernels for CDNA3 (gfx942, FP8 formats fnuz) and CDNA4 (gfx950, OCP formats).
#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "fp8/bf16.h"
#include "fp8/formats.h"

#define OCTET_KERNEL(threads) \
  extern "C" __attribute__((global)) void __attribute__((amdgpu_flat_work_group_size(1, threads)))
// A thread may have 512 registers, of which the compiler leaves as many waves as it can: no bound is needed.
#define OCTET_DENSE_KERNEL(threads, blocks) OCTET_KERNEL(threads)
#define OCTET_DEVICE inline __attribute__((device, always_inline))
#define OCTET_SHARED __attribute__((shared))
#define OCTET_ARGUMENTS(Struct) const Struct

#if defined(__gfx942__)
#define OCTET_E4M3 e4m3fnuz
#define OCTET_E5M2 e5m2fnuz
#else
#define OCTET_E4M3 e4m3fn
#define OCTET_E5M2 e5m2
#endif

// What the C library declares for the host alone, for the device.
OCTET_DEVICE float fmaxf(float a, float b) {
  return __builtin_fmaxf(a, b);
}
OCTET_DEVICE float fabsf(float x) {
  return __builtin_fabsf(x);
}
OCTET_DEVICE float fmaf(float a, float b, float c) {
  return __builtin_fmaf(a, b, c);
}
OCTET_DEVICE float sqrtf(float x) {
  return __builtin_sqrtf(x);
}
OCTET_DEVICE float expf(float x) {
  return __builtin_expf(x);
}
OCTET_DEVICE float logf(float x) {
  return __builtin_logf(x);
}
OCTET_DEVICE float log2f(float x) {
  return __builtin_log2f(x);
}

namespace octet::kernels {

inline constexpr int kWarpSize = 64;
#if defined(__gfx942__)
inline constexpr int kSharedBytes = 64 * 1024;
#else
inline constexpr int kSharedBytes = 160 * 1024;
#endif

/// A machine's vectors, which builtins take and give.
using Words2 = std::uint32_t __attribute__((ext_vector_type(2)));
using Words4 = std::uint32_t __attribute__((ext_vector_type(4)));
using Halves2 = std::uint16_t __attribute__((ext_vector_type(2)));
using Shorts4 = std::int16_t __attribute__((ext_vector_type(4)));
using Floats4 = float __attribute__((ext_vector_type(4)));

/// The first argument lies where the segment of arguments begins. A struct that is passed by value would be copied to
/// scratch for each thread as soon as a pointer chose between its parts.
template <typename T>
OCTET_DEVICE const T& in_place(const T& /*arguments*/) {
  return *(const T*)__builtin_amdgcn_kernarg_segment_ptr();  // from constant to generic memory: C++ has no name for it
}

OCTET_DEVICE int thread_index() {
  return static_cast<int>(__builtin_amdgcn_workitem_id_x());
}
/// Rows of threads share a block only where each can wait for itself alone, which CDNA's barriers cannot.
OCTET_DEVICE int thread_index_y() {
  return 0;
}
OCTET_DEVICE int thread_count_y() {
  return 1;
}
OCTET_DEVICE int thread_count() {
  return static_cast<int>(__builtin_amdgcn_workgroup_size_x());
}
OCTET_DEVICE int block_index() {
  return static_cast<int>(__builtin_amdgcn_workgroup_id_x());
}
OCTET_DEVICE int block_index_y() {
  return static_cast<int>(__builtin_amdgcn_workgroup_id_y());
}

/// Blocks along an axis: the first words behind a kernel's own arguments, since code objects of version 5.
template <int Axis>
OCTET_DEVICE int hidden_block_count() {
  using Hidden = const __attribute__((address_space(4))) std::uint32_t;
  const auto* hidden = (Hidden*)__builtin_amdgcn_implicitarg_ptr();  // a cast that C++ has no name for
  return static_cast<int>(hidden[Axis]);
}
OCTET_DEVICE int block_count() {
  return hidden_block_count<0>();
}
OCTET_DEVICE int block_count_y() {
  return hidden_block_count<1>();
}

/// Kernels of a stream do not overlap.
OCTET_DEVICE void await_previous_kernels() {}

OCTET_DEVICE void sync_block() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
OCTET_DEVICE void sync_row() {
  sync_block();
}
OCTET_DEVICE bool block_any(bool x) {
  OCTET_SHARED static std::uint32_t found;
  sync_block();  // whoever still reads the last answer is past that
  if (thread_index() == 0) found = 0;
  sync_block();
  if (x) __hip_atomic_fetch_or(&found, 1U, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
  sync_block();
  return found != 0;
}

OCTET_DEVICE void* dynamic_shared() {
  extern OCTET_SHARED Words4 bytes[];
  return bytes;
}

/// A thread's place in its warp.
OCTET_DEVICE int lane_index() {
  return static_cast<int>(__builtin_amdgcn_mbcnt_hi(~0U, __builtin_amdgcn_mbcnt_lo(~0U, 0U)));
}

/// x of the thread of this warp whose place is `lane`, four bytes at a time.
template <typename T>
OCTET_DEVICE T from_lane(T x, int lane) {
  static_assert(sizeof(T) <= 4 || sizeof(T) == 8);
  if constexpr (sizeof(T) == 8) {
    const Words2 words = __builtin_bit_cast(Words2, x);
    return __builtin_bit_cast(T, Words2{from_lane(words.x, lane), from_lane(words.y, lane)});
  } else if constexpr (sizeof(T) == 4) {
    return __builtin_bit_cast(T, __builtin_amdgcn_ds_bpermute(lane * 4, __builtin_bit_cast(int, x)));
  } else {
    return static_cast<T>(from_lane(static_cast<std::uint32_t>(x), lane));
  }
}
template <typename T>
OCTET_DEVICE T shuffle_xor(T x, int mask) {
  return from_lane(x, lane_index() ^ mask);
}

/// The largest that any lane of the warp has.
OCTET_DEVICE std::uint32_t warp_largest(std::uint32_t x) {
#pragma unroll
  for (int mask = kWarpSize / 2; mask > 0; mask /= 2) {
    const std::uint32_t other = shuffle_xor(x, mask);
    x = other > x ? other : x;
  }
  return x;
}

using WarpMask = std::uint64_t;

OCTET_DEVICE WarpMask warp_mask(bool x) {
  return __builtin_amdgcn_ballot_w64(x);
}
OCTET_DEVICE int count_bits(WarpMask mask) {
  return __builtin_popcountll(mask);
}

/// Nobody reads the sum before the kernel ends, so that no cache has to be written back or thrown away around it.
OCTET_DEVICE void add_atomically(std::uint64_t* to, std::uint64_t x) {
  __hip_atomic_fetch_add(to, x, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}

/// 2^x; below the smallest normal float it is zero.
OCTET_DEVICE float exp2_fast(float x) {
  return __builtin_amdgcn_exp2f(x);
}
OCTET_DEVICE float fast_exp(float x) {
  constexpr float kLog2E = 1.44269504F;
  return __builtin_exp2f(x * kLog2E);
}
OCTET_DEVICE float fast_reciprocal(float x) {
  return __builtin_amdgcn_rcpf(x);
}
OCTET_DEVICE float fast_sqrt(float x) {
  return __builtin_amdgcn_sqrtf(x);
}

/// By way of an exchange of registers within groups of four lanes that leaves each its own. The compiler keeps floats
/// that were unpacked of a row across a barrier, and masks of lanes, one for each element of a row, from row to row.
template <typename T, typename Other>
OCTET_DEVICE T anew_after(T x, Other y) {
  static_assert(sizeof(T) == 4 && sizeof(Other) == 4);
  constexpr int kOwnLane = 0b11'10'01'00;
  constexpr int kAll = 0xF;
  const int of_lanes_without_source = __builtin_bit_cast(int, y);  // there are none, which the compiler does not see
  return __builtin_bit_cast(
      T, __builtin_amdgcn_update_dpp(of_lanes_without_source, __builtin_bit_cast(int, x), kOwnLane, kAll, kAll, false));
}
template <typename T>
OCTET_DEVICE T anew(T x) {
  return anew_after(x, x);
}
template <typename T>
OCTET_DEVICE T uniform_anew(T x) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8);
  if constexpr (sizeof(T) == 8) {
    const Words2 words = __builtin_bit_cast(Words2, x);
    return __builtin_bit_cast(T, Words2{uniform_anew(words.x), uniform_anew(words.y)});
  } else {
    return __builtin_bit_cast(T, __builtin_amdgcn_readfirstlane(__builtin_bit_cast(int, x)));
  }
}
OCTET_DEVICE void one_by_one() {
  __builtin_amdgcn_sched_barrier(0);
}

OCTET_DEVICE std::uint32_t max_u16x2(std::uint32_t a, std::uint32_t b) {
  return __builtin_bit_cast(std::uint32_t,
                            __builtin_elementwise_max(__builtin_bit_cast(Halves2, a), __builtin_bit_cast(Halves2, b)));
}

template <typename V>
OCTET_DEVICE V load_16_bytes(const void* from) {
  static_assert(sizeof(V) == 16);
  return __builtin_bit_cast(V, __builtin_nontemporal_load(static_cast<const Words4*>(from)));
}
template <typename V>
OCTET_DEVICE V load_16_bytes_again(const void* from) {
  static_assert(sizeof(V) == 16);
  return __builtin_bit_cast(V, *static_cast<const Words4*>(from));
}
template <typename V>
OCTET_DEVICE void store_16_bytes(void* to, const V& x) {
  static_assert(sizeof(V) == 16);
  *static_cast<Words4*>(to) = __builtin_bit_cast(Words4, x);
}

OCTET_DEVICE std::uint32_t to_bf16x2(float low, float high) {
#if defined(__gfx950__)
  using Pair = __bf16 __attribute__((ext_vector_type(2)));
  using FloatPair = float __attribute__((ext_vector_type(2)));
  return __builtin_bit_cast(std::uint32_t, __builtin_convertvector(FloatPair{low, high}, Pair));
#else
  return to_bf16(low).bits | std::uint32_t{to_bf16(high).bits} << 16;
#endif
}

/// What the machine converts without saturating, it is given within the format's range; a NaN stays one, without sign.
template <fp8::Format F>
OCTET_DEVICE float in_range(float x) {
  constexpr float kMax = fp8::Limits<F>::max;
  return fp8::is_nan(x) ? fp8::quiet_nan() : __builtin_amdgcn_fmed3f(x, -kMax, kMax);
}
template <fp8::Format F>
OCTET_DEVICE std::uint16_t encode_pair(float low, float high) {
  constexpr bool kIsE4m3 = F == fp8::Format::OCTET_E4M3;
  static_assert(kIsE4m3 || F == fp8::Format::OCTET_E5M2, "CDNA3 computes in fnuz formats, CDNA4 in OCP's");
  const float a = in_range<F>(low);
  const float b = in_range<F>(high);
  const int pair =
      kIsE4m3 ? __builtin_amdgcn_cvt_pk_fp8_f32(a, b, 0, false) : __builtin_amdgcn_cvt_pk_bf8_f32(a, b, 0, false);
  return static_cast<std::uint16_t>(pair);
}

// ---- copies to shared memory ----------------------------------------------------------------------------------------

inline constexpr bool kCopiesRunBeside = false;

/// Through registers: what the compiler moves apart of loads and stores overlaps.
template <int Bytes>
OCTET_DEVICE void begin_copy(void* shared, const void* from, bool there) {
  static_assert(Bytes == 4 || Bytes == 16);
  if constexpr (Bytes == 16) {
    *static_cast<Words4*>(shared) = there ? *static_cast<const Words4*>(from) : Words4{};
  } else {
    *static_cast<std::uint32_t*>(shared) = there ? *static_cast<const std::uint32_t*>(from) : 0U;
  }
}

/// Sixteen bytes of a row, which begins at a multiple of eight.
using RowPiece __attribute__((aligned(8))) = Words4;

template <typename V>
OCTET_DEVICE V load_shared_row(const void* shared) {
  static_assert(sizeof(V) == 16);
  const Words4 piece = *static_cast<const RowPiece*>(shared);
  return __builtin_bit_cast(V, piece);
}

/// Loads wait in registers for their stores.
template <int Bytes, int Count>
struct Copies {
  static_assert(Bytes == 4 || Bytes == 16);
  using Piece = std::conditional_t<Bytes == 16, Words4, std::uint32_t>;
  Piece pieces[Count];

  OCTET_DEVICE void begin(int i, void* /*shared*/, const void* from, bool there) {
    pieces[i] = there ? *static_cast<const Piece*>(from) : Piece{};
  }
  OCTET_DEVICE void end(int i, void* shared) const {
    if constexpr (Bytes == 16) {
      *static_cast<RowPiece*>(shared) = pieces[i];
    } else {
      *static_cast<Piece*>(shared) = pieces[i];
    }
  }
};

OCTET_DEVICE void finish_copies() {}
OCTET_DEVICE void end_copy_group() {}
template <int Groups>
OCTET_DEVICE void finish_older_copies() {}

// ---- the matrix unit ------------------------------------------------------------------------------------------------

/// The factors of a product: sixteen rows by sixteen elements along the contraction, bf16, spread over a warp. Thread l
/// holds elements 4 (l / 16) to 4 (l / 16) + 3 of row l % 16.
struct LeftFactor {
  std::uint32_t words[2];
};
struct RightFactor {
  std::uint32_t words[2];
};

/// Sixteen by sixteen results, spread over a warp: four a thread, all in one row. The machine leaves a thread four rows
/// of one column; what it multiplies is the transposed product, so that results lie as a left factor does.
struct Tile {
  static constexpr int kElements = 4;
  static constexpr int kRows = 1;
  static constexpr int kFirstRowMask = 16;  // threads that share a row: their indices differ in bits 4 and 5
  static constexpr int kEndRowMask = 64;
  float x[kElements];

  static OCTET_DEVICE int row_of(int /*i*/) { return 0; }
  static OCTET_DEVICE int row(int /*of*/) { return thread_index() % 16; }
  static OCTET_DEVICE int col(int i) { return thread_index() % kWarpSize / 16 * 4 + i; }
};

OCTET_DEVICE void multiply_add(Tile& d, const LeftFactor& a, const RightFactor& b) {
  const Floats4 sums = __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(
      __builtin_bit_cast(Shorts4, b), __builtin_bit_cast(Shorts4, a), __builtin_bit_cast(Floats4, d), 0, 0, 0);
  d = __builtin_bit_cast(Tile, sums);
}

/// Eight bytes of a row of shared memory [16 rows, 16 along the contraction].
OCTET_DEVICE Words2 load_factor(const bf16* shared, int pitch) {
  const int lane = thread_index() % kWarpSize;
  return *reinterpret_cast<const Words2*>(shared + lane % 16 * pitch + lane / 16 * 4);
}
OCTET_DEVICE LeftFactor load_left(const bf16* shared, int pitch) {
  return __builtin_bit_cast(LeftFactor, load_factor(shared, pitch));
}
OCTET_DEVICE RightFactor load_right(const bf16* shared, int pitch) {
  return __builtin_bit_cast(RightFactor, load_factor(shared, pitch));
}

/// Tiles side by side take turns at the columns: row r of the n-th of N is column N r + n. So a thread reads N
/// neighbours at once, where a tile at a time would have it read single elements, and it has 4 N neighbours of the
/// results.
inline constexpr int kTransposedTiles = 4;

/// From shared memory [16 along the contraction, 16 N rows].
template <int N>
OCTET_DEVICE void load_transposed_right(RightFactor (&factors)[N], const bf16* shared, int pitch) {
  static_assert(N == 2 || N == 4);
  using Neighbours = std::uint32_t __attribute__((ext_vector_type(N / 2)));
  constexpr std::uint32_t kLowHalves = 0x05040100;
  constexpr std::uint32_t kHighHalves = 0x07060302;
  const int lane = thread_index() % kWarpSize;
  const bf16* from = shared + lane / 16 * 4 * pitch + lane % 16 * N;
  Neighbours rows[4];
#pragma unroll
  for (int k = 0; k < 4; ++k) rows[k] = *reinterpret_cast<const Neighbours*>(from + k * pitch);
#pragma unroll
  for (int n = 0; n < N; ++n) {
#pragma unroll
    for (int w = 0; w < 2; ++w) {
      factors[n].words[w] =
          __builtin_amdgcn_perm(rows[2 * w + 1][n / 2], rows[2 * w][n / 2], n % 2 == 0 ? kLowHalves : kHighHalves);
    }
  }
}

OCTET_DEVICE LeftFactor as_left(const Tile& d) {
  return {{to_bf16x2(d.x[0], d.x[1]), to_bf16x2(d.x[2], d.x[3])}};
}

/// Results, rounded to bf16, to shared memory [16, 16 N] whose rows are `pitch` elements apart.
template <int N>
OCTET_DEVICE void store_tiles(bf16* shared, int pitch, const Tile (&tiles)[N]) {
  static_assert(N == 2 || N == 4);
  bf16* to = shared + Tile::row(0) * pitch + Tile::col(0) * N;
#pragma unroll
  for (int i = 0; i < Tile::kElements; i += 8 / N) {  // eight neighbours
    Words4 words;
#pragma unroll
    for (int w = 0; w < 4; ++w) {
      const int n = 2 * w % N;
      const int from = i + 2 * w / N;
      words[w] = to_bf16x2(tiles[n].x[from], tiles[n + 1].x[from]);
    }
    *reinterpret_cast<RowPiece*>(to + i * N) = words;
  }
}

}  // namespace octet::kernels
