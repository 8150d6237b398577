// Loads and stores of the workgroup's shared memory, and permutations of lanes that its hardware does. AMD CDNA4 ISA,
// 11 "Data Share Operations"; 12.12 LDS. Accesses outside are faults here; hardware drops such writes and reads 0
// (3.6.1).
#include <array>
#include <cstdint>
#include <cstring>

#include "sim/semantics/lds_space.h"
#include "sim/semantics/memory_access.h"
#include "sim/semantics/table.h"

namespace octet::sim {
namespace {

/// Two reads of `Dwords` each, at offsets that count in units of their size times `Stride`.
template <std::size_t Dwords, u32 Stride>
void read_two(Wave& wave, const Instruction& instruction) {
  constexpr u32 kBytes = Dwords * 4;
  const Lanes& addresses = vector_row(wave, instruction.operands[1]);
  std::array<Lanes, 2 * Dwords> values;
  for (std::size_t second = 0; second < 2; ++second) {
    const i32 offset = second == 0 ? instruction.offset : instruction.offset1;
    const LdsSpace space(wave, addresses, static_cast<u32>(offset) * kBytes * Stride);
    announce(wave, instruction, space, AccessKind::read, kBytes);
    for_active_lanes(wave, [&](std::size_t lane) {
      std::array<u32, Dwords> read;
      std::memcpy(read.data(), space.at(lane, kBytes), kBytes);
      for (std::size_t k = 0; k < Dwords; ++k) values[second * Dwords + k][lane] = read[k];
    });
  }
  for (std::size_t k = 0; k < values.size(); ++k) {
    write_lanes(wave, instruction.operands[0], k, values[k]);
  }
}

/// Two writes; lanes write both before the next lane writes.
template <std::size_t Dwords, u32 Stride>
void write_two(Wave& wave, const Instruction& instruction) {
  constexpr u32 kBytes = Dwords * 4;
  const Lanes& addresses = vector_row(wave, instruction.operands[0]);
  const LdsSpace first(wave, addresses, static_cast<u32>(instruction.offset) * kBytes * Stride);
  const LdsSpace second(wave, addresses, static_cast<u32>(instruction.offset1) * kBytes * Stride);
  announce(wave, instruction, first, AccessKind::write, kBytes);
  announce(wave, instruction, second, AccessKind::write, kBytes);
  const auto write = [&](const LdsSpace& space, std::size_t data, std::size_t lane) {
    std::array<u32, Dwords> written;
    for (std::size_t k = 0; k < Dwords; ++k) {
      written[k] = vector_row(wave, instruction.operands[data], k)[lane];
    }
    std::memcpy(space.at(lane, kBytes), written.data(), kBytes);
  };
  for_active_lanes(wave, [&](std::size_t lane) {
    write(first, 1, lane);
    write(second, 2, lane);
  });
}

/// D = the dword in the lane's slot: LDS at M0 plus the offset, a dword for each lane.
void read_slots(Wave& wave, const Instruction& instruction) {
  const Lanes slots = lane_slots(wave, instruction, sizeof(u32));
  const LdsSpace space(wave, slots, 0);
  announce(wave, instruction, space, AccessKind::read, sizeof(u32));
  Lanes values;
  for_active_lanes(wave, [&](std::size_t lane) { values[lane] = read_values<u32, 1>(space, lane)[0]; });
  write_lanes(wave, instruction.operands[0], 0, values);
}

void write_slots(Wave& wave, const Instruction& instruction) {
  const Lanes slots = lane_slots(wave, instruction, sizeof(u32));
  const LdsSpace space(wave, slots, 0);
  announce(wave, instruction, space, AccessKind::write, sizeof(u32));
  const Lanes& data = vector_row(wave, instruction.operands[0]);
  for_active_lanes(wave, [&](std::size_t lane) { std::memcpy(space.at(lane, sizeof(u32)), &data[lane], sizeof(u32)); });
}

/// D = the value that the lane has whose number, times 4, stands in the address. Lanes that EXEC does not name give 0.
void permute_backward(Wave& wave, const Instruction& instruction) {
  const Lanes& address = vector_row(wave, instruction.operands[1]);
  Lanes buffer;
  const Lanes& data = read_lanes(wave, instruction.operands[2], 0, buffer);
  const std::uint64_t exec = wave.exec();
  Lanes result;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    const u32 source = (address[lane] + static_cast<u32>(instruction.offset)) / 4 % kLanes;
    result[lane] = (exec >> source & 1U) != 0 ? data[source] : 0;
  }
  write_lanes(wave, instruction.operands[0], 0, result);
}

/// Sends the value to the lane whose number, times 4, stands in the address; of several senders the last one wins.
void permute_forward(Wave& wave, const Instruction& instruction) {
  const Lanes& address = vector_row(wave, instruction.operands[1]);
  Lanes buffer;
  const Lanes& data = read_lanes(wave, instruction.operands[2], 0, buffer);
  Lanes result{};
  for_active_lanes(wave, [&](std::size_t lane) {
    result[(address[lane] + static_cast<u32>(instruction.offset)) / 4 % kLanes] = data[lane];
  });
  write_lanes(wave, instruction.operands[0], 0, result);
}

/// The lane from which `lane` reads: quads are permuted, or the number of the lane within 32 is masked with and, or,
/// xor.
std::size_t swizzle_source(u32 pattern, std::size_t lane) {
  const auto number = static_cast<u32>(lane);
  if ((pattern & 0x8000U) != 0) return (number & ~3U) | (pattern >> (2 * (number & 3U)) & 3U);
  const u32 within = (((number & 31U) & (pattern & 31U)) | (pattern >> 5 & 31U)) ^ (pattern >> 10 & 31U);
  return (number & 32U) | within;
}

void swizzle(Wave& wave, const Instruction& instruction) {
  if (instruction.offset >= 0xC000) throw Failure("the patterns FFT and rotate are not implemented");
  Lanes buffer;
  const Lanes& data = read_lanes(wave, instruction.operands[1], 0, buffer);
  const std::uint64_t exec = wave.exec();
  Lanes result;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    const std::size_t source = swizzle_source(static_cast<u32>(instruction.offset), lane);
    result[lane] = (exec >> source & 1U) != 0 ? data[source] : 0;
  }
  write_lanes(wave, instruction.operands[0], 0, result);
}

