// Matrix products on AMD's matrix units: D[m, n] = A[m, k] B[n, k]^T of bf16 or FP8, summed in fp32. Four waves make
// 128 x 128 results, each 64 x 64 of them; 64 bytes of the contraction pass through LDS at a time, the next 64 while
// these are multiplied. A vendor's file: it knows the layout of CDNA's instructions.
//
// Bytes that must move: both sides once for each 128 of the other, D once.
#include "kernels/arguments.h"
#include "kernels/prelude.h"

namespace octet::kernels {
namespace {

constexpr int kThreads = 256;
constexpr int kTile = 128;          // rows of each side
constexpr int kWaveTile = 64;       // of those, a wave's
constexpr int kStep = 64;           // bytes of the contraction
constexpr int kPitch = kStep + 16;  // of a row in LDS: rows that are read at once begin in different banks
constexpr int kSideBytes = kTile * kPitch;
constexpr int kPieces = kTile * kStep / 16 / kThreads;  // of sixteen bytes, that a thread moves of a side
static_assert(kPieces == 2);

using Floats16 = float __attribute__((ext_vector_type(16)));

/// Eight bytes of 32 rows of B and as many of A: d [32 of n, 32 of m] += B A^T. Thread l holds those of row l % 32, at
/// bytes 8 (l / 32); of d, results 8 (i / 4) + 4 (l / 32) + i % 4 of n, i from 0 to 15, in column l % 32 of m.
struct Bf16 {
  static constexpr int kBytes = 2;
  static OCTET_DEVICE void multiply(Floats16& d, Words2 b, Words2 a) {
    d = __builtin_amdgcn_mfma_f32_32x32x8bf16_1k(__builtin_bit_cast(Shorts4, b), __builtin_bit_cast(Shorts4, a), d, 0,
                                                 0, 0);
  }
};
struct E4m3ByE4m3 {
  static constexpr int kBytes = 1;
  static OCTET_DEVICE void multiply(Floats16& d, Words2 b, Words2 a) {
    d = __builtin_amdgcn_mfma_f32_32x32x16_fp8_fp8(__builtin_bit_cast(long, b), __builtin_bit_cast(long, a), d, 0, 0,
                                                   0);
  }
};
struct E4m3ByE5m2 {
  static constexpr int kBytes = 1;
  static OCTET_DEVICE void multiply(Floats16& d, Words2 b, Words2 a) {
    d = __builtin_amdgcn_mfma_f32_32x32x16_bf8_fp8(__builtin_bit_cast(long, b), __builtin_bit_cast(long, a), d, 0, 0,
                                                   0);
  }
};
struct E5m2ByE4m3 {
  static constexpr int kBytes = 1;
  static OCTET_DEVICE void multiply(Floats16& d, Words2 b, Words2 a) {
    d = __builtin_amdgcn_mfma_f32_32x32x16_fp8_bf8(__builtin_bit_cast(long, b), __builtin_bit_cast(long, a), d, 0, 0,
                                                   0);
  }
};

/// Sixteen bytes of a row from element `first` on; what is beyond the row's `count` elements is zero.
template <typename T>
OCTET_DEVICE Words4 load_piece(const T* row, Index first, Index count, bool aligned) {
  constexpr int kEach = 16 / sizeof(T);
  if (aligned) return first < count ? load_16_bytes_again<Words4>(row + first) : Words4{};
  Words4 piece{};
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    const std::uint32_t bits = first + i < count ? row[first + i] : 0U;
    piece[i * sizeof(T) / 4] |= bits << (i * sizeof(T) % 4 * 8);
  }
  return piece;
}

/// Rows [first, first + 128) of a side, 64 bytes of the contraction at a time. T: an element's bits.
template <typename T, bool Transposed>
struct SideLoader {
  const ProductSide& side;
  Index first;
  Index k;
  Words4 pieces[kPieces];

