// Matrix products: D = A * B + C with A [M, K], B [K, N], C and D [M, N] spread over the lanes of a wave.
// AMD CDNA4 ISA, 7 "Matrix Arithmetic Instructions": 7.1.4 layouts, 7.1.5 those of more than 16 bytes a lane, 7.2 block
// scales, 7.4 denormals; 12.10 VOP3P. What CDNA3 has of these is laid out alike.
// Products and sums are formed in double precision, where products of these formats are exact, and rounded once.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "sim/semantics/float_lanes.h"
#include "sim/semantics/small_floats.h"
#include "sim/semantics/table.h"

namespace octet::sim {
namespace {

/// Elements of a dword, and their values.
template <ByteFormat Format>
struct Byte {
  static constexpr std::size_t kPerDword = 4;
  static double value(u32 dword, std::size_t part) { return double{kDecoded<Format>[dword >> (8 * part) & 0xFFU]}; }
};
struct Bf16 {
  static constexpr std::size_t kPerDword = 2;
  static double value(u32 dword, std::size_t part) { return double{decode_bf16(dword >> (16 * part) & 0xFFFFU)}; }
};
struct Half {
  static constexpr std::size_t kPerDword = 2;
  static double value(u32 dword, std::size_t part) { return double{decode_half(dword >> (16 * part) & 0xFFFFU)}; }
};
struct Single {
  static constexpr std::size_t kPerDword = 1;
  static double value(u32 dword, std::size_t /*part*/) { return double{as_float(dword)}; }
};

/// Lane l holds row (A) or column (B) l mod M; the lanes of equal l mod M divide K among them.
template <std::size_t Rows, std::size_t K>
struct Layout {
  static constexpr std::size_t kGroups = kLanes / Rows;
  static constexpr std::size_t kPerLane = K / kGroups;

  /// The place along K of element `element` of a lane of group `group`. Up to 16 bytes of a lane are neighbours; where
  /// a lane has 32 bytes, the groups take turns with each 16 of them.
  template <std::size_t PerDword>
  static constexpr std::size_t along_k(std::size_t group, std::size_t element) {
    constexpr std::size_t kRun = 4 * PerDword;
    if constexpr (kPerLane <= kRun) return group * kPerLane + element;
    return element / kRun * kRun * kGroups + group * kRun + element % kRun;
  }

  /// The row of D in register `part` of a lane, whose column is l mod M.
  static constexpr std::size_t row(std::size_t lane, std::size_t part) {
    return Rows == 32 ? 8 * (part / 4) + 4 * (lane / 32) + part % 4 : 4 * (lane / 16) + part;
  }
};

template <std::size_t M, std::size_t N, std::size_t K>
struct Factors {
  alignas(64) double a[M][K];
  alignas(64) double b[K][N];
};

template <std::size_t M, std::size_t N, std::size_t K, typename A, typename B>
void unpack(const Wave& wave, const Instruction& instruction, Factors<M, N, K>& factors) {
  using Spread = Layout<M, K>;
  static_assert(M == N && Spread::kPerLane % A::kPerDword == 0 && Spread::kPerLane % B::kPerDword == 0);
  Lanes buffer;
  for (std::size_t dword = 0; dword < Spread::kPerLane / A::kPerDword; ++dword) {
    const Lanes& bits = read_lanes(wave, instruction.operands[1], dword, buffer);
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      for (std::size_t part = 0; part < A::kPerDword; ++part) {
        const std::size_t k = Spread::template along_k<A::kPerDword>(lane / M, dword * A::kPerDword + part);
        factors.a[lane % M][k] = A::value(bits[lane], part);
      }
    }
  }
  for (std::size_t dword = 0; dword < Spread::kPerLane / B::kPerDword; ++dword) {
    const Lanes& bits = read_lanes(wave, instruction.operands[2], dword, buffer);
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      for (std::size_t part = 0; part < B::kPerDword; ++part) {
        const std::size_t k = Spread::template along_k<B::kPerDword>(lane / N, dword * B::kPerDword + part);
        factors.b[k][lane % N] = B::value(bits[lane], part);
      }
    }
  }
}

template <std::size_t M, std::size_t N>
struct Sums {
  alignas(64) double at[M][N];
};

/// sums += A * B over k in [first, end).
template <std::size_t M, std::size_t N, std::size_t K>
void add_products(const Factors<M, N, K>& factors, std::size_t first, std::size_t end, Sums<M, N>& sums) {
  constexpr std::size_t kColumns = 16;  // as many sums as stay in registers
  for (std::size_t row = 0; row < M; ++row) {
    for (std::size_t column = 0; column < N; column += kColumns) {
      double* to = sums.at[row] + column;
      std::array<double, kColumns> sum;
      std::copy_n(to, kColumns, sum.begin());
      for (std::size_t k = first; k < end; ++k) {
        const double a = factors.a[row][k];
        const double* b = factors.b[k] + column;
        for (std::size_t n = 0; n < kColumns; ++n) sum[n] += a * b[n];
      }
      std::copy_n(sum.begin(), kColumns, to);
    }
  }
}

