// A tile of a product on AMD's matrix units: D[m, n] = A[m, k] B[n, k]^T of bf16 or FP8, summed in fp32. A block of
// four waves makes from 64 x 64 to 256 x 128 results. 64 bytes of the contraction pass through LDS at a time, the next
// 64 while these are multiplied. A vendor's file: it knows the layout of CDNA's instructions.
#pragma once

#include "kernels/arguments.h"
#include "kernels/prelude.h"

namespace octet::kernels {

inline constexpr int kProductThreads = 256;
inline constexpr int kStep = 64;   // bytes of the contraction
inline constexpr int kBlock = 32;  // rows of each side that an instruction multiplies

/// M x N results of D for a block's four waves, which make a quarter each, two by two.
template <int M, int N>
struct ProductTile {
  static constexpr int kM = M;
  static constexpr int kN = N;
  static constexpr int kWaveM = M / 2;
  static constexpr int kWaveN = N / 2;
  static constexpr int kBlocksM = kWaveM / kBlock;
  static constexpr int kBlocksN = kWaveN / kBlock;
};

using Floats16 = float __attribute__((ext_vector_type(16)));

/// What a thread multiplies of a row in a step: half of its 64 bytes. Both sides put the contraction into the same
/// order, so that its order is of no matter.
struct Fragment {
  Words4 low, high;
};

/// d [32 of n, 32 of m] += B A^T over a step, in kInstructions of them. Thread l holds fragments of rows l % 32; of d,
/// results 8 (i / 4) + 4 (l / 32) + i % 4 of n, i from 0 to 15, in column l % 32 of m.
#if defined(__gfx950__)
struct Bf16 {
  using Vector = __bf16 __attribute__((ext_vector_type(8)));
  static constexpr int kBytes = 2;
  static constexpr int kInstructions = 2;
  static OCTET_DEVICE void multiply(Floats16& d, const Fragment& b, const Fragment& a, int i) {
    d = __builtin_amdgcn_mfma_f32_32x32x16_bf16(__builtin_bit_cast(Vector, i == 0 ? b.low : b.high),
                                                __builtin_bit_cast(Vector, i == 0 ? a.low : a.high), d, 0, 0, 0);
  }
};
/// Of formats A and B: 0 is e4m3, 1 is e5m2. By the instruction of twice the rate, which has them as operands, without
/// scales of blocks.
template <int A, int B>
struct Fp8 {
  using Vector = int __attribute__((ext_vector_type(8)));
  static constexpr int kBytes = 1;
  static constexpr int kInstructions = 1;
  static OCTET_DEVICE void multiply(Floats16& d, const Fragment& b, const Fragment& a, int /*i*/) {
    d = __builtin_amdgcn_mfma_scale_f32_32x32x64_f8f6f4(__builtin_bit_cast(Vector, b), __builtin_bit_cast(Vector, a), d,
                                                        B, A, 0, 0, 0, 0);
  }
};
#else
/// Eight bytes, which an instruction takes: part i of four.
OCTET_DEVICE Words2 part(const Fragment& x, int i) {
  const Words4 half = i < 2 ? x.low : x.high;
  return i % 2 == 0 ? half.lo : half.hi;
}
struct Bf16 {
  static constexpr int kBytes = 2;
  static constexpr int kInstructions = 4;
  static OCTET_DEVICE void multiply(Floats16& d, const Fragment& b, const Fragment& a, int i) {
    d = __builtin_amdgcn_mfma_f32_32x32x8bf16_1k(__builtin_bit_cast(Shorts4, part(b, i)),
                                                 __builtin_bit_cast(Shorts4, part(a, i)), d, 0, 0, 0);
  }
};
/// One of the two is e4m3.
template <int A, int B>
struct Fp8 {
  static constexpr int kBytes = 1;
  static constexpr int kInstructions = 4;
  static OCTET_DEVICE void multiply(Floats16& d, const Fragment& b, const Fragment& a, int i) {
    const long of_b = __builtin_bit_cast(long, part(b, i));
    const long of_a = __builtin_bit_cast(long, part(a, i));
    if constexpr (B == 1) {
      d = __builtin_amdgcn_mfma_f32_32x32x16_bf8_fp8(of_b, of_a, d, 0, 0, 0);
    } else if constexpr (A == 1) {
      d = __builtin_amdgcn_mfma_f32_32x32x16_fp8_bf8(of_b, of_a, d, 0, 0, 0);
    } else {
      d = __builtin_amdgcn_mfma_f32_32x32x16_fp8_fp8(of_b, of_a, d, 0, 0, 0);
    }
  }
};
#endif
using E4m3ByE4m3 = Fp8<0, 0>;
using E4m3ByE5m2 = Fp8<0, 1>;
using E5m2ByE4m3 = Fp8<1, 0>;

template <typename Factors>
using ElementBits = std::conditional_t<Factors::kBytes == 1, std::uint8_t, std::uint16_t>;

/// Where 16 bytes of a row lie in LDS, of four. Rows lie close together, and take their pieces in turns, so that those
/// that are read at once, the same piece of 8 rows (16 on gfx950), lie in different banks.
OCTET_DEVICE int place_of(int row, int piece) {
  return row * kStep + (piece ^ ((row / 4 + (row & 2)) & 3)) * 16;
}

/// Eight bytes of a row, element by element: short code, as it is there many times and seldom runs.
template <typename T>
OCTET_DEVICE std::uint64_t load_elements(const T* row, Index first, Index count) {
  std::uint64_t bits = 0;
#pragma unroll 1
  for (Index i = first + 8 / sizeof(T) - 1; i >= first; --i) bits = bits << 8 * sizeof(T) | (i < count ? row[i] : 0U);
  return bits;
}

/// Sixteen bytes of a row from element `first` on; what is beyond the row's `count` elements is zero.
template <typename T>
OCTET_DEVICE Words4 load_piece(const T* row, Index first, Index count, bool aligned) {
  if (aligned) return first < count ? load_16_bytes_again<Words4>(row + first) : Words4{};
  const std::uint64_t low = load_elements(row, first, count);
  const std::uint64_t high = load_elements(row, first + 8 / sizeof(T), count);
  return {static_cast<std::uint32_t>(low), static_cast<std::uint32_t>(low >> 32), static_cast<std::uint32_t>(high),
          static_cast<std::uint32_t>(high >> 32)};
}

/// Rows [first, first + Rows) of a side, 64 bytes of the contraction at a time. T: an element's bits.
template <typename T, int Rows>
struct SideLoader {
  static constexpr int kPieces = Rows * kStep / 16 / kProductThreads;  // of sixteen bytes, that a thread moves
  const ProductSide& side;
  Index first;
  Index k;
  Words4 pieces[kPieces];

