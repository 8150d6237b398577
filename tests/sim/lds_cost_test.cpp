// Bank conflicts: the groups of lanes against tables written out, and kernels with strides worked out by hand.
#include "sim/counters/lds_cost.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "sim/counters/access_counts.h"
#include "sim/gpu.h"

namespace octet::sim {
namespace {

LdsCost cost_at(const std::vector<std::pair<u32, u64>>& lanes, u32 bytes, AccessKind kind, Generation generation,
                Space space = Space::lds) {
  const Instruction instruction;
  Access access{instruction, space, kind, bytes, 0, 0};
  for (const auto& [lane, address] : lanes) {
    access.lanes |= u64{1} << lane;
    access.addresses[lane] = address;
  }
  return lds_cost(access, generation);
}

/// A group of lanes that are served together: ranges, both ends included.
using Group = std::vector<std::pair<u32, u32>>;

bool has(const Group& group, u32 lane) {
  for (const auto& [first, last] : group) {
    if (lane >= first && lane <= last) return true;
  }
  return false;
}

/// Two lanes at different dwords of the same bank conflict where a group has both, and only there.
void expect_groups(const std::vector<Group>& groups, u32 bytes, AccessKind kind, Generation generation) {
  constexpr u64 kSameBank = 256;  // of 32 and of 64
  for (u32 a = 0; a < 64; ++a) {
    for (u32 b = a + 1; b < 64; ++b) {
      bool together = false;
      for (const Group& group : groups) together = together || (has(group, a) && has(group, b));
      const LdsCost cost = cost_at({{a, 0}, {b, kSameBank}}, bytes, kind, generation);
      ASSERT_EQ(cost, (LdsCost{1, 2 * bytes, together ? 1U : 2U, together ? 1U : 0U})) << a << " and " << b;
    }
  }
}

TEST(LdsCostTest, LanesAreServedInGroups) {
  const std::vector<Group> halves{{{0, 31}}, {{32, 63}}};
  const std::vector<Group> quarters{{{0, 15}}, {{16, 31}}, {{32, 47}}, {{48, 63}}};
  const std::vector<Group> eighths{{{0, 7}},   {{8, 15}},  {{16, 23}}, {{24, 31}},
                                   {{32, 39}}, {{40, 47}}, {{48, 55}}, {{56, 63}}};
  const std::vector<Group> pairs{{{0, 3}, {20, 23}},   {{4, 7}, {16, 19}},   {{8, 11}, {28, 31}},
                                 {{12, 15}, {24, 27}}, {{32, 35}, {52, 55}}, {{36, 39}, {48, 51}},
                                 {{40, 43}, {60, 63}}, {{44, 47}, {56, 59}}};
  const std::vector<Group> fours{{{0, 3}, {12, 15}, {20, 27}},
                                 {{4, 11}, {16, 19}, {28, 31}},
                                 {{32, 35}, {44, 47}, {52, 59}},
                                 {{36, 43}, {48, 51}, {60, 63}}};
  for (const Generation generation : {kCdna3, kCdna4}) {
    for (const AccessKind kind : {AccessKind::read, AccessKind::write, AccessKind::update}) {
      for (const u32 bytes : {1U, 2U, 4U}) expect_groups(halves, bytes, kind, generation);
    }
    expect_groups(quarters, 8, AccessKind::write, generation);
    expect_groups(quarters, 8, AccessKind::update, generation);
    expect_groups(eighths, 12, AccessKind::write, generation);
    expect_groups(eighths, 16, AccessKind::write, generation);
    expect_groups(pairs, 12, AccessKind::read, generation);
  }
  expect_groups(quarters, 8, AccessKind::read, kCdna3);
  expect_groups(halves, 8, AccessKind::read, kCdna4);
  expect_groups(pairs, 16, AccessKind::read, kCdna3);
  expect_groups(fours, 16, AccessKind::read, kCdna4);
}

TEST(LdsCostTest, BanksSharedDwordsAndSpaces) {
  using enum AccessKind;
  EXPECT_EQ(cost_at({{0, 0}, {1, 128}}, 4, read, kCdna4), (LdsCost{1, 8, 1, 1}));
  EXPECT_EQ(cost_at({{0, 0}, {1, 128}}, 8, read, kCdna3), (LdsCost{1, 16, 1, 1}));
  EXPECT_EQ(cost_at({{0, 0}, {1, 128}}, 8, read, kCdna4), (LdsCost{1, 16, 1, 0}));
  EXPECT_EQ(cost_at({{0, 0}, {1, 128}}, 8, write, kCdna4), (LdsCost{1, 16, 1, 1}));
  EXPECT_EQ(cost_at({{0, 0}, {1, 128}}, 16, read, kCdna4), (LdsCost{1, 32, 1, 0}));
  EXPECT_EQ(cost_at({{0, 4}, {1, 4}, {2, 5}, {3, 7}}, 1, read, kCdna3), (LdsCost{1, 4, 1, 0}));
  EXPECT_EQ(cost_at({{0, 4}, {1, 4}, {2, 4}}, 4, read, kCdna3), (LdsCost{1, 12, 1, 0}));
  EXPECT_EQ(cost_at({{0, 4}, {1, 4}, {2, 4}}, 4, update, kCdna3), (LdsCost{1, 12, 1, 2}));
  EXPECT_EQ(cost_at({{0, 2}, {1, 128}}, 4, read, kCdna3), (LdsCost{1, 8, 1, 1}));  // reaches into bank 1 as well
  EXPECT_EQ(cost_at({{0, 0}}, 4, read, kCdna3, Space::scratch), LdsCost{});
  EXPECT_EQ(cost_at({}, 4, read, kCdna3), LdsCost{});
}

struct Strided {
  const char* kernel;
  u32 bytes;
  u32 pitch;  ///< in values
  Generation generation;
  u64 write_cycles, write_conflicts, read_cycles, read_conflicts;
};

TEST(LdsCostTest, StridesOfKernels) {
  for (const Strided& strided : std::vector<Strided>{{"exchange_b32", 4, 1, kCdna3, 2, 0, 2, 0},
                                                     {"exchange_b32", 4, 2, kCdna3, 2, 2, 2, 2},
                                                     {"exchange_b32", 4, 32, kCdna3, 2, 62, 2, 62},
                                                     {"exchange_b32", 4, 33, kCdna3, 2, 0, 2, 0},
                                                     {"exchange_b32", 4, 32, kCdna4, 2, 62, 2, 62},
                                                     {"exchange_b64", 8, 1, kCdna3, 4, 0, 4, 0},
                                                     {"exchange_b64", 8, 2, kCdna3, 4, 4, 4, 4},
                                                     {"exchange_b64", 8, 16, kCdna3, 4, 60, 4, 60},
                                                     {"exchange_b64", 8, 17, kCdna3, 4, 0, 4, 0},
                                                     {"exchange_b64", 8, 1, kCdna4, 4, 0, 2, 0},
                                                     {"exchange_b64", 8, 16, kCdna4, 4, 60, 2, 30},
                                                     {"exchange_b128", 16, 1, kCdna3, 8, 0, 8, 0},
                                                     {"exchange_b128", 16, 2, kCdna3, 8, 8, 8, 8},
                                                     {"exchange_b128", 16, 8, kCdna3, 8, 56, 8, 56},
                                                     {"exchange_b128", 16, 9, kCdna3, 8, 0, 8, 0},
                                                     {"exchange_b128", 16, 1, kCdna4, 8, 0, 4, 0},
                                                     {"exchange_b128", 16, 2, kCdna4, 8, 8, 4, 4},
                                                     {"exchange_b128", 16, 8, kCdna4, 8, 56, 4, 28}}) {
    Gpu gpu("counting", strided.generation);
    const AccessCounter counter(gpu.program(), 2);
    gpu.listen(counter.listeners());
    const u64 out = gpu.upload(std::vector<u32>(std::size_t{16} * strided.bytes), "out");
    gpu.launch(strided.kernel, {{3, 1, 1}, {64, 1, 1}, 0}, out, strided.pitch);
    const ByKind<LdsCost> lds = counter.total().lds;
    const u64 bytes = u64{3} * 64 * strided.bytes;
    const std::string where = std::string(strided.kernel) + " with pitch " + std::to_string(strided.pitch);
    EXPECT_EQ(lds.write, (LdsCost{3, bytes, 3 * strided.write_cycles, 3 * strided.write_conflicts})) << where;
    EXPECT_EQ(lds.read, (LdsCost{3, bytes, 3 * strided.read_cycles, 3 * strided.read_conflicts})) << where;
    EXPECT_EQ(lds.update, LdsCost{}) << where;
    EXPECT_EQ(gpu.download<u32>(out, 1).front(), 1U) << where;  // lane 0 has what lane 1 wrote
  }
}

}  // namespace
}  // namespace octet::sim
