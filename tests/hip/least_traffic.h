// What tests of traffic ask of an op: the bytes that it must move, in as few segments of memory, 16 bytes a lane.
#pragma once

#include <fmt/format.h>

#include "hip/counted_fixture.h"

namespace octet::test {

inline constexpr double kMoreThanLeast = 1.05;
/// The share of factors, which are a few bytes for each row or column: scales, maxima, indices and weights of rows.
inline constexpr double kNarrow = 0.04;

/// Counts of an op against what it must move, and what it is known to read again out of a cache. Row codes leave as 8
/// bytes a lane, side by side.
template <typename Op>
void expect_least_traffic(CountedGpu& gpu, const Op& op, std::string_view what, double read_again = 0) {
  const LaunchTotals totals = gpu.run(op);
  const std::string who = fmt::format("{} ({})", Op::name, what);
  const double least = op.bytes() + read_again;
  EXPECT_EQ(totals.launches, 1) << who;
  EXPECT_GE(static_cast<double>(totals.bytes), 0.99 * op.bytes()) << who;
  EXPECT_LE(static_cast<double>(totals.bytes), kMoreThanLeast * least) << who;
  EXPECT_LE(static_cast<double>(totals.segments_64), kMoreThanLeast * static_cast<double>(totals.least_segments_64))
      << who;
  EXPECT_EQ(totals.atomics + totals.cache_maintenance, 0U) << who;
  const auto narrow = [](const auto& by_width, std::uint32_t width) {
    double bytes = 0;
    for (const auto& [each, moved] : by_width) bytes += each < width ? static_cast<double>(moved) : 0.0;
    return bytes;
  };
  EXPECT_LE(narrow(totals.loaded, 16), kNarrow * least) << who << ": loads of less than 16 bytes";
  EXPECT_LE(narrow(totals.stored, 8), kNarrow * least) << who << ": stores of less than 8 bytes";
}

}  // namespace octet::test