  OCTET_DEVICE void fetch(Index step) {
    constexpr int kElements = 16 / sizeof(T);
    const T* data = static_cast<const T*>(side.data);
#pragma unroll
    for (int p = 0; p < kPieces; ++p) {
      const int place = thread_index() + p * kProductThreads;
      const Index row = first + place / 4;
      const Index at = (step * 4 + place % 4) * kElements;
      pieces[p] = row < side.outer ? load_piece(data + row * side.pitch, at, k, side.aligned) : Words4{};
    }
  }

  OCTET_DEVICE void store(std::byte* shared) const {
#pragma unroll
    for (int p = 0; p < kPieces; ++p) {
      const int place = thread_index() + p * kProductThreads;
      *reinterpret_cast<Words4*>(shared + place_of(place / 4, place % 4)) = pieces[p];
    }
  }
};

/// The same of a bf16 side that lies transposed. A thread takes eight neighbouring rows at two neighbouring elements of
/// the contraction, which become words of LDS.
template <int Rows>
struct TransposedLoader {
  static constexpr int kPairs = Rows / 8 * (kStep / 4);  // of pieces, in a step
  static constexpr int kEach = (kPairs + kProductThreads - 1) / kProductThreads;
  const ProductSide& side;
  Index first;
  Index k;
  Words4 pieces[kEach][2];

  /// A row of 128 bytes for each eight threads.
  static OCTET_DEVICE int row_of(int pair) { return (pair % 8 + pair / 128 * 8) * 8; }
  static OCTET_DEVICE int word_of(int pair) { return pair / 8 % 16; }

  OCTET_DEVICE void fetch(Index step) {
    const std::uint16_t* data = static_cast<const std::uint16_t*>(side.data);
#pragma unroll
    for (int p = 0; p < kEach; ++p) {
      const int pair = thread_index() + p * kProductThreads;
      const Index row = first + row_of(pair);
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const Index at = step * (kStep / 2) + word_of(pair) * 2 + i;
        const bool there = pair < kPairs && at < k;
        pieces[p][i] = there ? load_piece(data + at * side.pitch, row, side.outer, side.aligned) : Words4{};
      }
    }
  }

  OCTET_DEVICE void store(std::byte* shared) const {
#pragma unroll
    for (int p = 0; p < kEach; ++p) {
      const int pair = thread_index() + p * kProductThreads;
      if (pair >= kPairs) continue;
      const int word = word_of(pair);
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        const std::uint32_t low = pieces[p][0][i / 2] >> (i % 2 * 16) & 0xFFFFU;
        const std::uint32_t high = pieces[p][1][i / 2] >> (i % 2 * 16) << 16;
        std::byte* to = shared + place_of(row_of(pair) + i, word / 4) + word % 4 * 4;
        *reinterpret_cast<std::uint32_t*>(to) = low | high;
      }
    }
  }
};

