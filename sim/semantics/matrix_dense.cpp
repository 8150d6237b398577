// Dense matrix products of one block and of several, with results in single precision or integers. AMD CDNA4
// ISA, 7.1 "Matrix fused-multiply-add (MFMA)", where broadcasts are; 12.10 VOP3P. What CDNA3 has of these is laid out
// alike.
#include <array>
#include <cstddef>
#include <limits>
#include <optional>

#include "sim/semantics/matrix_product.h"
#include "sim/semantics/table.h"

namespace octet::sim {
namespace {

/// A float whose mantissa is cut to 10 bits. The document speaks of rounding; that hardware cuts was measured by the
/// authors of MMA-Sim (arXiv 2511.10909).
struct Xf32 {
  static constexpr std::size_t kBits = 32;
  static double value(u32 code) {
    return is_nan_bits(code) ? std::numeric_limits<double>::quiet_NaN() : double{as_float(code & ~0x1FFFU)};
  }
};

/// cbsz and abid: block number abid gives its A to all 2^cbsz blocks. What a part of the blocks would share is refused:
/// AMD's document has the blocks of each such part differ, AMD's matrix instruction calculator has them be the same.
std::optional<LaneSources> sources_of_a(const Instruction& instruction, std::size_t blocks) {
  if (instruction.cbsz == 0) return std::nullopt;
  const std::size_t sharing = std::size_t{1} << instruction.cbsz;
  if (sharing != blocks || instruction.abid >= blocks) {
    throw Failure("cbsz:{} abid:{}: only that all blocks ({} here) share one of them is implemented", instruction.cbsz,
                  instruction.abid, blocks);
  }
  const std::size_t lanes = kLanes / blocks;
  LaneSources from;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    from[lane] = static_cast<u8>(lane % lanes + lanes * instruction.abid);
  }
  return from;
}

/// blgp: half or a quarter of the lanes gives its B to all, or each lane takes that of 16 lanes further on.
std::size_t source_of_b(std::size_t lane, std::size_t pattern) {
  if (pattern < 3) return lane % 32 + 32 * (pattern - 1);
  if (pattern == 3) return (lane + 16) % kLanes;
  return lane % 16 + 16 * (pattern - 4);
}

std::optional<LaneSources> sources_of_b(const Instruction& instruction) {
  if (instruction.blgp == 0) return std::nullopt;
  LaneSources from;
  for (std::size_t lane = 0; lane < kLanes; ++lane) from[lane] = static_cast<u8>(source_of_b(lane, instruction.blgp));
  return from;
}

template <typename S, typename A, typename B = A, typename Result = FloatResult>
void multiply(Wave& wave, const Instruction& instruction) {
  const std::optional<LaneSources> from_a = sources_of_a(instruction, S::kBlocks);
  const std::optional<LaneSources> from_b = sources_of_b(instruction);
  Factors<S> factors;
  Sums<S> sums{};
  unpack_a<S, A>(wave, instruction.operands[1], factors, from_a ? &*from_a : nullptr);
  unpack_b<S, B>(wave, instruction.operands[2], factors, from_b ? &*from_b : nullptr);
  add_products(factors, 0, S::kDepth, sums);
  finish<S, Result>(wave, instruction.operands[0], instruction.operands[3], sums);
}

template <typename S>
constexpr Execute kIntegers = multiply<S, Int8, Int8, IntegerResult>;

using Fp8 = Small<kFp8Cdna4>;
using Bf8 = Small<kBf8Cdna4>;
using Fp8Fnuz = Small<kFp8Cdna3>;
using Bf8Fnuz = Small<kBf8Cdna3>;
constexpr u32 kAccepts = modifier::kMatrix;
constexpr std::array kRows = std::to_array<Row>({
    {"v_mfma_f32_16x16x32_fp8_fp8", multiply<Shape<16, 32>, Fp8Fnuz>, kAccepts, kCdna3},
    {"v_mfma_f32_16x16x32_fp8_bf8", multiply<Shape<16, 32>, Fp8Fnuz, Bf8Fnuz>, kAccepts, kCdna3},
    {"v_mfma_f32_16x16x32_bf8_fp8", multiply<Shape<16, 32>, Bf8Fnuz, Fp8Fnuz>, kAccepts, kCdna3},
    {"v_mfma_f32_16x16x32_bf8_bf8", multiply<Shape<16, 32>, Bf8Fnuz>, kAccepts, kCdna3},
    {"v_mfma_f32_32x32x16_fp8_fp8", multiply<Shape<32, 16>, Fp8Fnuz>, kAccepts, kCdna3},
    {"v_mfma_f32_32x32x16_fp8_bf8", multiply<Shape<32, 16>, Fp8Fnuz, Bf8Fnuz>, kAccepts, kCdna3},
    {"v_mfma_f32_32x32x16_bf8_fp8", multiply<Shape<32, 16>, Bf8Fnuz, Fp8Fnuz>, kAccepts, kCdna3},
    {"v_mfma_f32_32x32x16_bf8_bf8", multiply<Shape<32, 16>, Bf8Fnuz>, kAccepts, kCdna3},
    {"v_mfma_f32_16x16x32_fp8_fp8", multiply<Shape<16, 32>, Fp8>, kAccepts, kCdna4},
    {"v_mfma_f32_16x16x32_fp8_bf8", multiply<Shape<16, 32>, Fp8, Bf8>, kAccepts, kCdna4},
    {"v_mfma_f32_16x16x32_bf8_fp8", multiply<Shape<16, 32>, Bf8, Fp8>, kAccepts, kCdna4},
    {"v_mfma_f32_16x16x32_bf8_bf8", multiply<Shape<16, 32>, Bf8>, kAccepts, kCdna4},
    {"v_mfma_f32_32x32x16_fp8_fp8", multiply<Shape<32, 16>, Fp8>, kAccepts, kCdna4},
    {"v_mfma_f32_32x32x16_fp8_bf8", multiply<Shape<32, 16>, Fp8, Bf8>, kAccepts, kCdna4},
    {"v_mfma_f32_32x32x16_bf8_fp8", multiply<Shape<32, 16>, Bf8, Fp8>, kAccepts, kCdna4},
    {"v_mfma_f32_32x32x16_bf8_bf8", multiply<Shape<32, 16>, Bf8>, kAccepts, kCdna4},

    {"v_mfma_f32_16x16x16_bf16", multiply<Shape<16, 16>, Bf16>, kAccepts},
    {"v_mfma_f32_32x32x8_bf16", multiply<Shape<32, 8>, Bf16>, kAccepts},
    {"v_mfma_f32_4x4x4_16b_bf16", multiply<Shape<4, 4, 16>, Bf16>, kAccepts},
    {"v_mfma_f32_16x16x4_4b_bf16", multiply<Shape<16, 4, 4>, Bf16>, kAccepts},
    {"v_mfma_f32_32x32x4_2b_bf16", multiply<Shape<32, 4, 2>, Bf16>, kAccepts},
    {"v_mfma_f32_16x16x32_bf16", multiply<Shape<16, 32>, Bf16>, kAccepts, kCdna4},
    {"v_mfma_f32_32x32x16_bf16", multiply<Shape<32, 16>, Bf16>, kAccepts, kCdna4},

    {"v_mfma_f32_16x16x16_f16", multiply<Shape<16, 16>, Half>, kAccepts},
    {"v_mfma_f32_32x32x8_f16", multiply<Shape<32, 8>, Half>, kAccepts},
    {"v_mfma_f32_4x4x4_16b_f16", multiply<Shape<4, 4, 16>, Half>, kAccepts},
    {"v_mfma_f32_16x16x4_4b_f16", multiply<Shape<16, 4, 4>, Half>, kAccepts},
    {"v_mfma_f32_32x32x4_2b_f16", multiply<Shape<32, 4, 2>, Half>, kAccepts},
    {"v_mfma_f32_16x16x32_f16", multiply<Shape<16, 32>, Half>, kAccepts, kCdna4},
    {"v_mfma_f32_32x32x16_f16", multiply<Shape<32, 16>, Half>, kAccepts, kCdna4},

    {"v_mfma_f32_16x16x4_f32", multiply<Shape<16, 4>, Single>, kAccepts},
    {"v_mfma_f32_32x32x2_f32", multiply<Shape<32, 2>, Single>, kAccepts},
    {"v_mfma_f32_4x4x1_16b_f32", multiply<Shape<4, 1, 16>, Single>, kAccepts},
    {"v_mfma_f32_16x16x1_4b_f32", multiply<Shape<16, 1, 4>, Single>, kAccepts},
    {"v_mfma_f32_32x32x1_2b_f32", multiply<Shape<32, 1, 2>, Single>, kAccepts},
    {"v_mfma_f32_16x16x8_xf32", multiply<Shape<16, 8>, Xf32>, kAccepts, kCdna3},
    {"v_mfma_f32_32x32x4_xf32", multiply<Shape<32, 4>, Xf32>, kAccepts, kCdna3},

    {"v_mfma_i32_16x16x32_i8", kIntegers<Shape<16, 32>>, kAccepts},
    {"v_mfma_i32_32x32x16_i8", kIntegers<Shape<32, 16>>, kAccepts},
    {"v_mfma_i32_4x4x4_16b_i8", kIntegers<Shape<4, 4, 16>>, kAccepts},
    {"v_mfma_i32_16x16x4_4b_i8", kIntegers<Shape<16, 4, 4>>, kAccepts},
    {"v_mfma_i32_32x32x4_2b_i8", kIntegers<Shape<32, 4, 2>>, kAccepts},
    {"v_mfma_i32_16x16x64_i8", kIntegers<Shape<16, 64>>, kAccepts, kCdna4},
    {"v_mfma_i32_32x32x32_i8", kIntegers<Shape<32, 32>>, kAccepts, kCdna4},
});

}  // namespace

Table matrix_dense_table() {
  return kRows;
}

}  // namespace octet::sim
