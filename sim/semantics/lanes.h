// How functions of families read and write registers: scalar ones by value, vector ones as arrays of 64 lanes.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <type_traits>

#include "core/error.h"
#include "sim/decode/instruction.h"
#include "sim/machine/wave.h"

namespace octet::sim {

// As the instruction set writes the types of its integers.
using u8 = std::uint8_t;
using i8 = std::int8_t;
using u16 = std::uint16_t;
using i16 = std::int16_t;
using u32 = std::uint32_t;
using i32 = std::int32_t;
using u64 = std::uint64_t;
using i64 = std::int64_t;

/// A scalar source of 32 or 64 bits. Failure for an operand that is neither scalar nor literal.
template <typename T>
[[nodiscard]] inline T read_scalar(const Wave& wave, const Operand& operand) {
  static_assert(std::is_integral_v<T> && (sizeof(T) == 4 || sizeof(T) == 8));
  if (operand.bank == Bank::literal) return static_cast<T>(operand.literal);
  if (operand.bank != Bank::scalar) throw Failure("an operand is not scalar");
  if constexpr (sizeof(T) == 8) return static_cast<T>(wave.pair(operand.index));
  return static_cast<T>(wave.scalar[operand.index]);
}

template <typename T>
inline void write_scalar(Wave& wave, const Operand& operand, T value) {
  if (operand.bank != Bank::scalar) throw Failure("an operand is not scalar");
  if constexpr (sizeof(T) == 8) {
    wave.set_pair(operand.index, static_cast<std::uint64_t>(value));
  } else {
    wave.scalar[operand.index] = static_cast<std::uint32_t>(value);
  }
}

/// Dword `dword` of a source in all lanes: the register itself, or `broadcast` filled with a scalar or a literal.
[[nodiscard]] inline const Lanes& read_lanes(const Wave& wave, const Operand& operand, std::size_t dword,
                                             Lanes& broadcast) {
  switch (operand.bank) {
    case Bank::vector:
      return wave.vector[operand.index + dword];
    case Bank::scalar:
      broadcast.fill(wave.scalar[operand.index + dword]);
      return broadcast;
    case Bank::literal:
      broadcast.fill(static_cast<std::uint32_t>(operand.literal >> (32 * dword)));
      return broadcast;
    case Bank::none:
      break;
  }
  throw Failure("an operand is missing");
}

/// The register of a vector operand.
[[nodiscard]] inline Lanes& vector_row(Wave& wave, const Operand& operand, std::size_t dword = 0) {
  if (operand.bank != Bank::vector) throw Failure("an operand is no vector register");
  return wave.vector[operand.index + dword];
}

/// Writes the lanes that EXEC names.
inline void write_lanes(Wave& wave, const Operand& operand, std::size_t dword, const Lanes& values) {
  Lanes& row = vector_row(wave, operand, dword);
  const std::uint64_t exec = wave.exec();
  if (exec == kAllLanes) {
    row = values;
    return;
  }
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    row[lane] = (exec >> lane & 1U) != 0 ? values[lane] : row[lane];
  }
}

/// 64 bits of each lane: what two registers hold.
struct alignas(64) WideLanes : std::array<std::uint64_t, kLanes> {};

/// A source of 64 bits.
inline void read_wide(const Wave& wave, const Operand& operand, WideLanes& values) {
  Lanes low_broadcast;
  Lanes high_broadcast;
  const Lanes& low = read_lanes(wave, operand, 0, low_broadcast);
  const Lanes& high = read_lanes(wave, operand, 1, high_broadcast);
  for (std::size_t lane = 0; lane < kLanes; ++lane) values[lane] = low[lane] | std::uint64_t{high[lane]} << 32;
}

/// Writes two registers in the lanes that EXEC names.
inline void write_wide(Wave& wave, const Operand& operand, const WideLanes& values) {
  Lanes low;
  Lanes high;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    low[lane] = static_cast<std::uint32_t>(values[lane]);
    high[lane] = static_cast<std::uint32_t>(values[lane] >> 32);
  }
  write_lanes(wave, operand, 0, low);
  write_lanes(wave, operand, 1, high);
}

/// Calls `body(lane)` for each lane that EXEC names, in order.
template <typename Body>
inline void for_active_lanes(const Wave& wave, const Body& body) {
  for (std::uint64_t rest = wave.exec(); rest != 0; rest &= rest - 1) {
    body(static_cast<std::size_t>(std::countr_zero(rest)));
  }
}

/// D = F(source) on the bits of each lane.
template <auto F>
void lanes1(Wave& wave, const Instruction& instruction) {
  Lanes broadcast;
  const Lanes& a = read_lanes(wave, instruction.operands[1], 0, broadcast);
  Lanes result;
  for (std::size_t lane = 0; lane < kLanes; ++lane) result[lane] = F(a[lane]);
  write_lanes(wave, instruction.operands[0], 0, result);
}

template <auto F>
void lanes2(Wave& wave, const Instruction& instruction) {
  Lanes broadcast_a;
  Lanes broadcast_b;
  const Lanes& a = read_lanes(wave, instruction.operands[1], 0, broadcast_a);
  const Lanes& b = read_lanes(wave, instruction.operands[2], 0, broadcast_b);
  Lanes result;
  for (std::size_t lane = 0; lane < kLanes; ++lane) result[lane] = F(a[lane], b[lane]);
  write_lanes(wave, instruction.operands[0], 0, result);
}

template <auto F>
void lanes3(Wave& wave, const Instruction& instruction) {
  Lanes broadcast_a;
  Lanes broadcast_b;
  Lanes broadcast_c;
  const Lanes& a = read_lanes(wave, instruction.operands[1], 0, broadcast_a);
  const Lanes& b = read_lanes(wave, instruction.operands[2], 0, broadcast_b);
  const Lanes& c = read_lanes(wave, instruction.operands[3], 0, broadcast_c);
  Lanes result;
  for (std::size_t lane = 0; lane < kLanes; ++lane) result[lane] = F(a[lane], b[lane], c[lane]);
  write_lanes(wave, instruction.operands[0], 0, result);
}

}  // namespace octet::sim
