// Matrix products whose factors are FP8, BF8, FP6, BF6 or FP4, each as the instruction names it, without and with
// scales of blocks. AMD CDNA4 ISA, 7.1.5 layouts of more than 16 bytes a lane, 7.2 "Block Scaled Matrices"; 12.10
// VOP3P.
#include <array>
#include <cstddef>
#include <limits>

#include "sim/semantics/matrix_product.h"
#include "sim/semantics/table.h"

namespace octet::sim {
namespace {

/// As for_elements(), of 6 bits, which cross the ends of dwords.
template <typename Element, std::size_t Count, typename Use>
void for_six_bits(const Wave& wave, const Operand& operand, const Use& use) {
  constexpr std::size_t kDwords = Count * 6 / 32;
  std::array<Lanes, kDwords + 1> rows{};
  for (std::size_t dword = 0; dword < kDwords; ++dword) {
    Lanes buffer;
    rows[dword] = read_lanes(wave, operand, dword, buffer);
  }
  for (std::size_t item = 0; item < Count; ++item) {
    const std::size_t dword = 6 * item / 32;
    const std::size_t shift = 6 * item % 32;
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const u64 both = rows[dword][lane] | u64{rows[dword + 1][lane]} << 32;
      use(lane, item, Element::value(static_cast<u32>(both >> shift) & 0x3FU));
    }
  }
}

/// Calls store(row, k, value) for each element of an operand.
template <typename S, typename Element, typename Store>
void unpack_as(const Wave& wave, const Operand& operand, const Store& store) {
  const auto use = [&store](std::size_t lane, std::size_t item, double value) {
    const FactorPlace at = factor_place<S, Element::kBits>(lane, item);
    store(at.row, at.k, value);
  };
  if constexpr (Element::kBits == 6) {
    for_six_bits<Element, S::kPerLane>(wave, operand, use);
  } else {
    for_elements<Element, S::kPerLane>(wave, operand, nullptr, use);
  }
}

template <typename S, typename Store>
void unpack_named(const Wave& wave, const Operand& operand, u32 format, const Store& store) {
  switch (format) {
    case 0:
      return unpack_as<S, Small<kFp8Cdna4>>(wave, operand, store);
    case 1:
      return unpack_as<S, Small<kBf8Cdna4>>(wave, operand, store);
    case 2:
      return unpack_as<S, Small<kFp6>>(wave, operand, store);
    case 3:
      return unpack_as<S, Small<kBf6>>(wave, operand, store);
    case 4:
      return unpack_as<S, Small<kFp4>>(wave, operand, store);
    default:
      throw Failure("a factor has format {}, which is none: 0 FP8, 1 BF8, 2 FP6, 3 BF6, 4 FP4", format);
  }
}

/// cbsz names the format of A, blgp that of B.
template <typename S>
void unpack_both(const Wave& wave, const Instruction& instruction, Factors<S>& factors) {
  unpack_named<S>(wave, instruction.operands[1], instruction.cbsz,
                  [&](std::size_t row, std::size_t k, double value) { factors.a[0][row][k] = value; });
  unpack_named<S>(wave, instruction.operands[2], instruction.blgp,
                  [&](std::size_t column, std::size_t k, double value) { factors.b[0][k][column] = value; });
}

template <typename S>
void multiply(Wave& wave, const Instruction& instruction) {
  Factors<S> factors;
  Sums<S> sums{};
  unpack_both(wave, instruction, factors);
  add_products(factors, 0, S::kDepth, sums);
  finish<S, FloatResult>(wave, instruction.operands[0], instruction.operands[3], sums);
}

/// E8M0: a power of two, 255 being NaN.
double power_of_code(u32 code) {
  return code == 255 ? std::numeric_limits<double>::quiet_NaN() : power_of_two(static_cast<int>(code) - 127);
}

/// The scales of A (source 0) or B (1) in all lanes: of a register the byte that op_sel (its low bit) and op_sel_hi
/// (its high bit) choose; of a constant, which the document has be a float, the exponent.
std::array<double, kLanes> read_scales(const Wave& wave, const Instruction& instruction, std::size_t source) {
  const Operand& operand = instruction.operands[4 + source];
  u32 shift = 8U * ((instruction.op_sel >> source & 1U) + 2U * (instruction.op_sel_hi >> source & 1U));
  if (operand.bank == Bank::literal) {
    const auto integer = static_cast<i32>(static_cast<u32>(operand.literal));
    if (integer != 0 && integer >= -16 && integer <= 64) throw Failure("a scale is the integer constant {}", integer);
    shift = 23;
  }
  Lanes buffer;
  const Lanes& bits = read_lanes(wave, operand, 0, buffer);
  std::array<double, kLanes> scales;
  for (std::size_t lane = 0; lane < kLanes; ++lane) scales[lane] = power_of_code(bits[lane] >> shift & 0xFFU);
  return scales;
}

/// Each 32 neighbours along K have a scale of their own for each row of A and column of B: group g of lanes holds the
/// scales of block g, whichever lanes hold the elements.
template <typename S>
void multiply_scaled(Wave& wave, const Instruction& instruction) {
  constexpr std::size_t kBlock = 32;
  static_assert(S::kDepth / kBlock == S::kGroups);
  Factors<S> factors;
  Sums<S> sums{};
  unpack_both(wave, instruction, factors);
  const std::array<double, kLanes> scales_a = read_scales(wave, instruction, 0);
  const std::array<double, kLanes> scales_b = read_scales(wave, instruction, 1);
  for (std::size_t block = 0; block < S::kGroups; ++block) {
    Sums<S> partial{};
    add_products(factors, block * kBlock, (block + 1) * kBlock, partial);
    for (std::size_t row = 0; row < S::kSize; ++row) {
      for (std::size_t column = 0; column < S::kSize; ++column) {
        const double scale = scales_a[block * S::kSize + row] * scales_b[block * S::kSize + column];
        sums.at[0][row][column] += partial.at[0][row][column] * scale;
      }
    }
  }
  finish<S, FloatResult>(wave, instruction.operands[0], instruction.operands[3], sums);
}

constexpr u32 kNamed = modifier::kMatrix;
constexpr u32 kScaled = modifier::kMatrix | modifier::kHalves | modifier::kPacked;
constexpr std::array kRows = std::to_array<Row>({
    {"v_mfma_f32_16x16x128_f8f6f4", multiply<Shape<16, 128>>, kNamed, kCdna4},
    {"v_mfma_f32_32x32x64_f8f6f4", multiply<Shape<32, 64>>, kNamed, kCdna4},
    {"v_mfma_scale_f32_16x16x128_f8f6f4", multiply_scaled<Shape<16, 128>>, kScaled, kCdna4},
    {"v_mfma_scale_f32_32x32x64_f8f6f4", multiply_scaled<Shape<32, 64>>, kScaled, kCdna4},
});

}  // namespace

Table matrix_scaled_table() {
  return kRows;
}

}  // namespace octet::sim
