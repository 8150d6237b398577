// What moves values between lanes, or between lanes and scalars, and the staging for DPP and SDWA. AMD CDNA4 ISA,
// 13.3.7 SDWA, 13.3.8 SDWAB, 13.3.9 DPP (controls: table 94); 12.8 VOP1 and 12.11 VOP3 (V_READLANE_B32 and others).
#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <utility>

#include "sim/semantics/lanes.h"
#include "sim/semantics/table.h"

namespace octet::sim {
namespace {

void read_lane(Wave& wave, const Instruction& instruction) {
  Lanes buffer;
  const Lanes& a = read_lanes(wave, instruction.operands[1], 0, buffer);
  write_scalar(wave, instruction.operands[0], a[read_scalar<u32>(wave, instruction.operands[2]) & 63U]);
}

/// Of lane 0 where EXEC names none.
void read_first_lane(Wave& wave, const Instruction& instruction) {
  Lanes buffer;
  const Lanes& a = read_lanes(wave, instruction.operands[1], 0, buffer);
  const u64 exec = wave.exec();
  write_scalar(wave, instruction.operands[0], a[exec == 0 ? 0 : static_cast<std::size_t>(std::countr_zero(exec))]);
}

/// Whatever EXEC is.
void write_lane(Wave& wave, const Instruction& instruction) {
  const u32 lane = read_scalar<u32>(wave, instruction.operands[2]) & 63U;
  vector_row(wave, instruction.operands[0])[lane] = read_scalar<u32>(wave, instruction.operands[1]);
}

void swap(Wave& wave, const Instruction& instruction) {
  Lanes& a = vector_row(wave, instruction.operands[0]);
  Lanes& b = vector_row(wave, instruction.operands[1]);
  for_active_lanes(wave, [&](std::size_t lane) { std::swap(a[lane], b[lane]); });
}

/// The second row of each two rows of D and the first one of the source change places; a row has `Width` lanes. What
/// happens to lanes that EXEC does not name is not said.
template <std::size_t Width>
void swap_rows(Wave& wave, const Instruction& instruction) {
  if (wave.exec() != kAllLanes) throw Failure("is not implemented where EXEC does not name all lanes");
  Lanes& a = vector_row(wave, instruction.operands[0]);
  Lanes& b = vector_row(wave, instruction.operands[1]);
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    if ((lane & Width) == 0) std::swap(a[lane + Width], b[lane]);
  }
}

/// How many bits of the mask belong to lanes below this one, plus the second source. The mask is the half of 32 lanes
/// that begins at `FirstLane`.
template <std::size_t FirstLane>
void count_below(Wave& wave, const Instruction& instruction) {
  std::array<Lanes, 2> buffers;
  const Lanes& mask = read_lanes(wave, instruction.operands[1], 0, buffers[0]);
  const Lanes& base = read_lanes(wave, instruction.operands[2], 0, buffers[1]);
  Lanes result;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    const std::size_t below = lane < FirstLane ? 0 : std::min<std::size_t>(lane - FirstLane, 32);
    const u32 visible = static_cast<u32>((u64{1} << below) - 1U);
    result[lane] = static_cast<u32>(std::popcount(mask[lane] & visible)) + base[lane];
  }
  write_lanes(wave, instruction.operands[0], 0, result);
}

/// The lane from which `lane` reads; nothing where that lies outside of the row or the wave.
std::optional<int> dpp_source(int control, int lane) {
  const int row = lane & ~15;
  const int place = lane & 15;
  const int by = control & 15;
  if (control < 0x100) return (lane & ~3) | (control >> (2 * (lane & 3)) & 3);
  switch (control & ~15) {
    case 0x100:  // row_shl
      return place + by < 16 ? std::optional(lane + by) : std::nullopt;
    case 0x110:  // row_shr
      return place - by >= 0 ? std::optional(lane - by) : std::nullopt;
    case 0x120:  // row_ror
      return row | ((place - by) & 15);
    case 0x150:  // row_newbcast
      return row | by;
    default:
      break;
  }
  switch (control) {
    case 0x130:  // wave_shl
      return lane + 1 < kLanes ? std::optional(lane + 1) : std::nullopt;
    case 0x134:  // wave_rol
      return (lane + 1) % kLanes;
    case 0x138:  // wave_shr
      return lane > 0 ? std::optional(lane - 1) : std::nullopt;
    case 0x13C:  // wave_ror
      return (lane + kLanes - 1) % kLanes;
    case 0x140:  // row_mirror
      return row | (15 - place);
    case 0x141:  // row_half_mirror
      return row | (place & 8) | (7 - (place & 7));
    case 0x142:  // row_bcast:15: the last lane of the row before
      return row > 0 ? std::optional(row - 1) : std::nullopt;
    case 0x143:  // row_bcast:31
      return lane >= 32 ? std::optional(31) : std::nullopt;
    default:
      throw Failure("DPP control {:#x} is not implemented", control);
  }
}

