// LDS without a VGPR for the address, and without one for the data: loads of memory that go into it, slots by the
// lane's number; and reads of it that transpose.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "sim/diary.h"
#include "sim/one_wave.h"

namespace octet::sim {
namespace {

std::byte pattern(u32 i) {
  return static_cast<std::byte>(i * 37 + i / 256 * 11);
}

/// v[0:1] points 20 bytes for each lane into an allocation, v2 is that offset; s[4:7] is a resource for half of it.
class LdsLoadsTest : public testing::Test {
 protected:
  LdsLoadsTest() : address_(one_.memory.allocate(kBytes, "data")) {
    for (u32 i = 0; i < kBytes; ++i) bytes()[i] = pattern(i);
    for (u32 lane = 0; lane < kLanes; ++lane) {
      const u64 at = address_ + 20 * lane;
      one_.v(0)[lane] = static_cast<u32>(at);
      one_.v(1)[lane] = static_cast<u32>(at >> 32);
      one_.v(2)[lane] = 20 * lane;
    }
    one_.set_s64(8, address_);
    one_.set_s64(4, address_);
    one_.s(6) = kBytes / 2;
    one_.s(7) = 0x0002'0000;
    one_.s(kM0) = kFirst;
  }
  [[nodiscard]] std::byte* bytes() { return one_.memory.translate(address_, kBytes); }

