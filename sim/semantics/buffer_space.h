// The addresses of buffer instructions: a resource in four SGPRs says where a buffer begins and what of it there is.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "sim/semantics/global_space.h"

namespace octet::sim {

/// The fields of a buffer resource (V#) that addresses depend on. AMD CDNA4 ISA, 9.1.8 "Buffer Resource".
struct BufferResource {
  std::uint64_t base;  ///< address of the first byte
  u32 stride;          ///< bytes of a record
  u32 records;         ///< NUM_RECORDS: in bytes, or of `stride` bytes each
  bool swizzled;       ///< SWIZZLE_ENABLE
  bool adds_lane;      ///< ADD_TID_ENABLE: the index grows with the lane's number
};

/// Failure when the operand is not four SGPRs.
[[nodiscard]] inline BufferResource read_resource(const Wave& wave, const Operand& operand) {
  if (operand.bank != Bank::scalar || operand.dwords != 4) throw Failure("a buffer resource is not in four SGPRs");
  const u32* word = &wave.scalar[operand.index];
  return {word[0] | std::uint64_t{word[1] & 0xFFFFU} << 32, word[1] >> 16 & 0x3FFFU, word[2], word[1] >> 31 != 0,
          (word[3] >> 23 & 1U) != 0};
}

/// AMD CDNA4 ISA, 9.1.5 "Buffer Addressing": base + scalar offset + stride * index + offset, where index and
/// offset come from VGPRs as IDXEN and OFFEN say, the latter plus the instruction's. What lies past NUM_RECORDS is out
/// of range, which kernels rely on; what lies before it must lie in an allocation all the same.
///
/// The document compares a raw buffer's offset with NUM_RECORDS without the scalar offset; here it is added first, as
/// gem5 does and as others report of hardware.
class BufferSpace {
 public:
  static constexpr Space kSpace = Space::global;
  static constexpr std::size_t kStoreAddress = 1;

  /// The resource is the scalar address; behind it stands the scalar offset.
  BufferSpace(Wave& wave, const Instruction& instruction, std::size_t address, std::size_t scalar_address)
      : wave_(wave),
        resource_(read_resource(wave, instruction.operands[scalar_address])),
        scalar_offset_(read_scalar<u32>(wave, instruction.operands[scalar_address + 1])),
        offset_(static_cast<u32>(instruction.offset)) {
    if (resource_.swizzled || resource_.adds_lane) {
      throw Failure("the buffer resource has {}, which is not modelled",
                    resource_.swizzled ? "SWIZZLE_ENABLE" : "ADD_TID_ENABLE");
    }
    const Operand& vector = instruction.operands[address];
    if (instruction.idxen) indices_ = &vector_row(wave, vector);
    if (instruction.offen) offsets_ = &vector_row(wave, vector, instruction.idxen ? 1 : 0);
  }
  BufferSpace(const BufferSpace&) = delete;
  BufferSpace& operator=(const BufferSpace&) = delete;

  [[nodiscard]] std::uint64_t address(std::size_t lane) const {
    return resource_.base + scalar_offset_ + std::uint64_t{resource_.stride} * index(lane) + offset(lane);
  }

  [[nodiscard]] std::size_t elements_in_range(std::size_t lane, std::size_t bytes, std::size_t count) const {
    if (indices_ != nullptr && resource_.stride != 0) return index(lane) < resource_.records ? count : 0;
    const std::uint64_t first = std::uint64_t{offset(lane)} + scalar_offset_;
    return first < resource_.records ? std::min<std::size_t>(count, (resource_.records - first) / bytes) : 0;
  }

  [[nodiscard]] std::byte* at(std::size_t lane, std::size_t bytes) const {
    return global_bytes(wave_, address(lane), lane, bytes);
  }

 private:
  [[nodiscard]] u32 index(std::size_t lane) const { return indices_ == nullptr ? 0 : (*indices_)[lane]; }
  /// In 32 bits, which wrap.
  [[nodiscard]] u32 offset(std::size_t lane) const { return offset_ + (offsets_ == nullptr ? 0 : (*offsets_)[lane]); }

  Wave& wave_;
  BufferResource resource_;
  u32 scalar_offset_;
  u32 offset_;
  const Lanes* indices_ = nullptr;
  const Lanes* offsets_ = nullptr;
};

}  // namespace octet::sim