u32 part_of(u32 value, Part part, bool sign_extended) {
  switch (part) {
    case Part::dword:
      return value;
    case Part::word0:
    case Part::word1: {
      const u32 word = value >> (part == Part::word1 ? 16 : 0) & 0xFFFFU;
      return sign_extended ? static_cast<u32>(static_cast<std::int32_t>(static_cast<std::int16_t>(word))) : word;
    }
    default: {
      const u32 byte = value >> (8 * static_cast<u32>(part)) & 0xFFU;
      return sign_extended ? static_cast<u32>(static_cast<std::int32_t>(static_cast<std::int8_t>(byte))) : byte;
    }
  }
}

/// Puts `value` where SDWA's destination lies in `before`.
u32 placed(u32 value, u32 before, const Sdwa& sdwa) {
  if (sdwa.destination == Part::dword) return value;
  const bool is_word = sdwa.destination == Part::word0 || sdwa.destination == Part::word1;
  const u32 width = is_word ? 16 : 8;
  const u32 first_of_kind = static_cast<u32>(is_word ? Part::word0 : Part::byte0);
  const u32 shift = (static_cast<u32>(sdwa.destination) - first_of_kind) * width;
  const u32 mask = (1U << width) - 1U;
  const u32 result = (value & mask) << shift;
  if (sdwa.unused == Unused::preserve) return (before & ~(mask << shift)) | result;
  const bool negative = (value >> (width - 1) & 1U) != 0;
  const u32 above = ~((u64{1} << (shift + width)) - 1U) & 0xFFFF'FFFFU;
  return sdwa.unused == Unused::sign && negative ? result | above : result;
}

constexpr std::array kRows = std::to_array<Row>({
    {"v_readlane_b32", read_lane},
    {"v_readfirstlane_b32", read_first_lane},
    {"v_writelane_b32", write_lane},
    {"v_swap_b32", swap},
    {"v_permlane16_swap_b32", swap_rows<16>, modifier::kNone, Generation::cdna4},
    {"v_permlane32_swap_b32", swap_rows<32>, modifier::kNone, Generation::cdna4},
    {"v_mbcnt_lo_u32_b32", count_below<0>},
    {"v_mbcnt_hi_u32_b32", count_below<32>},
});

}  // namespace

Table cross_lane_table() {
  return kRows;
}

void execute_dpp(Wave& wave, const Instruction& instruction) {
  const Dpp& dpp = instruction.dpp;
  const u64 exec = wave.exec();
  u64 readable = 0;
  u64 writes = 0;
  std::array<std::size_t, kLanes> source{};
  for (int lane = 0; lane < kLanes; ++lane) {
    const std::optional<int> from = dpp_source(dpp.control, lane);
    const bool is_readable = from && (exec >> *from & 1U) != 0;
    const bool named = (dpp.row_mask >> (lane >> 4) & 1) != 0 && (dpp.bank_mask >> (lane >> 2 & 3) & 1) != 0;
    source[static_cast<std::size_t>(lane)] = static_cast<std::size_t>(from.value_or(0));
    if (is_readable) readable |= u64{1} << lane;
    if (named && (is_readable || dpp.zero_outside)) writes |= u64{1} << lane;
  }
  for (std::size_t dword = 0; dword < instruction.operands[1].dwords; ++dword) {
    const Lanes& whole = vector_row(wave, instruction.operands[1], dword);
    Lanes& staged = wave.vector[kFirstStaging + dword];
    for (std::size_t lane = 0; lane < kLanes; ++lane)
      staged[lane] = (readable >> lane & 1U) != 0 ? whole[source[lane]] : 0;
  }
  wave.set_pair(kExecLo, exec & writes);
  instruction.inner->execute(wave, *instruction.inner);
  wave.set_pair(kExecLo, exec);
}

void execute_sdwa(Wave& wave, const Instruction& instruction) {
  const Instruction& inner = *instruction.inner;
  for (std::size_t source = 0; source < 2; ++source) {
    const Operand& operand = instruction.operands[source + 1];
    if (inner.operands[source + 1].index != kFirstStaging + source) continue;
    Lanes buffer;
    const Lanes& whole = read_lanes(wave, operand, 0, buffer);
    Lanes& staged = wave.vector[kFirstStaging + source];
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      staged[lane] = part_of(whole[lane], instruction.sdwa.source[source], operand.sign_extended);
    }
  }
  inner.execute(wave, inner);
  constexpr std::size_t kDestination = kFirstStaging + 2;
  if (inner.operands[0].bank != Bank::vector || inner.operands[0].index != kDestination) return;
  const Lanes& result = wave.vector[kDestination];
  Lanes& destination = vector_row(wave, instruction.operands[0]);
  for_active_lanes(
      wave, [&](std::size_t lane) { destination[lane] = placed(result[lane], destination[lane], instruction.sdwa); });
}

}  // namespace octet::sim
