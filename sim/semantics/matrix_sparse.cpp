// Matrix products D += A B with a sparse A: of each 4 neighbours along K two are stored, and an index says which. AMD
// CDNA4 ISA, 7.5 "Sparse Matrices"; 12.10 VOP3P.
#include <array>
#include <cstddef>

#include "sim/semantics/matrix_product.h"
#include "sim/semantics/table.h"

namespace octet::sim {
namespace {

/// The index of the third source, moved down so that its lowest two bits belong to a lane's first element of A. A
/// register has several sets of indices where a lane has fewer than 16 elements: abid chooses one, unless cbsz is set.
Lanes read_indices(const Wave& wave, const Instruction& instruction, std::size_t bits_per_set) {
  const std::size_t sets = 32 / bits_per_set;
  const std::size_t set = (instruction.cbsz & 3U) == 0 ? instruction.abid % sets : 0;
  Lanes buffer;
  Lanes indices = read_lanes(wave, instruction.operands[3], 0, buffer);
  for (u32& lane : indices) lane >>= bits_per_set * set;
  return indices;
}

/// An element of A that is stored, and where along K it belongs.
struct Stored {
  double value;
  std::size_t k;
};

/// The stored elements of A follow each other through a lane and from one group of lanes to the next, two for each 4
/// along K; B lies as in dense products. In the shapes that CDNA4 added the two therefore meet across groups. What A
/// does not store takes no part, so that infinity in B is multiplied by no zero.
template <typename S, typename A, typename B = A, typename Result = FloatResult>
void multiply(Wave& wave, const Instruction& instruction) {
  static_assert(A::kBits == B::kBits);
  constexpr std::size_t kStored = S::kPerLane / 2;
  const Lanes indices = read_indices(wave, instruction, 2 * kStored);
  std::array<std::array<Stored, kStored * S::kGroups>, S::kSize> a;  // [M, K / 2]
  for_elements<A, kStored>(wave, instruction.operands[1], nullptr,
                           [&](std::size_t lane, std::size_t item, double value) {
                             const std::size_t index = indices[lane] >> (2 * item) & 3U;
                             const std::size_t place = lane / S::kSize * kStored + item;
                             a[lane % S::kSize][place] = {value, place / 2 * 4 + index};
                           });
  Factors<S> factors;  // of which A is not used
  unpack_b<S, B>(wave, instruction.operands[2], factors);
  Sums<S> sums{};
  for (std::size_t row = 0; row < S::kSize; ++row) {
    for (const Stored& stored : a[row]) {
      for (std::size_t column = 0; column < S::kSize; ++column) {
        sums.at[0][row][column] += stored.value * factors.b[0][stored.k][column];
      }
    }
  }
  finish<S, Result>(wave, instruction.operands[0], instruction.operands[0], sums);
}

template <typename S>
constexpr Execute kIntegers = multiply<S, Int8, Int8, IntegerResult>;

using Fp8 = Small<kFp8Cdna4>;
using Bf8 = Small<kBf8Cdna4>;
using Fp8Fnuz = Small<kFp8Cdna3>;
using Bf8Fnuz = Small<kBf8Cdna3>;
constexpr u32 kAccepts = modifier::kMatrix;
constexpr std::array kRows = std::to_array<Row>({
    {"v_smfmac_f32_16x16x32_f16", multiply<Shape<16, 32>, Half>, kAccepts},
    {"v_smfmac_f32_32x32x16_f16", multiply<Shape<32, 16>, Half>, kAccepts},
    {"v_smfmac_f32_16x16x32_bf16", multiply<Shape<16, 32>, Bf16>, kAccepts},
    {"v_smfmac_f32_32x32x16_bf16", multiply<Shape<32, 16>, Bf16>, kAccepts},
    {"v_smfmac_i32_16x16x64_i8", kIntegers<Shape<16, 64>>, kAccepts},
    {"v_smfmac_i32_32x32x32_i8", kIntegers<Shape<32, 32>>, kAccepts},

    {"v_smfmac_f32_16x16x64_fp8_fp8", multiply<Shape<16, 64>, Fp8Fnuz>, kAccepts, kCdna3},
    {"v_smfmac_f32_16x16x64_fp8_bf8", multiply<Shape<16, 64>, Fp8Fnuz, Bf8Fnuz>, kAccepts, kCdna3},
    {"v_smfmac_f32_16x16x64_bf8_fp8", multiply<Shape<16, 64>, Bf8Fnuz, Fp8Fnuz>, kAccepts, kCdna3},
    {"v_smfmac_f32_16x16x64_bf8_bf8", multiply<Shape<16, 64>, Bf8Fnuz>, kAccepts, kCdna3},
    {"v_smfmac_f32_32x32x32_fp8_fp8", multiply<Shape<32, 32>, Fp8Fnuz>, kAccepts, kCdna3},
    {"v_smfmac_f32_32x32x32_fp8_bf8", multiply<Shape<32, 32>, Fp8Fnuz, Bf8Fnuz>, kAccepts, kCdna3},
    {"v_smfmac_f32_32x32x32_bf8_fp8", multiply<Shape<32, 32>, Bf8Fnuz, Fp8Fnuz>, kAccepts, kCdna3},
    {"v_smfmac_f32_32x32x32_bf8_bf8", multiply<Shape<32, 32>, Bf8Fnuz>, kAccepts, kCdna3},

    {"v_smfmac_f32_16x16x64_fp8_fp8", multiply<Shape<16, 64>, Fp8>, kAccepts, kCdna4},
    {"v_smfmac_f32_16x16x64_fp8_bf8", multiply<Shape<16, 64>, Fp8, Bf8>, kAccepts, kCdna4},
    {"v_smfmac_f32_16x16x64_bf8_fp8", multiply<Shape<16, 64>, Bf8, Fp8>, kAccepts, kCdna4},
    {"v_smfmac_f32_16x16x64_bf8_bf8", multiply<Shape<16, 64>, Bf8>, kAccepts, kCdna4},
    {"v_smfmac_f32_32x32x32_fp8_fp8", multiply<Shape<32, 32>, Fp8>, kAccepts, kCdna4},
    {"v_smfmac_f32_32x32x32_fp8_bf8", multiply<Shape<32, 32>, Fp8, Bf8>, kAccepts, kCdna4},
    {"v_smfmac_f32_32x32x32_bf8_fp8", multiply<Shape<32, 32>, Bf8, Fp8>, kAccepts, kCdna4},
    {"v_smfmac_f32_32x32x32_bf8_bf8", multiply<Shape<32, 32>, Bf8>, kAccepts, kCdna4},

    {"v_smfmac_f32_16x16x64_f16", multiply<Shape<16, 64>, Half>, kAccepts, kCdna4},
    {"v_smfmac_f32_32x32x32_f16", multiply<Shape<32, 32>, Half>, kAccepts, kCdna4},
    {"v_smfmac_f32_16x16x64_bf16", multiply<Shape<16, 64>, Bf16>, kAccepts, kCdna4},
    {"v_smfmac_f32_32x32x32_bf16", multiply<Shape<32, 32>, Bf16>, kAccepts, kCdna4},
    {"v_smfmac_i32_16x16x128_i8", kIntegers<Shape<16, 128>>, kAccepts, kCdna4},
    {"v_smfmac_i32_32x32x64_i8", kIntegers<Shape<32, 64>>, kAccepts, kCdna4},
    {"v_smfmac_f32_16x16x128_fp8_fp8", multiply<Shape<16, 128>, Fp8>, kAccepts, kCdna4},
    {"v_smfmac_f32_16x16x128_fp8_bf8", multiply<Shape<16, 128>, Fp8, Bf8>, kAccepts, kCdna4},
    {"v_smfmac_f32_16x16x128_bf8_fp8", multiply<Shape<16, 128>, Bf8, Fp8>, kAccepts, kCdna4},
    {"v_smfmac_f32_16x16x128_bf8_bf8", multiply<Shape<16, 128>, Bf8>, kAccepts, kCdna4},
    {"v_smfmac_f32_32x32x64_fp8_fp8", multiply<Shape<32, 64>, Fp8>, kAccepts, kCdna4},
    {"v_smfmac_f32_32x32x64_fp8_bf8", multiply<Shape<32, 64>, Fp8, Bf8>, kAccepts, kCdna4},
    {"v_smfmac_f32_32x32x64_bf8_fp8", multiply<Shape<32, 64>, Bf8, Fp8>, kAccepts, kCdna4},
    {"v_smfmac_f32_32x32x64_bf8_bf8", multiply<Shape<32, 64>, Bf8>, kAccepts, kCdna4},
});

}  // namespace

Table matrix_sparse_table() {
  return kRows;
}

}  // namespace octet::sim
