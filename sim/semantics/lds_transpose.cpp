// Reads of LDS that transpose: a wave reads a matrix row by row, and each lane gets a column of it. AMD Instinct CDNA4
// ISA, 11.4 "MFMA Transpose Load from LDS".
#include <array>
#include <cstdint>
#include <cstring>

#include "sim/semantics/lds_space.h"
#include "sim/semantics/memory_access.h"
#include "sim/semantics/table.h"

namespace octet::sim {
namespace {

constexpr std::size_t kGroup = 16;  // lanes that exchange elements

/// The element of `Bits` bits that begins at that bit, which may lie in two dwords.
template <u32 Bits, std::size_t Dwords>
u32 element(const std::array<u32, Dwords>& data, std::size_t bit) {
  u64 window = data[bit / 32];
  if (bit / 32 + 1 < Dwords) window |= u64{data[bit / 32 + 1]} << 32;
  return static_cast<u32>(window >> bit % 32) & ((1U << Bits) - 1U);
}

/// Sets an element of data that is 0 there.
template <std::size_t Dwords>
void set_element(std::array<u32, Dwords>& data, std::size_t bit, u32 value) {
  const u64 window = u64{value} << bit % 32;
  data[bit / 32] |= static_cast<u32>(window);
  if (bit / 32 + 1 < Dwords) data[bit / 32 + 1] |= static_cast<u32>(window >> 32);
}

/// What 16 lanes read, from the first one's first element on, is a matrix with rows of 16 elements: two lanes hold a
/// row of bytes, one a row of 4 or 6 bits, four a row of 16 bits. Lane L gets column L: of row after row, element L.
///
/// The document gives what the instructions are for; which lane's element goes where is as compilers and kernels
/// written for CDNA4 take it (rocMLIR's and FlyDSL's layouts of 16 lanes).
template <u32 Bits, std::size_t Dwords>
void read_transposed(Wave& wave, const Instruction& instruction) {
  constexpr std::size_t kBytes = Dwords * 4;
  constexpr std::size_t kAlignment = Dwords == 2 ? 8 : 16;
  constexpr std::size_t kElements = kBytes * 8 / Bits;  // of a lane
  if (wave.exec() != kAllLanes) throw Failure("reads across lanes while EXEC does not name all 64");
  const LdsSpace space(wave, instruction, 1, 2);
  announce(wave, instruction, space, AccessKind::read, kBytes);
  std::array<std::array<u32, Dwords>, kLanes> read;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    if (space.address(lane) % kAlignment != 0) {
      throw Failure("lane {} reads {} bytes at {:#x}, which is not aligned to {}", lane, kBytes, space.address(lane),
                    kAlignment);
    }
    std::memcpy(read[lane].data(), space.at(lane, kBytes), kBytes);
  }
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    const std::size_t group = lane / kGroup * kGroup;
    std::array<u32, Dwords> column{};
    for (std::size_t row = 0; row < kElements; ++row) {
      const std::size_t number = row * kGroup + lane % kGroup;  // in the matrix
      const std::size_t bit = number % kElements * Bits;
      set_element(column, row * Bits, element<Bits>(read[group + number / kElements], bit));
    }
    for (std::size_t k = 0; k < Dwords; ++k) vector_row(wave, instruction.operands[0], k)[lane] = column[k];
  }
}

constexpr std::array kRows = std::to_array<Row>({
    {"ds_read_b64_tr_b4", read_transposed<4, 2>, modifier::kOffset, kCdna4},
    {"ds_read_b64_tr_b8", read_transposed<8, 2>, modifier::kOffset, kCdna4},
    {"ds_read_b64_tr_b16", read_transposed<16, 2>, modifier::kOffset, kCdna4},
    {"ds_read_b96_tr_b6", read_transposed<6, 3>, modifier::kOffset, kCdna4},
});

}  // namespace

Table lds_transpose_table() {
  return kRows;
}

}  // namespace octet::sim