template <typename T, int Rows, bool Transposed>
using Loader = std::conditional_t<Transposed, TransposedLoader<Rows>, SideLoader<T, Rows>>;

/// A wave's results, in blocks of 32 x 32.
template <typename Tile>
struct Sums {
  Floats16 of[Tile::kBlocksN][Tile::kBlocksM];
};

OCTET_DEVICE Fragment load_fragment(const std::byte* shared, int first_row) {
  const int lane = thread_index() % kWarpSize;
  const int row = first_row + lane % kBlock;
  const int half = lane / kBlock;
  return {*reinterpret_cast<const Words4*>(shared + place_of(row, half)),
          *reinterpret_cast<const Words4*>(shared + place_of(row, half + 2))};
}

/// What lies in LDS, times each other: a wave's rows of both sides begin at `first_m` and `first_n`.
template <typename Factors, typename Tile>
OCTET_DEVICE void multiply_step(Sums<Tile>& sums, const std::byte* a, const std::byte* b, int first_m, int first_n) {
  Fragment rows_a[Tile::kBlocksM];
  Fragment rows_b[Tile::kBlocksN];
#pragma unroll
  for (int m = 0; m < Tile::kBlocksM; ++m) rows_a[m] = load_fragment(a, first_m + kBlock * m);
#pragma unroll
  for (int n = 0; n < Tile::kBlocksN; ++n) rows_b[n] = load_fragment(b, first_n + kBlock * n);
#pragma unroll
  for (int i = 0; i < Factors::kInstructions; ++i) {
#pragma unroll
    for (int n = 0; n < Tile::kBlocksN; ++n) {
#pragma unroll
      for (int m = 0; m < Tile::kBlocksM; ++m) Factors::multiply(sums.of[n][m], rows_b[n], rows_a[m], i);
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
template <typename Tile>
OCTET_DEVICE void store_sums(const Product& product, const Sums<Tile>& sums, Index first_m, Index first_n) {
  const int lane = thread_index() % kWarpSize;
#pragma unroll
  for (int m = 0; m < Tile::kBlocksM; ++m) {
    const Index row = first_m + kBlock * m + lane % kBlock;
    if (row >= product.a.outer) continue;
    const float of_row = scale_at(product.a, row);
#pragma unroll
    for (int n = 0; n < Tile::kBlocksN; ++n) {
#pragma unroll
      for (int group = 0; group < 4; ++group) {
        const Index col = first_n + kBlock * n + 8 * group + lane / kBlock * 4;
        if (col >= product.b.outer) continue;
        float x[4];
#pragma unroll
        for (int i = 0; i < 4; ++i) x[i] = sums.of[n][m][4 * group + i] * (of_row * scale_at(product.b, col + i));
        store_four(product, row, col, x);
      }
    }
  }
}

/// The results from row `tile_m` and column `tile_n` of D on.
template <typename Tile, typename Factors, bool TransposedA, bool TransposedB>
OCTET_DEVICE void multiply_tile(const Product& product, Index tile_m, Index tile_n) {
  using T = ElementBits<Factors>;
  OCTET_SHARED alignas(16) static std::byte shared_a[2][Tile::kM * kStep];  // in turn
  OCTET_SHARED alignas(16) static std::byte shared_b[2][Tile::kN * kStep];
  Loader<T, Tile::kM, TransposedA> a{product.a, tile_m, product.k, {}};
  Loader<T, Tile::kN, TransposedB> b{product.b, tile_n, product.k, {}};
  const int wave = thread_index() / kWarpSize;
  const int wave_m = wave / 2 * Tile::kWaveM;
  const int wave_n = wave % 2 * Tile::kWaveN;

  Sums<Tile> sums{};
  const Index steps = (product.k * Factors::kBytes + kStep - 1) / kStep;
  a.fetch(0);
  b.fetch(0);
  for (Index step = 0; step < steps; ++step) {
    const int present = static_cast<int>(step % 2);
    a.store(shared_a[present]);
    b.store(shared_b[present]);
    sync_block();  // by the next time that this half is written, all are past the barrier between
    if (step + 1 < steps) {
      a.fetch(step + 1);
      b.fetch(step + 1);
    }
    multiply_step<Factors>(sums, shared_a[present], shared_b[present], wave_m, wave_n);
  }
  store_sums(product, sums, tile_m + wave_m, tile_n + wave_n);
}

}  // namespace octet::kernels
