#include "sim/counters/lds_cost.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <initializer_list>
#include <span>

namespace octet::sim {
namespace {

/// Lanes that are served together, as masks.
using Groups = std::span<const std::uint64_t>;

template <std::size_t Count>
constexpr std::array<std::uint64_t, Count> equal_parts() {
  constexpr std::size_t kSize = 64 / Count;
  std::array<std::uint64_t, Count> masks{};
  for (std::size_t part = 0; part < Count; ++part) masks[part] = ((std::uint64_t{1} << kSize) - 1) << (part * kSize);
  return masks;
}

/// Quad q is lanes 4 q to 4 q + 3.
constexpr std::uint64_t quads(std::initializer_list<int> numbers) {
  std::uint64_t mask = 0;
  for (const int number : numbers) mask |= std::uint64_t{15} << (4 * number);
  return mask;
}

constexpr auto kHalves = equal_parts<2>();
constexpr auto kQuarters = equal_parts<4>();
constexpr auto kEighths = equal_parts<8>();
constexpr std::array<std::uint64_t, 8> kPairsOfQuads{quads({0, 5}),  quads({1, 4}),  quads({2, 7}),   quads({3, 6}),
                                                     quads({8, 13}), quads({9, 12}), quads({10, 15}), quads({11, 14})};
constexpr std::array<std::uint64_t, 4> kFourQuads{quads({0, 3, 5, 6}), quads({1, 2, 4, 7}), quads({8, 11, 13, 14}),
                                                  quads({9, 10, 12, 15})};

struct Service {
  std::uint64_t banks;
  Groups groups;
};

Service service(const Access& access, Generation generation) {
  const bool is_read = access.kind == AccessKind::read;
  const bool is_fast_read = is_read && generation == Generation::cdna4;
  if (access.bytes <= 4) return {32, kHalves};
  if (access.bytes <= 8) return is_fast_read ? Service{64, kHalves} : Service{32, kQuarters};
  if (access.bytes == 16 && is_fast_read) return {64, kFourQuads};
  return {32, is_read ? Groups(kPairsOfQuads) : Groups(kEighths)};
}

/// Dwords that the busiest bank has for these lanes.
std::uint64_t busiest_bank(const Access& access, std::uint64_t lanes, std::uint64_t banks) {
  constexpr std::size_t kMost =
      std::size_t{32} * 3;  // 32 lanes of 8 bytes that are not aligned; wider groups are fewer
  std::array<std::uint64_t, kMost> dwords;
  std::size_t count = 0;
  for (; lanes != 0; lanes &= lanes - 1) {
    const std::uint64_t first = access.addresses[static_cast<std::size_t>(std::countr_zero(lanes))];
    const std::uint64_t last = first + access.bytes - 1;
    for (std::uint64_t dword = first / 4; dword <= last / 4; ++dword) dwords[count++] = dword;
  }
  auto* end = dwords.data() + count;
  if (access.kind != AccessKind::update) {
    std::sort(dwords.data(), end);
    end = std::unique(dwords.data(), end);
  }
  std::array<std::uint64_t, 64> of_bank{};
  for (const auto* dword = dwords.data(); dword != end; ++dword) ++of_bank[*dword % banks];
  return *std::max_element(of_bank.begin(), of_bank.end());
}

}  // namespace

LdsCost& LdsCost::operator+=(const LdsCost& other) {
  accesses += other.accesses;
  bytes += other.bytes;
  cycles += other.cycles;
  conflict_cycles += other.conflict_cycles;
  return *this;
}

LdsCost lds_cost(const Access& access, Generation generation) {
  if (access.space != Space::lds || access.lanes == 0) return {};
  LdsCost cost;
  cost.accesses = 1;
  cost.bytes = std::uint64_t{access.bytes} * static_cast<std::uint64_t>(std::popcount(access.lanes));
  const auto [banks, groups] = service(access, generation);
  for (const std::uint64_t group : groups) {
    const std::uint64_t lanes = group & access.lanes;
    if (lanes == 0) continue;
    ++cost.cycles;
    cost.conflict_cycles += busiest_bank(access, lanes, banks) - 1;
  }
  return cost;
}

}  // namespace octet::sim
