// An instruction in the form in which it is executed: a function, operands that are numbers of registers or literals,
// and what modifies it. Made once per machine instruction; holds no text.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace octet::sim {

struct Wave;
struct Instruction;
using Execute = void (*)(Wave& wave, const Instruction& instruction);

/// Numbers of scalar registers are those of the machine's operand encoding.
inline constexpr int kScalarRegisters = 128;
inline constexpr std::uint16_t kVccLo = 106;
inline constexpr std::uint16_t kM0 = 124;
inline constexpr std::uint16_t kExecLo = 126;

/// Rows of the vector file: v0 to v255, a0 to a255, then rows that only the simulator names.
inline constexpr int kFirstAccumulator = 256;
inline constexpr int kFirstStaging = 512;
inline constexpr int kVectorRows = kFirstStaging + 4;

/// Apertures of flat addresses: 4 GiB that are the workgroup's LDS, and 4 GiB that are the lane's scratch. Hardware
/// leaves the choice to the driver; no allocation of the simulator or of a host's process lies as high.
inline constexpr std::uint64_t kPrivateBase = std::uint64_t{1} << 48;
inline constexpr std::uint64_t kSharedBase = std::uint64_t{2} << 48;
inline constexpr std::uint64_t kApertureBytes = std::uint64_t{1} << 32;

enum class Bank : std::uint8_t { none, scalar, vector, literal };

/// One operand. `none` is "off", "null", or no operand at all.
struct Operand {
  Bank bank = Bank::none;
  std::uint8_t dwords = 1;
  bool negated = false;
  bool absolute = false;       ///< before negation
  bool sign_extended = false;  ///< SDWA
  std::uint16_t index = 0;     ///< of the first register
  std::uint64_t literal = 0;   ///< 64-bit operands take all of it, 32-bit ones the low half
};

/// Kinds of modifiers; a row of a family's table lists those that its function obeys.
namespace modifier {
inline constexpr std::uint32_t kNone = 0;
inline constexpr std::uint32_t kSign = 1;             ///< neg and abs of sources
inline constexpr std::uint32_t kOutput = 2;           ///< clamp; mul:2, mul:4, div:2, which IEEE mode ignores
inline constexpr std::uint32_t kOffset = 4;           ///< offset, offset0, offset1
inline constexpr std::uint32_t kCache = 8;            ///< sc0, sc1, nt: cache policy
inline constexpr std::uint32_t kHalves = 16;          ///< op_sel
inline constexpr std::uint32_t kPacked = 32;          ///< op_sel_hi, neg_lo, neg_hi
inline constexpr std::uint32_t kTruthTable = 64;      ///< bitop3
inline constexpr std::uint32_t kMatrix = 128;         ///< cbsz, abid, blgp
inline constexpr std::uint32_t kByteSelection = 256;  ///< src0_sel obeyed by the function itself
inline constexpr std::uint32_t kSwizzle = 512;        ///< offset:swizzle(...)
inline constexpr std::uint32_t kBuffer = 1U << 16;    ///< offen, idxen
}  // namespace modifier

/// DPP: from which lane the first source comes. `control` is the 9-bit field of the encoding.
struct Dpp {
  std::uint16_t control = 0;
  std::uint8_t row_mask = 15;
  std::uint8_t bank_mask = 15;
  bool zero_outside = false;  ///< bound_ctrl: a source outside of the row reads 0 instead of disabling the write
};

/// SDWA: which part of a dword is read or written.
enum class Part : std::uint8_t { byte0, byte1, byte2, byte3, word0, word1, dword };
enum class Unused : std::uint8_t { zero, sign, preserve };
struct Sdwa {
  std::array<Part, 2> source{Part::dword, Part::dword};
  Part destination = Part::dword;
  Unused unused = Unused::zero;
};

struct Instruction {
  Execute execute = nullptr;
  /// In the order of the text: destinations first, as LLVM prints them.
  std::array<Operand, 6> operands{};
  std::uint8_t operand_count = 0;

  // Bit k of the masks belongs to source k.
  std::uint8_t op_sel = 0;
  std::uint8_t op_sel_hi = 7;
  std::uint8_t neg_lo = 0;
  std::uint8_t neg_hi = 0;
  bool clamp = false;
  std::uint8_t truth_table = 0;
  std::uint8_t cbsz = 0, abid = 0, blgp = 0;
  std::int32_t offset = 0, offset1 = 0;
  bool sc0 = false;                   ///< of atomics: the old value is returned
  bool offen = false, idxen = false;  ///< a buffer's offset, its index, come from VGPRs
  Dpp dpp{};
  Sdwa sdwa{};

  /// What DPP or SDWA prepare operands for; null without them.
  const Instruction* inner = nullptr;
  std::uint32_t number = 0;  ///< of this instruction in its program
  std::uint32_t target = 0;  ///< of the instruction to which it branches
  std::uint32_t used = 0;    ///< kinds of modifiers that the text has
};

}  // namespace octet::sim
