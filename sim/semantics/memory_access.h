// Loads and stores of vectors, the same for each kind of memory. An `AnySpace` is made of a wave, an instruction and
// the places of its address operands, and gives the host's bytes of a lane's access:
//   AnySpace(Wave&, const Instruction&, std::size_t address, std::size_t scalar_address)
//   static constexpr Space kSpace
//   std::uint64_t address(std::size_t lane) const
//   std::byte* at(std::size_t lane, std::size_t bytes) const   Failure when the access leaves what there is
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "sim/semantics/lanes.h"

namespace octet::sim {

/// Tells who watches the wave, if anybody does, of an access that comes next.
template <typename AnySpace>
void announce(const Wave& wave, const Instruction& instruction, const AnySpace& space, AccessKind kind,
              std::size_t bytes) {
  if (wave.listener == nullptr) return;
  Access access{instruction, AnySpace::kSpace, kind, static_cast<std::uint32_t>(bytes), wave.number, wave.exec()};
  for_active_lanes(wave, [&](std::size_t lane) { access.addresses[lane] = space.address(lane); });
  wave.listener->on_access(access);
}

/// The same of a scalar instruction, which accesses memory once for its wave.
inline void announce_scalar(const Wave& wave, const Instruction& instruction, AccessKind kind, std::uint64_t address,
                            std::size_t bytes) {
  if (wave.listener == nullptr) return;
  Access access{instruction, Space::scalar, kind, static_cast<std::uint32_t>(bytes), wave.number, 1};
  access.addresses[0] = address;
  wave.listener->on_access(access);
}

/// As wide as a register: with copies of the sign where the type has one, else with zeros.
template <typename T>
constexpr std::uint32_t extended(T value) {
  using Widened = std::conditional_t<std::is_signed_v<T>, std::int32_t, std::uint32_t>;
  return static_cast<std::uint32_t>(Widened{value});
}

/// D = N values of type T at the address; narrow ones are extended as their type is signed or not. D is written after
/// all lanes have read, as it may hold addresses.
template <typename AnySpace, typename T, std::size_t N>
void load(Wave& wave, const Instruction& instruction) {
  const AnySpace space(wave, instruction, 1, 2);
  announce(wave, instruction, space, AccessKind::read, N * sizeof(T));
  std::array<Lanes, N> values;
  for_active_lanes(wave, [&](std::size_t lane) {
    std::array<T, N> read;
    std::memcpy(read.data(), space.at(lane, sizeof(read)), sizeof(read));
    for (std::size_t k = 0; k < N; ++k) values[k][lane] = extended(read[k]);
  });
  for (std::size_t k = 0; k < N; ++k) write_lanes(wave, instruction.operands[0], k, values[k]);
}

/// One value of type T into one half of D, whose other half stays.
template <typename AnySpace, typename T, bool High>
void load_half(Wave& wave, const Instruction& instruction) {
  const AnySpace space(wave, instruction, 1, 2);
  announce(wave, instruction, space, AccessKind::read, sizeof(T));
  Lanes values = vector_row(wave, instruction.operands[0]);
  for_active_lanes(wave, [&](std::size_t lane) {
    T read;
    std::memcpy(&read, space.at(lane, sizeof(T)), sizeof(T));
    const std::uint32_t half = extended(read) & 0xFFFFU;
    values[lane] = High ? (values[lane] & 0xFFFFU) | half << 16 : (values[lane] & 0xFFFF'0000U) | half;
  });
  write_lanes(wave, instruction.operands[0], 0, values);
}

/// N values of type T, the low bits of the registers, or with `Shift` those from there on.
template <typename AnySpace, typename T, std::size_t N, int Shift = 0>
void store(Wave& wave, const Instruction& instruction) {
  const AnySpace space(wave, instruction, 0, 2);
  announce(wave, instruction, space, AccessKind::write, N * sizeof(T));
  std::array<const Lanes*, N> rows;
  for (std::size_t k = 0; k < N; ++k) rows[k] = &vector_row(wave, instruction.operands[1], k);
  for_active_lanes(wave, [&](std::size_t lane) {
    std::array<T, N> written;
    for (std::size_t k = 0; k < N; ++k) written[k] = static_cast<T>((*rows[k])[lane] >> Shift);
    std::memcpy(space.at(lane, sizeof(written)), written.data(), sizeof(written));
  });
}

}  // namespace octet::sim