  OCTET_DEVICE void fetch(Index step) {
    constexpr int kElements = kStep / sizeof(T);
    const T* data = static_cast<const T*>(side.data);
#pragma unroll
    for (int p = 0; p < kPieces; ++p) {
      if constexpr (Transposed) {  // neighbours along the contraction, so that pairs of elements become words of LDS
        const Index at = step * kElements + thread_index() / 16 * kPieces + p;
        const Index outer = first + thread_index() % 16 * 8;
        pieces[p] = at < k ? load_piece(data + at * side.outer, outer, side.outer, side.aligned) : Words4{};
      } else {
        const int place = thread_index() + p * kThreads;
        const Index row = first + place / 4;
        const Index at = step * kElements + place % 4 * (16 / sizeof(T));
        pieces[p] = row < side.outer ? load_piece(data + row * k, at, k, side.aligned) : Words4{};
      }
    }
  }

  OCTET_DEVICE void store(std::byte* shared) const {
    if constexpr (Transposed) {
      std::byte* to = shared + thread_index() % 16 * 8 * kPitch + thread_index() / 16 * 4;
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        const std::uint32_t low = pieces[0][i / 2] >> (i % 2 * 16) & 0xFFFFU;
        const std::uint32_t high = pieces[1][i / 2] >> (i % 2 * 16) << 16;
        *reinterpret_cast<std::uint32_t*>(to + i * kPitch) = low | high;
      }
    } else {
#pragma unroll
      for (int p = 0; p < kPieces; ++p) {
        const int place = thread_index() + p * kThreads;
        *reinterpret_cast<Words4*>(shared + place / 4 * kPitch + place % 4 * 16) = pieces[p];
      }
    }
  }
};

/// A wave's 64 x 64 results: two by two blocks of 32.
struct Sums {
  Floats16 of[2][2];  // [of n][of m]
};

/// What lies in LDS, times each other. A thread reads sixteen bytes of a row, which two instructions take: both sides
/// put the contraction into the same order, so that its order is of no matter.
template <typename Factors>
OCTET_DEVICE void multiply_step(Sums& sums, const std::byte* a, const std::byte* b) {
  const int lane = thread_index() % kWarpSize;
#pragma unroll
  for (int chunk = 0; chunk < kStep; chunk += 32) {
    Words4 rows_a[2];
    Words4 rows_b[2];
#pragma unroll
    for (int block = 0; block < 2; ++block) {
      const int place = (lane % 32 + 32 * block) * kPitch + chunk + lane / 32 * 16;
      rows_a[block] = *reinterpret_cast<const Words4*>(a + place);
      rows_b[block] = *reinterpret_cast<const Words4*>(b + place);
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) {
#pragma unroll
      for (int n = 0; n < 2; ++n) {
#pragma unroll
        for (int m = 0; m < 2; ++m) {
          Factors::multiply(sums.of[n][m], half == 0 ? rows_b[n].lo : rows_b[n].hi,
                            half == 0 ? rows_a[m].lo : rows_a[m].hi);
        }
      }
    }
  }
}

OCTET_DEVICE float scale_at(const ProductSide& side, Index i) {
  if (side.scale_inverse == nullptr || i >= side.outer) return 1;
  return side.scale_inverse[side.one_scale ? 0 : i];
}

/// Four neighbours of a row of D, those of them that there are.
OCTET_DEVICE void store_four(const Product& product, Index row, Index col, const float (&x)[4]) {
  const Index at = row * product.b.outer + col;
  if (product.f32) {
    float* d = static_cast<float*>(product.d) + at;
    if (product.aligned) {
      Floats4 four{x[0], x[1], x[2], x[3]};
      if (product.accumulate) four += *reinterpret_cast<const Floats4*>(d);
      *reinterpret_cast<Floats4*>(d) = four;
      return;
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (col + i < product.b.outer) d[i] = product.accumulate ? d[i] + x[i] : x[i];
    }
    return;
  }
  bf16* d = static_cast<bf16*>(product.d) + at;
  if (product.aligned) {
    *reinterpret_cast<Words2*>(d) = Words2{to_bf16x2(x[0], x[1]), to_bf16x2(x[2], x[3])};
    return;
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    if (col + i < product.b.outer) d[i] = to_bf16(x[i]);
  }
}

