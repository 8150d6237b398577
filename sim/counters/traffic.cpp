#include "sim/counters/traffic.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>

namespace octet::sim {
namespace {

struct Ranges {
  std::uint64_t bytes = 0;  ///< distinct
  std::uint64_t segments_64 = 0;
  std::uint64_t segments_128 = 0;
};

/// Walks over the ranges [begin, begin + size) of lanes in the order of their addresses.
Ranges measure(const Access& access) {
  std::array<std::uint64_t, 64> sorted;
  std::size_t count = 0;
  for (std::uint64_t rest = access.lanes; rest != 0; rest &= rest - 1) {
    sorted[count++] = access.addresses[static_cast<std::size_t>(std::countr_zero(rest))];
  }
  std::sort(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(count));
  Ranges ranges;
  std::uint64_t end = 0;  // of what has been counted
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t begin = std::max(sorted[i], end);
    const std::uint64_t new_end = sorted[i] + access.bytes;
    if (new_end <= begin) continue;
    ranges.bytes += new_end - begin;
    const auto new_segments = [&](std::uint64_t size) {
      const std::uint64_t first = begin / size;
      const bool counted = end != 0 && (end - 1) / size == first;
      return (new_end - 1) / size - first + (counted ? 0 : 1);
    };
    ranges.segments_64 += new_segments(64);
    ranges.segments_128 += new_segments(128);
    end = new_end;
  }
  return ranges;
}

double share(std::uint64_t least, std::uint64_t touched) {
  return touched == 0 ? 1 : static_cast<double>(least) / static_cast<double>(touched);
}

}  // namespace

double Traffic::share_64() const {
  return share(least_segments_64, segments_64);
}

double Traffic::share_128() const {
  return share(least_segments_128, segments_128);
}

Traffic& Traffic::operator+=(const Traffic& other) {
  accesses += other.accesses;
  bytes += other.bytes;
  segments_64 += other.segments_64;
  segments_128 += other.segments_128;
  least_segments_64 += other.least_segments_64;
  least_segments_128 += other.least_segments_128;
  return *this;
}

Traffic traffic_of(const Access& access) {
  if (access.space != Space::global || access.lanes == 0) return {};
  const Ranges ranges = measure(access);
  return {
      1, ranges.bytes, ranges.segments_64, ranges.segments_128, (ranges.bytes + 63) / 64, (ranges.bytes + 127) / 128};
}

}  // namespace octet::sim
