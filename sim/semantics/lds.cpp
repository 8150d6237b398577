// The workgroup's shared memory, and permutations of lanes that its hardware does. AMD Instinct MI300 ISA, "Data Share
// Operations" and "Instructions": LDS and GDS.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "sim/semantics/float_lanes.h"
#include "sim/semantics/memory_access.h"
#include "sim/semantics/table.h"

namespace octet::sim {
namespace {

/// The address is a VGPR plus an offset.
class LdsSpace {
 public:
  static constexpr Space kSpace = Space::lds;

  LdsSpace(Wave& wave, const Instruction& instruction, std::size_t address, std::size_t /*scalar_address*/)
      : LdsSpace(wave, vector_row(wave, instruction.operands[address]), static_cast<u32>(instruction.offset)) {}
  LdsSpace(Wave& wave, const Lanes& addresses, u32 offset) : wave_(wave), addresses_(addresses), offset_(offset) {}
  LdsSpace(const LdsSpace&) = delete;
  LdsSpace& operator=(const LdsSpace&) = delete;

  /// In 32 bits, with which clang counts: a VGPR may hold less than 0.
  [[nodiscard]] std::uint64_t address(std::size_t lane) const { return addresses_[lane] + offset_; }

  [[nodiscard]] std::byte* at(std::size_t lane, std::size_t bytes) const {
    const std::uint64_t first = address(lane);
    if (first + bytes > wave_.lds.size()) {
      throw Failure("lane {} accesses {} bytes at {:#x} of the workgroup's {} bytes of LDS", lane, bytes, first,
                    wave_.lds.size());
    }
    return wave_.lds.data() + first;
  }

 private:
  Wave& wave_;
  const Lanes& addresses_;
  u32 offset_;
};

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

/// memory = F(memory, data), lane after lane. Operands: [old value,] address, data.
template <auto F, bool Returns>
void update(Wave& wave, const Instruction& instruction) {
  constexpr std::size_t kAddress = Returns ? 1 : 0;
  const LdsSpace space(wave, instruction, kAddress, 0);
  announce(wave, instruction, space, AccessKind::update, sizeof(u32));
  const Lanes& data = vector_row(wave, instruction.operands[kAddress + 1]);
  Lanes old;
  for_active_lanes(wave, [&](std::size_t lane) {
    std::byte* word = space.at(lane, sizeof(u32));
    std::memcpy(&old[lane], word, sizeof(u32));
    const u32 updated = F(old[lane], data[lane]);
    std::memcpy(word, &updated, sizeof(u32));
  });
  if (Returns) write_lanes(wave, instruction.operands[0], 0, old);
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

constexpr auto kAdd = [](u32 a, u32 b) { return a + b; };
constexpr auto kSubtract = [](u32 a, u32 b) { return a - b; };
constexpr auto kAnd = [](u32 a, u32 b) { return a & b; };
constexpr auto kOr = [](u32 a, u32 b) { return a | b; };
constexpr auto kXor = [](u32 a, u32 b) { return a ^ b; };
constexpr auto kExchange = [](u32 /*a*/, u32 b) { return b; };
constexpr auto kLargest = [](u32 a, u32 b) { return std::max(a, b); };
constexpr auto kSmallest = [](u32 a, u32 b) { return std::min(a, b); };
constexpr auto kLargestSigned = [](u32 a, u32 b) { return static_cast<i32>(a) > static_cast<i32>(b) ? a : b; };
constexpr auto kSmallestSigned = [](u32 a, u32 b) { return static_cast<i32>(a) < static_cast<i32>(b) ? a : b; };
constexpr auto kAddFloats = [](u32 a, u32 b) { return as_bits(as_float(a) + as_float(b)); };

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

    {"ds_add_u32", update<kAdd, false>, modifier::kOffset},
    {"ds_sub_u32", update<kSubtract, false>, modifier::kOffset},
    {"ds_and_b32", update<kAnd, false>, modifier::kOffset},
    {"ds_or_b32", update<kOr, false>, modifier::kOffset},
    {"ds_xor_b32", update<kXor, false>, modifier::kOffset},
    {"ds_max_u32", update<kLargest, false>, modifier::kOffset},
    {"ds_min_u32", update<kSmallest, false>, modifier::kOffset},
    {"ds_max_i32", update<kLargestSigned, false>, modifier::kOffset},
    {"ds_min_i32", update<kSmallestSigned, false>, modifier::kOffset},
    {"ds_add_f32", update<kAddFloats, false>, modifier::kOffset},
    {"ds_add_rtn_u32", update<kAdd, true>, modifier::kOffset},
    {"ds_max_rtn_u32", update<kLargest, true>, modifier::kOffset},
    {"ds_add_rtn_f32", update<kAddFloats, true>, modifier::kOffset},
    {"ds_wrxchg_rtn_b32", update<kExchange, true>, modifier::kOffset},

    {"ds_bpermute_b32", permute_backward, modifier::kOffset},
    {"ds_permute_b32", permute_forward, modifier::kOffset},
    {"ds_swizzle_b32", swizzle, modifier::kOffset | modifier::kSwizzle},
});

}  // namespace

Table lds_table() {
  return kRows;
}

}  // namespace octet::sim