/// D = sums + C in all lanes, whatever EXEC is, after all of C has been read.
template <std::size_t M, std::size_t N>
void finish(Wave& wave, const Instruction& instruction, const Sums<M, N>& sums) {
  constexpr std::size_t kRegisters = M * N / kLanes;
  const Operand& c = instruction.operands[3];
  std::array<Lanes, kRegisters> results;
  for (std::size_t part = 0; part < kRegisters; ++part) {
    Lanes buffer;
    const Lanes& addend = read_lanes(wave, c, c.bank == Bank::literal ? 0 : part, buffer);
    Lanes& result = results[part];
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const double sum = sums.at[Layout<M, M>::row(lane, part)][lane % N];
      const u32 bits = as_bits(static_cast<float>(sum + double{as_float(addend[lane])}));
      result[lane] = is_nan_bits(bits) ? kDefaultNan : bits;
    }
  }
  for (std::size_t part = 0; part < kRegisters; ++part) {
    vector_row(wave, instruction.operands[0], part) = results[part];
  }
}

template <std::size_t M, std::size_t N, std::size_t K, typename A, typename B>
void multiply(Wave& wave, const Instruction& instruction) {
  Factors<M, N, K> factors;
  Sums<M, N> sums{};
  unpack<M, N, K, A, B>(wave, instruction, factors);
  add_products(factors, 0, K, sums);
  finish<M, N>(wave, instruction, sums);
}

using Fp8 = Byte<kFp8Cdna4>;
using Bf8 = Byte<kBf8Cdna4>;

/// cbsz and blgp name the formats of A and B: 0 FP8, 1 BF8; those of 6 and 4 bits are not implemented.
template <std::size_t M, std::size_t N, std::size_t K>
void unpack_named(const Wave& wave, const Instruction& instruction, Factors<M, N, K>& factors) {
  if (instruction.cbsz > 1 || instruction.blgp > 1) throw Failure("formats of 6 and 4 bits are not implemented");
  if (instruction.cbsz == 0) {
    if (instruction.blgp == 0) return unpack<M, N, K, Fp8, Fp8>(wave, instruction, factors);
    return unpack<M, N, K, Fp8, Bf8>(wave, instruction, factors);
  }
  if (instruction.blgp == 0) return unpack<M, N, K, Bf8, Fp8>(wave, instruction, factors);
  unpack<M, N, K, Bf8, Bf8>(wave, instruction, factors);
}

template <std::size_t M, std::size_t N, std::size_t K>
void multiply_named(Wave& wave, const Instruction& instruction) {
  Factors<M, N, K> factors;
  Sums<M, N> sums{};
  unpack_named(wave, instruction, factors);
  add_products(factors, 0, K, sums);
  finish<M, N>(wave, instruction, sums);
}

/// E8M0: a power of two, 255 being NaN.
double block_scale(u32 code) {
  return code == 255 ? static_cast<double>(as_float(kDefaultNan)) : std::ldexp(1.0, static_cast<int>(code) - 127);
}

/// Where the scale begins in its source: op_sel (low bit) and op_sel_hi (high bit) choose a byte of a register; of a
/// constant it is the exponent of a float.
u32 scale_shift(const Instruction& instruction, std::size_t source) {
  if (instruction.operands[source + 4].bank == Bank::literal) return 23;
  return 8U * ((instruction.op_sel >> source & 1U) + 2U * (instruction.op_sel_hi >> source & 1U));
}

/// Each 32 neighbours along K have a scale of their own for each row of A and column of B: group g of lanes holds the
/// scales of block g.
template <std::size_t M, std::size_t N, std::size_t K>
void multiply_scaled(Wave& wave, const Instruction& instruction) {
  Factors<M, N, K> factors;
  Sums<M, N> sums{};
  unpack_named(wave, instruction, factors);
  std::array<Lanes, 2> buffers;
  const Lanes& scales_a = read_lanes(wave, instruction.operands[4], 0, buffers[0]);
  const Lanes& scales_b = read_lanes(wave, instruction.operands[5], 0, buffers[1]);
  constexpr std::size_t kBlock = 32;
  static_assert(K / kBlock == kLanes / M);
  for (std::size_t block = 0; block < K / kBlock; ++block) {
    Sums<M, N> partial{};
    add_products(factors, block * kBlock, (block + 1) * kBlock, partial);
    for (std::size_t row = 0; row < M; ++row) {
      for (std::size_t column = 0; column < N; ++column) {
        const std::size_t group = block * M;
        const double a = block_scale(scales_a[group + row] >> scale_shift(instruction, 0) & 0xFFU);
        const double b = block_scale(scales_b[group + column] >> scale_shift(instruction, 1) & 0xFFU);
        sums.at[row][column] += partial.at[row][column] * a * b;
      }
    }
  }
  finish<M, N>(wave, instruction, sums);
}