constexpr std::array kRows = std::to_array<Row>({
    {"ds_read_u8", load<LdsSpace, u8, 1>, modifier::kOffset},
    {"ds_read_i8", load<LdsSpace, i8, 1>, modifier::kOffset},
    {"ds_read_u16", load<LdsSpace, u16, 1>, modifier::kOffset},
    {"ds_read_i16", load<LdsSpace, i16, 1>, modifier::kOffset},
    {"ds_read_b32", load<LdsSpace, u32, 1>, modifier::kOffset},
    {"ds_read_b64", load<LdsSpace, u32, 2>, modifier::kOffset},
    {"ds_read_b96", load<LdsSpace, u32, 3>, modifier::kOffset},
    {"ds_read_b128", load<LdsSpace, u32, 4>, modifier::kOffset},
    {"ds_read_u8_d16", load_half<LdsSpace, u8, false>, modifier::kOffset},
    {"ds_read_u8_d16_hi", load_half<LdsSpace, u8, true>, modifier::kOffset},
    {"ds_read_i8_d16", load_half<LdsSpace, i8, false>, modifier::kOffset},
    {"ds_read_i8_d16_hi", load_half<LdsSpace, i8, true>, modifier::kOffset},
    {"ds_read_u16_d16", load_half<LdsSpace, u16, false>, modifier::kOffset},
    {"ds_read_u16_d16_hi", load_half<LdsSpace, u16, true>, modifier::kOffset},
    {"ds_write_b8", store<LdsSpace, u8, 1>, modifier::kOffset},
    {"ds_write_b8_d16_hi", store<LdsSpace, u8, 1, 16>, modifier::kOffset},
    {"ds_write_b16", store<LdsSpace, u16, 1>, modifier::kOffset},
    {"ds_write_b16_d16_hi", store<LdsSpace, u16, 1, 16>, modifier::kOffset},
    {"ds_write_b32", store<LdsSpace, u32, 1>, modifier::kOffset},
    {"ds_write_b64", store<LdsSpace, u32, 2>, modifier::kOffset},
    {"ds_write_b96", store<LdsSpace, u32, 3>, modifier::kOffset},
    {"ds_write_b128", store<LdsSpace, u32, 4>, modifier::kOffset},
    {"ds_read2_b32", read_two<1, 1>, modifier::kOffset},
    {"ds_read2_b64", read_two<2, 1>, modifier::kOffset},
    {"ds_read2st64_b32", read_two<1, 64>, modifier::kOffset},
    {"ds_read2st64_b64", read_two<2, 64>, modifier::kOffset},
    {"ds_write2_b32", write_two<1, 1>, modifier::kOffset},
    {"ds_write2_b64", write_two<2, 1>, modifier::kOffset},
    {"ds_write2st64_b32", write_two<1, 64>, modifier::kOffset},
    {"ds_write2st64_b64", write_two<2, 64>, modifier::kOffset},
    {"ds_read_addtid_b32", read_slots, modifier::kOffset},
    {"ds_write_addtid_b32", write_slots, modifier::kOffset},

    {"ds_bpermute_b32", permute_backward, modifier::kOffset},
    {"ds_permute_b32", permute_forward, modifier::kOffset},
    {"ds_swizzle_b32", swizzle, modifier::kOffset | modifier::kSwizzle},
});

}  // namespace

Table lds_table() {
  return kRows;
}

}  // namespace octet::sim