  /// Runs the instruction on LDS full of 0xEE, in even lanes, and compares all of LDS: `count` bytes from the lane's 20
  /// on plus `offset`, in the lane's slot of `pitch` bytes from M0 plus `offset` on, filled up to `filled` bytes with
  /// `fill`. From `range` on memory reads 0.
  void expect(const std::string& text, u32 count, u32 pitch, u32 filled, int fill = 0, u32 offset = 0,
              u32 range = kBytes) {
    std::fill(one_.lds.begin(), one_.lds.end(), std::byte{0xEE});
    std::vector<std::byte> expected = one_.lds;
    one_.set_exec(0x5555'5555'5555'5555);
    one_.run(text, Generation::cdna4);
    for (u32 lane = 0; lane < kLanes; lane += 2) {
      const u32 slot = kFirst + offset + pitch * lane;
      for (u32 k = 0; k < filled; ++k) {
        const u32 from = 20 * lane + offset + k;
        expected[slot + k] = k >= count ? static_cast<std::byte>(fill) : from < range ? pattern(from) : std::byte{0};
      }
    }
    EXPECT_TRUE(one_.lds == expected) << text;
  }

  static constexpr u32 kBytes = 2048;
  static constexpr u32 kFirst = 512;
  OneWave one_;
  u64 address_;
};

TEST_F(LdsLoadsTest, FromGlobalMemory) {
  expect("global_load_lds_dword v[0:1], off", 4, 4, 4);
  expect("global_load_lds_dword v2, s[8:9] offset:8 sc1", 4, 4, 4, 0, 8);
  expect("global_load_lds_dwordx3 v[0:1], off", 12, 16, 12);
  expect("global_load_lds_dwordx4 v[0:1], off offset:16", 16, 16, 16, 0, 16);
  expect("global_load_lds_ubyte v[0:1], off", 1, 4, 4);
  expect("global_load_lds_ushort v[0:1], off", 2, 4, 4);
}

TEST_F(LdsLoadsTest, NarrowOnesAreExtended) {
  bytes()[0] = std::byte{0x80};
  bytes()[1] = std::byte{0x90};
  const auto first_slot = [&](const std::string& text) {
    one_.run(text);
    u32 slot = 0;
    std::memcpy(&slot, one_.lds.data() + kFirst, 4);
    return slot;
  };
  EXPECT_EQ(first_slot("global_load_lds_ubyte v[0:1], off"), 0x80U);
  EXPECT_EQ(first_slot("global_load_lds_sbyte v[0:1], off"), 0xFFFF'FF80U);
  EXPECT_EQ(first_slot("global_load_lds_ushort v[0:1], off"), 0x9080U);
  EXPECT_EQ(first_slot("global_load_lds_sshort v[0:1], off"), 0xFFFF'9080U);
}

TEST_F(LdsLoadsTest, FromBuffersWhoseEndReadsZero) {
  expect("buffer_load_dword v2, s[4:7], 0 offen lds", 4, 4, 4, 0, 0, kBytes / 2);
  expect("buffer_load_dword v2, s[4:7], 0 offen offset:12 lds", 4, 4, 4, 0, 12, kBytes / 2);
  expect("buffer_load_dwordx4 v2, s[4:7], 0 offen lds", 16, 16, 16, 0, 0, kBytes / 2);
  expect("buffer_load_dwordx3 v2, s[4:7], 0 offen lds", 12, 16, 12, 0, 0, kBytes / 2);
  expect("buffer_load_ushort v2, s[4:7], 0 offen lds", 2, 4, 4, 0, 0, kBytes / 2);
}

TEST_F(LdsLoadsTest, FromScratch) {
  for (u32 i = 0; i < one_.scratch.size(); ++i) one_.scratch[i] = pattern(i);
  one_.run("scratch_load_lds_dword off, off offset:8");
  for (u32 lane = 0; lane < kLanes; ++lane) {
    for (u32 k = 0; k < 4; ++k) {
      ASSERT_EQ(one_.lds[kFirst + 8 + 4 * lane + k], pattern(lane * OneWave::kScratchBytes + 8 + k)) << lane;
    }
  }
}

TEST_F(LdsLoadsTest, WideOnesAreOfCdna4) {
  for (const char* text : {"global_load_lds_dwordx4 v[0:1], off", "buffer_load_dwordx3 v2, s[4:7], 0 offen lds",
                           "ds_read_b64_tr_b8 v[4:5], v2"}) {
    EXPECT_NE(failure_of([&] { one_.run(text, Generation::cdna3); }).find("not implemented"), std::string::npos);
  }
}

TEST_F(LdsLoadsTest, WhatLeavesLdsIsFound) {
  one_.s(kM0) = 4096 - 8;
  EXPECT_NE(
      failure_of([&] { one_.run("global_load_lds_dword v[0:1], off"); }).find("lane 2 accesses 4 bytes at 0x1000"),
      std::string::npos);
  one_.s(kM0) = 6;
  EXPECT_NE(failure_of([&] { one_.run("global_load_lds_dword v[0:1], off"); }).find("no multiple of 4"),
            std::string::npos);
}

TEST_F(LdsLoadsTest, WhoWatchesIsToldOfBothSides) {
  Diary diary;
  one_.wave.listener = &diary;
  one_.set_exec(6);
  one_.run("global_load_lds_ushort v[0:1], off offset:4");
  one_.run("global_load_lds_dwordx3 v[0:1], off", Generation::cdna4);
  const std::vector<Diary::Entry> expected{{Space::global, AccessKind::read, 2, 6, address_ + 24},
                                           {Space::lds, AccessKind::write, 4, 6, kFirst + 8},
                                           {Space::global, AccessKind::read, 12, 6, address_ + 20},
                                           {Space::lds, AccessKind::write, 12, 6, kFirst + 16}};
  EXPECT_EQ(diary.entries, expected);
}

TEST_F(LdsLoadsTest, SlotsByTheLanesNumber) {
  for (u32 lane = 0; lane < kLanes; ++lane) one_.v(4)[lane] = 1000 + lane;
  one_.run("ds_write_addtid_b32 v4 offset:16");
  u32 last = 0;
  std::memcpy(&last, one_.lds.data() + kFirst + 16 + 4 * 63, 4);
  EXPECT_EQ(last, 1063U);
  one_.run("ds_read_addtid_b32 v5 offset:12");
  EXPECT_EQ(one_.v(5)[0], 0U);
  EXPECT_EQ(one_.v(5)[1], 1000U);
  EXPECT_EQ(one_.v(5)[63], 1062U);
}

/// So many bits from that one on.
u32 bits_of(const std::vector<std::byte>& bytes, u32 first, u32 count) {
  u32 value = 0;
  for (u32 bit = 0; bit < count; ++bit) {
    const u32 place = first + bit;
    value |= (std::to_integer<u32>(bytes[place / 8]) >> place % 8 & 1U) << bit;
  }
  return value;
}

/// Four groups of 16 lanes read a matrix of 64 columns, each 16 of them: a lane gives the address of its part of a row,
/// and gets a column.
TEST_F(LdsLoadsTest, TransposedReads) {
  struct Case {
    std::string text;
    u32 width, rows, lanes_in_row, group_bytes;
  };
  const std::vector<Case> cases{{"ds_read_b64_tr_b16 v[4:5], v3", 16, 4, 4, 32},
                                {"ds_read_b64_tr_b8 v[4:5], v3", 8, 8, 2, 16},
                                {"ds_read_b64_tr_b4 v[4:5], v3", 4, 16, 1, 8},
                                {"ds_read_b96_tr_b6 v[4:6], v3", 6, 16, 1, 16}};  // of which 12 are read
  for (u32 i = 0; i < one_.lds.size(); ++i) one_.lds[i] = pattern(i * 7 + 3);
  for (const Case& each : cases) {
    const u32 pitch = 4 * each.group_bytes;
    for (u32 lane = 0; lane < kLanes; ++lane) {
      const u32 row = lane % 16 / each.lanes_in_row;
      const u32 part = lane % each.lanes_in_row;
      one_.v(3)[lane] = row * pitch + lane / 16 * each.group_bytes + part * 8;
    }
    one_.run(each.text + " offset:16", Generation::cdna4);
    for (u32 lane = 0; lane < kLanes; ++lane) {
      const std::array<u32, 3> registers{one_.v(4)[lane], one_.v(5)[lane], one_.v(6)[lane]};
      std::vector<std::byte> got(sizeof(registers));
      std::memcpy(got.data(), registers.data(), got.size());
      for (u32 row = 0; row < each.rows; ++row) {
        const u32 first_byte = 16 + row * pitch + lane / 16 * each.group_bytes;
        ASSERT_EQ(bits_of(got, row * each.width, each.width),
                  bits_of(one_.lds, 8 * first_byte + lane % 16 * each.width, each.width))
            << each.text << ", lane " << lane << ", row " << row;
      }
    }
  }
}

TEST_F(LdsLoadsTest, TransposedReadsNeedAllLanesAndAlignment) {
  one_.v(3).fill(16);
  one_.v(3)[9] = 20;
  EXPECT_NE(failure_of([&] {
              one_.run("ds_read_b64_tr_b4 v[4:5], v3", Generation::cdna4);
            }).find("lane 9 reads 8 bytes at 0x14, which is not aligned to 8"),
            std::string::npos);
  one_.v(3)[9] = 24;
  one_.run("ds_read_b64_tr_b4 v[4:5], v3", Generation::cdna4);
  EXPECT_NE(failure_of([&] {
              one_.run("ds_read_b96_tr_b6 v[4:6], v3", Generation::cdna4);
            }).find("lane 9 reads 12 bytes at 0x18, which is not aligned to 16"),
            std::string::npos);
  one_.set_exec(kAllLanes >> 1);
  EXPECT_NE(failure_of([&] {
              one_.run("ds_read_b64_tr_b4 v[4:5], v3", Generation::cdna4);
            }).find("EXEC does not name all 64"),
            std::string::npos);
}

}  // namespace
}  // namespace octet::sim