using Fp8Fnuz = Byte<kFp8Cdna3>;
using Bf8Fnuz = Byte<kBf8Cdna3>;
constexpr u32 kNamed = modifier::kMatrix;
constexpr u32 kScaled = modifier::kMatrix | modifier::kHalves | modifier::kPacked;
constexpr auto kCdna3 = Generation::cdna3;
constexpr auto kCdna4 = Generation::cdna4;
constexpr std::array kRows = std::to_array<Row>({
    {"v_mfma_f32_16x16x32_fp8_fp8", multiply<16, 16, 32, Fp8Fnuz, Fp8Fnuz>, 0, kCdna3},
    {"v_mfma_f32_16x16x32_fp8_bf8", multiply<16, 16, 32, Fp8Fnuz, Bf8Fnuz>, 0, kCdna3},
    {"v_mfma_f32_16x16x32_bf8_fp8", multiply<16, 16, 32, Bf8Fnuz, Fp8Fnuz>, 0, kCdna3},
    {"v_mfma_f32_16x16x32_bf8_bf8", multiply<16, 16, 32, Bf8Fnuz, Bf8Fnuz>, 0, kCdna3},
    {"v_mfma_f32_32x32x16_fp8_fp8", multiply<32, 32, 16, Fp8Fnuz, Fp8Fnuz>, 0, kCdna3},
    {"v_mfma_f32_32x32x16_fp8_bf8", multiply<32, 32, 16, Fp8Fnuz, Bf8Fnuz>, 0, kCdna3},
    {"v_mfma_f32_32x32x16_bf8_fp8", multiply<32, 32, 16, Bf8Fnuz, Fp8Fnuz>, 0, kCdna3},
    {"v_mfma_f32_32x32x16_bf8_bf8", multiply<32, 32, 16, Bf8Fnuz, Bf8Fnuz>, 0, kCdna3},
    {"v_mfma_f32_16x16x32_fp8_fp8", multiply<16, 16, 32, Fp8, Fp8>, 0, kCdna4},
    {"v_mfma_f32_16x16x32_fp8_bf8", multiply<16, 16, 32, Fp8, Bf8>, 0, kCdna4},
    {"v_mfma_f32_16x16x32_bf8_fp8", multiply<16, 16, 32, Bf8, Fp8>, 0, kCdna4},
    {"v_mfma_f32_16x16x32_bf8_bf8", multiply<16, 16, 32, Bf8, Bf8>, 0, kCdna4},
    {"v_mfma_f32_32x32x16_fp8_fp8", multiply<32, 32, 16, Fp8, Fp8>, 0, kCdna4},
    {"v_mfma_f32_32x32x16_fp8_bf8", multiply<32, 32, 16, Fp8, Bf8>, 0, kCdna4},
    {"v_mfma_f32_32x32x16_bf8_fp8", multiply<32, 32, 16, Bf8, Fp8>, 0, kCdna4},
    {"v_mfma_f32_32x32x16_bf8_bf8", multiply<32, 32, 16, Bf8, Bf8>, 0, kCdna4},
    {"v_mfma_f32_16x16x16_bf16", multiply<16, 16, 16, Bf16, Bf16>},
    {"v_mfma_f32_32x32x8_bf16", multiply<32, 32, 8, Bf16, Bf16>},
    {"v_mfma_f32_16x16x16_f16", multiply<16, 16, 16, Half, Half>},
    {"v_mfma_f32_32x32x8_f16", multiply<32, 32, 8, Half, Half>},
    {"v_mfma_f32_16x16x4_f32", multiply<16, 16, 4, Single, Single>},
    {"v_mfma_f32_32x32x2_f32", multiply<32, 32, 2, Single, Single>},
    {"v_mfma_f32_16x16x32_bf16", multiply<16, 16, 32, Bf16, Bf16>, 0, kCdna4},
    {"v_mfma_f32_32x32x16_bf16", multiply<32, 32, 16, Bf16, Bf16>, 0, kCdna4},
    {"v_mfma_f32_16x16x32_f16", multiply<16, 16, 32, Half, Half>, 0, kCdna4},
    {"v_mfma_f32_32x32x16_f16", multiply<32, 32, 16, Half, Half>, 0, kCdna4},
    {"v_mfma_f32_16x16x128_f8f6f4", multiply_named<16, 16, 128>, kNamed, kCdna4},
    {"v_mfma_f32_32x32x64_f8f6f4", multiply_named<32, 32, 64>, kNamed, kCdna4},
    {"v_mfma_scale_f32_16x16x128_f8f6f4", multiply_scaled<16, 16, 128>, kScaled, kCdna4},
    {"v_mfma_scale_f32_32x32x64_f8f6f4", multiply_scaled<32, 32, 64>, kScaled, kCdna4},
});

}  // namespace

Table matrix_table() {
  return kRows;
}

}  // namespace octet::sim