/// A wave's results, from row `first_m` and column `first_n` of D on, times the scales.
OCTET_DEVICE void store_sums(const Product& product, const Sums& sums, Index first_m, Index first_n) {
  const int lane = thread_index() % kWarpSize;
#pragma unroll
  for (int m = 0; m < 2; ++m) {
    const Index row = first_m + 32 * m + lane % 32;
    if (row >= product.a.outer) continue;
    const float of_row = scale_at(product.a, row);
#pragma unroll
    for (int n = 0; n < 2; ++n) {
#pragma unroll
      for (int group = 0; group < 4; ++group) {
        const Index col = first_n + 32 * n + 8 * group + lane / 32 * 4;
        if (col >= product.b.outer) continue;
        float x[4];
#pragma unroll
        for (int i = 0; i < 4; ++i) x[i] = sums.of[n][m][4 * group + i] * (of_row * scale_at(product.b, col + i));
        store_four(product, row, col, x);
      }
    }
  }
}

template <typename Factors, bool TransposedA, bool TransposedB>
OCTET_DEVICE void multiply(const Product& product) {
  using T = std::conditional_t<Factors::kBytes == 1, std::uint8_t, std::uint16_t>;
  OCTET_SHARED alignas(16) static std::byte shared[2][2][kSideBytes];  // [in turn][a, b]
  const Index tile_n = Index{block_index()} * kTile;
  const Index tile_m = Index{block_index_y()} * kTile;
  SideLoader<T, TransposedA> a{product.a, tile_m, product.k, {}};
  SideLoader<T, TransposedB> b{product.b, tile_n, product.k, {}};
  const int wave = thread_index() / kWarpSize;
  const int wave_m = wave / 2 * kWaveTile;
  const int wave_n = wave % 2 * kWaveTile;

  Sums sums{};
  const Index steps = (product.k * Factors::kBytes + kStep - 1) / kStep;
  a.fetch(0);
  b.fetch(0);
  for (Index step = 0; step < steps; ++step) {
    auto& present = shared[step % 2];
    a.store(present[0]);
    b.store(present[1]);
    sync_block();  // by the next time that this half is written, all are past the barrier between
    if (step + 1 < steps) {
      a.fetch(step + 1);
      b.fetch(step + 1);
    }
    multiply_step<Factors>(sums, present[0] + wave_m * kPitch, present[1] + wave_n * kPitch);
  }
  store_sums(product, sums, tile_m + wave_m, tile_n + wave_n);
}

}  // namespace
}  // namespace octet::kernels

OCTET_SIMPLE_KERNEL(256, multiply_bf16_bf16, Product, multiply<octet::kernels::Bf16, false, false>)
OCTET_SIMPLE_KERNEL(256, multiply_bf16t_bf16, Product, multiply<octet::kernels::Bf16, true, false>)
OCTET_SIMPLE_KERNEL(256, multiply_bf16_bf16t, Product, multiply<octet::kernels::Bf16, false, true>)
OCTET_SIMPLE_KERNEL(256, multiply_bf16t_bf16t, Product, multiply<octet::kernels::Bf16, true, true>)
OCTET_SIMPLE_KERNEL(256, multiply_e4m3_e4m3, Product, multiply<octet::kernels::E4m3ByE4m3, false, false>)
OCTET_SIMPLE_KERNEL(256, multiply_e4m3_e5m2, Product, multiply<octet::kernels::E4m3ByE5m2, false, false>)
OCTET_SIMPLE_KERNEL(256, multiply_e5m2_e4m3, Product, multiply<octet::kernels::E5m2ByE4m3, false, false>)
