// Loads and stores of vectors, the same for each kind of memory. An `AnySpace` is made of a wave, an instruction and
// the places of its address operands, and gives the host's bytes of a lane's access:
//   AnySpace(Wave&, const Instruction&, std::size_t address, std::size_t scalar_address)
//   static constexpr Space kSpace                      or, where lanes differ:  Space space(std::size_t lane) const
//   static constexpr std::size_t kStoreAddress         the place of the address in a store: before or after the data
//   std::uint64_t address(std::size_t lane) const      for who watches and for messages
//   std::byte* at(std::size_t lane, std::size_t bytes) const   Failure when the access leaves what there is
//   std::size_t elements_in_range(std::size_t lane, std::size_t bytes, std::size_t count) const
//     only where accesses out of range are allowed: how many elements, of `bytes` each, are within, from the first on;
//     others read 0, and are not written
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "sim/semantics/lanes.h"

namespace octet::sim {

template <typename AnySpace>
std::size_t elements_in_range(const AnySpace& space, std::size_t lane, std::size_t bytes, std::size_t count) {
  if constexpr (requires { space.elements_in_range(lane, bytes, count); }) {
    return space.elements_in_range(lane, bytes, count);
  } else {
    return count;
  }
}

template <typename AnySpace>
Space space_of(const AnySpace& space, std::size_t lane) {
  if constexpr (requires { space.space(lane); }) {
    return space.space(lane);
  } else {
    return AnySpace::kSpace;
  }
}

/// Tells who watches the wave, if anybody does, of an access that comes next: of `count` elements of `bytes` each.
/// Lanes that reach different memories, or whose access is cut by its range, are told of apart.
template <typename AnySpace>
void announce(const Wave& wave, const Instruction& instruction, const AnySpace& space, AccessKind kind,
              std::size_t bytes, std::size_t count = 1) {
  if (wave.listener == nullptr) return;
  for (std::uint64_t rest = wave.exec(); rest != 0;) {
    const auto first = static_cast<std::size_t>(std::countr_zero(rest));
    const std::size_t elements = elements_in_range(space, first, bytes, count);
    Access access{
        instruction, space_of(space, first), kind, static_cast<std::uint32_t>(elements * bytes), wave.number, 0};
    for (std::uint64_t others = rest; others != 0; others &= others - 1) {
      const auto lane = static_cast<std::size_t>(std::countr_zero(others));
      if (space_of(space, lane) != access.space || elements_in_range(space, lane, bytes, count) != elements) continue;
      access.lanes |= std::uint64_t{1} << lane;
      access.addresses[lane] = space.address(lane);
    }
    rest &= ~access.lanes;
    if (elements > 0) wave.listener->on_access(access);
  }
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

/// What a lane reads.
template <typename T, std::size_t N, typename AnySpace>
std::array<T, N> read_values(const AnySpace& space, std::size_t lane) {
  std::array<T, N> values{};
  const std::size_t bytes = sizeof(T) * elements_in_range(space, lane, sizeof(T), N);
  if (bytes > 0) std::memcpy(values.data(), space.at(lane, bytes), bytes);
  return values;
}

/// D = N values of type T at the address; narrow ones are extended as their type is signed or not. D is written after
/// all lanes have read, as it may hold addresses.
template <typename AnySpace, typename T, std::size_t N>
void load(Wave& wave, const Instruction& instruction) {
  const AnySpace space(wave, instruction, 1, 2);
  announce(wave, instruction, space, AccessKind::read, sizeof(T), N);
  std::array<Lanes, N> values;
  for_active_lanes(wave, [&](std::size_t lane) {
    const std::array<T, N> read = read_values<T, N>(space, lane);
    for (std::size_t k = 0; k < N; ++k) values[k][lane] = extended(read[k]);
  });
  for (std::size_t k = 0; k < N; ++k) write_lanes(wave, instruction.operands[0], k, values[k]);
}

/// One value of type T, extended to 16 bits, into one half of D. The other half becomes 0, as it does where registers
/// have ECC, which both generations' do: AMD CDNA4 ISA, 9.1.6 "16-bit Memory Operations".
template <typename AnySpace, typename T, bool High>
void load_half(Wave& wave, const Instruction& instruction) {
  const AnySpace space(wave, instruction, 1, 2);
  announce(wave, instruction, space, AccessKind::read, sizeof(T));
  Lanes values;
  for_active_lanes(wave, [&](std::size_t lane) {
    const std::uint32_t half = extended(read_values<T, 1>(space, lane)[0]) & 0xFFFFU;
    values[lane] = High ? half << 16 : half;
  });
  write_lanes(wave, instruction.operands[0], 0, values);
}

/// N values of type T, the low bits of the registers, or with `Shift` those from there on.
template <typename AnySpace, typename T, std::size_t N, int Shift = 0>
void store(Wave& wave, const Instruction& instruction) {
  constexpr std::size_t kAddress = AnySpace::kStoreAddress;
  const AnySpace space(wave, instruction, kAddress, 2);
  announce(wave, instruction, space, AccessKind::write, sizeof(T), N);
  std::array<const Lanes*, N> rows;
  for (std::size_t k = 0; k < N; ++k) rows[k] = &vector_row(wave, instruction.operands[1 - kAddress], k);
  for_active_lanes(wave, [&](std::size_t lane) {
    std::array<T, N> written;
    for (std::size_t k = 0; k < N; ++k) written[k] = static_cast<T>((*rows[k])[lane] >> Shift);
    const std::size_t bytes = sizeof(T) * elements_in_range(space, lane, sizeof(T), N);
    if (bytes > 0) std::memcpy(space.at(lane, bytes), written.data(), bytes);
  });
}

}  // namespace octet::sim
