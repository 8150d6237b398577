// A wave for tests of single instructions, which they give as text in LLVM's syntax: no compiler is needed.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <deque>
#include <random>
#include <string_view>
#include <vector>

#include "sim/decode/parse.h"
#include "sim/launch/program.h"
#include "sim/machine/wave.h"
#include "sim/memory/memory.h"

namespace octet::sim {

using u32 = std::uint32_t;
using i32 = std::int32_t;
using u64 = std::uint64_t;
using i64 = std::int64_t;

class OneWave {
 public:
  OneWave() {
    wave.lds = lds;
    wave.memory = &memory;
    wave.scratch = scratch;
    wave.scratch_bytes = kScratchBytes;
    wave.set_pair(kExecLo, kAllLanes);
  }
  OneWave(const OneWave&) = delete;
  OneWave& operator=(const OneWave&) = delete;

  /// Failure when the instruction is not implemented.
  void run(std::string_view text, Generation generation = Generation::cdna3) {
    std::deque<Instruction> inners;
    const Instruction instruction = bind(parse(text), generation, inners);
    instruction.execute(wave, instruction);
  }

  [[nodiscard]] Lanes& v(std::size_t index) { return wave.vector[index]; }
  [[nodiscard]] Lanes& a(std::size_t index) { return wave.vector[kFirstAccumulator + index]; }
  [[nodiscard]] u32& s(std::size_t index) { return wave.scalar[index]; }
  [[nodiscard]] u64 s64(std::uint16_t index) const { return wave.pair(index); }
  void set_s64(std::uint16_t index, u64 value) { wave.set_pair(index, value); }
  void set_exec(u64 mask) { wave.set_pair(kExecLo, mask); }

  static constexpr u32 kScratchBytes = 64;
  Memory memory;
  std::vector<std::byte> lds = std::vector<std::byte>(4096);
  std::vector<std::byte> scratch = std::vector<std::byte>(std::size_t{kScratchBytes} * kLanes);
  Wave wave;
};

/// Bits for operands: the ends of the range, what floats and integers find special, and random ones.
class Operands {
 public:
  [[nodiscard]] u32 next() {
    constexpr std::array<u32, 24> kSpecial{
        0,           1,           2,           31,          32,          0x7F,        0x80,        0xFF,
        0x7FFF,      0x8000,      0xFFFF,      0x1'0000,    0x7FFF'FFFF, 0x8000'0000, 0xFFFF'FFFF, 0x8000'0001,
        0x3F80'0000, 0xBF80'0000, 0x7F80'0000, 0xFF80'0000, 0x7FC0'0000, 0x7F80'0001, 0x0000'0001, 0x007F'FFFF};
    const auto bits = static_cast<u32>(engine_());
    return bits % 3 == 0 ? kSpecial[bits / 3 % kSpecial.size()] : bits * 2654435761U;
  }
  [[nodiscard]] u64 next64() { return u64{next()} << 32 | next(); }
  void fill(Lanes& lanes) {
    for (u32& lane : lanes) lane = next();
  }

 private:
  std::mt19937 engine_{12345};  // the standard says what it gives
};

}  // namespace octet::sim
