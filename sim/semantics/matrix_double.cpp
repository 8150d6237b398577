// Matrix products in double precision. AMD CDNA4 ISA, 7.1 "Matrix fused-multiply-add (MFMA)", where the other meaning
// of broadcast fields is; 12.10 VOP3P.
// Products are added one after another along K, each by a fused multiply-add, as MMA-Sim (arXiv 2511.10909) found it on
// hardware.
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "sim/semantics/float_bits.h"
#include "sim/semantics/lanes.h"
#include "sim/semantics/matrix_layout.h"
#include "sim/semantics/table.h"

namespace octet::sim {
namespace {

using Format = FloatBits<u64>;

using Doubles = std::array<double, kLanes>;

/// Element `item` of all lanes, which has two registers; negated where blgp has bit `source`.
Doubles read_doubles(const Wave& wave, const Instruction& instruction, std::size_t source, std::size_t item) {
  const Operand& operand = instruction.operands[source + 1];
  const std::size_t first = operand.bank == Bank::literal ? 0 : 2 * item;
  const u64 flip = (instruction.blgp >> source & 1U) != 0 ? Format::kSign : 0;
  std::array<Lanes, 2> buffers;
  const Lanes& low = read_lanes(wave, operand, first, buffers[0]);
  const Lanes& high = read_lanes(wave, operand, first + 1, buffers[1]);
  Doubles values;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    values[lane] = std::bit_cast<double>((low[lane] | u64{high[lane]} << 32) ^ flip);
  }
  return values;
}

template <typename S>
void multiply(Wave& wave, const Instruction& instruction) {
  static_assert(S::kPerLane == 1);
  using Layout = ResultLayout<S, 1>;
  double a[S::kBlocks][S::kSize][S::kDepth];
  double b[S::kBlocks][S::kDepth][S::kSize];
  const Doubles from_a = read_doubles(wave, instruction, 0, 0);
  const Doubles from_b = read_doubles(wave, instruction, 1, 0);
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    const FactorPlace at = factor_place<S, 64>(lane, 0);
    a[at.block][at.row][at.k] = from_a[lane];
    b[at.block][at.k][at.row] = from_b[lane];
  }
  std::array<Doubles, Layout::kItems> sums;
  for (std::size_t item = 0; item < Layout::kItems; ++item) {
    sums[item] = read_doubles(wave, instruction, 2, item);
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const ResultPlace at = Layout::place(lane, item);
      double& sum = sums[item][lane];
      for (std::size_t k = 0; k < S::kDepth; ++k)
        sum = std::fma(a[at.block][at.row][k], b[at.block][k][at.column], sum);
    }
  }
  for (std::size_t item = 0; item < Layout::kItems; ++item) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const u64 bits = std::isnan(sums[item][lane]) ? Format::kDefaultNan : std::bit_cast<u64>(sums[item][lane]);
      vector_row(wave, instruction.operands[0], 2 * item)[lane] = static_cast<u32>(bits);
      vector_row(wave, instruction.operands[0], 2 * item + 1)[lane] = static_cast<u32>(bits >> 32);
    }
  }
}

constexpr std::array kRows = std::to_array<Row>({
    {"v_mfma_f64_16x16x4_f64", multiply<Shape<16, 4>>, modifier::kMatrix},
    {"v_mfma_f64_4x4x4_4b_f64", multiply<Shape<4, 4, 4>>, modifier::kMatrix},
});

}  // namespace

Table matrix_double_table() {
  return kRows;
}

}  // namespace octet::sim
