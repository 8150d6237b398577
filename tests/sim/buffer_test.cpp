// Buffer instructions: where a resource, an index and offsets lead, and what happens out of its range.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "sim/diary.h"
#include "sim/one_wave.h"

namespace octet::sim {
namespace {

/// s[4:7] names the first `kRecords` bytes of an allocation, v0 holds 16 bytes for each lane from lane 0 on.
class BufferTest : public testing::Test {
 protected:
  BufferTest() : address_(one_.memory.allocate(kBytes, "data")) {
    for (u32 i = 0; i < kBytes; ++i) bytes()[i] = static_cast<std::byte>(i * 37 + i / 256);
    describe(0, kRecords);
    for (u32 lane = 0; lane < kLanes; ++lane) one_.v(0)[lane] = 16 * lane;
  }
  void describe(u32 stride, u32 records, u32 flags = 0x0002'0000) {
    one_.s(4) = static_cast<u32>(address_);
    one_.s(5) = static_cast<u32>(address_ >> 32) | stride << 16;
    one_.s(6) = records;
    one_.s(7) = flags;
  }
  [[nodiscard]] std::byte* bytes() { return one_.memory.translate(address_, kBytes); }
  template <typename T>
  [[nodiscard]] T at(u64 offset) {
    T value;
    std::memcpy(&value, bytes() + offset, sizeof(T));
    return value;
  }
  static constexpr u32 kBytes = 2048;
  static constexpr u32 kRecords = 1024;
  OneWave one_;
  u64 address_;
};

TEST_F(BufferTest, LoadsOfAllWidths) {
  one_.s(8) = 20;
  one_.run("buffer_load_dwordx4 v[4:7], v0, s[4:7], 0 offen");
  one_.run("buffer_load_dwordx3 v[8:10], v0, s[4:7], 4 offen");
  one_.run("buffer_load_dwordx2 v[12:13], v0, s[4:7], 0 offen offset:8");
  one_.run("buffer_load_dword v14, off, s[4:7], s8 offset:100 nt");
  one_.run("buffer_load_ubyte v15, v0, s[4:7], 0 offen offset:3");
  one_.run("buffer_load_sbyte v16, v0, s[4:7], 0 offen offset:3");
  one_.run("buffer_load_ushort v17, v0, s[4:7], 0 offen offset:6");
  one_.run("buffer_load_sshort v18, v0, s[4:7], 0 offen offset:6");
  for (u32 row = 19; row < 22; ++row) one_.v(row).fill(0x1234'5678);
  one_.run("buffer_load_short_d16 v19, v0, s[4:7], 0 offen");
  one_.run("buffer_load_sbyte_d16_hi v20, v0, s[4:7], 0 offen offset:1");
  one_.run("buffer_load_ubyte_d16 v21, v0, s[4:7], 0 offen offset:1");
  for (u32 lane = 0; lane < kLanes; ++lane) {
    const u64 from = 16 * lane;
    for (u32 k = 0; k < 4; ++k) ASSERT_EQ(one_.v(4 + k)[lane], at<u32>(from + 4 * k));
    for (u32 k = 0; k < 3; ++k) ASSERT_EQ(one_.v(8 + k)[lane], at<u32>(from + 4 + 4 * k));
    for (u32 k = 0; k < 2; ++k) ASSERT_EQ(one_.v(12 + k)[lane], at<u32>(from + 8 + 4 * k));
    ASSERT_EQ(one_.v(14)[lane], at<u32>(120));
    ASSERT_EQ(one_.v(15)[lane], at<std::uint8_t>(from + 3));
    ASSERT_EQ(one_.v(16)[lane], static_cast<u32>(at<std::int8_t>(from + 3)));
    ASSERT_EQ(one_.v(17)[lane], at<std::uint16_t>(from + 6));
    ASSERT_EQ(one_.v(18)[lane], static_cast<u32>(at<std::int16_t>(from + 6)));
    ASSERT_EQ(one_.v(19)[lane], at<std::uint16_t>(from));
    ASSERT_EQ(one_.v(20)[lane], static_cast<u32>(at<std::int8_t>(from + 1)) << 16);
    ASSERT_EQ(one_.v(21)[lane], at<std::uint8_t>(from + 1));
  }
}

TEST_F(BufferTest, AnIndexCountsRecords) {
  describe(24, 40);  // 960 bytes
  for (u32 lane = 0; lane < kLanes; ++lane) {
    one_.v(0)[lane] = 39 - lane % 40;
    one_.v(1)[lane] = lane % 5 * 4;
  }
  one_.s(8) = 8;
  one_.run("buffer_load_dword v4, v0, s[4:7], 0 idxen offset:4");
  one_.run("buffer_load_dword v5, v[0:1], s[4:7], s8 idxen offen");
  for (u32 lane = 0; lane < kLanes; ++lane) {
    ASSERT_EQ(one_.v(4)[lane], at<u32>(24 * (39 - lane % 40) + 4));
    ASSERT_EQ(one_.v(5)[lane], at<u32>(24 * (39 - lane % 40) + lane % 5 * 4 + 8));
  }
}

TEST_F(BufferTest, StoresOfAllWidths) {
  for (u32 row = 1; row < 5; ++row) one_.v(row).fill(0x1111'1111 * row);
  one_.run("buffer_store_dwordx4 v[1:4], v0, s[4:7], 0 offen");
  for (u32 k = 0; k < 4; ++k) EXPECT_EQ(at<u32>(16 * 63 + 4 * k), 0x1111'1111U * (k + 1));
  one_.run("buffer_store_dwordx2 v[3:4], v0, s[4:7], 0 offen");
  one_.v(1).fill(0xAABB'CCDD);
  one_.run("buffer_store_byte v1, v0, s[4:7], 0 offen offset:8");
  one_.run("buffer_store_byte_d16_hi v1, v0, s[4:7], 0 offen offset:9");
  one_.run("buffer_store_short v1, v0, s[4:7], 0 offen offset:10");
  one_.run("buffer_store_short_d16_hi v1, v0, s[4:7], 0 offen offset:12");
  EXPECT_EQ(at<u32>(16 * 5), 0x3333'3333U);
  EXPECT_EQ(at<u32>(16 * 5 + 4), 0x4444'4444U);
  EXPECT_EQ(at<u32>(16 * 5 + 8), 0xCCDD'BBDDU);
  EXPECT_EQ(at<u32>(16 * 5 + 12), 0x4444'AABBU);
}

TEST_F(BufferTest, DwordsOutOfRangeReadZeroAndAreNotWritten) {
  const std::vector<std::byte> before(bytes(), bytes() + kBytes);
  for (u32 lane = 0; lane < kLanes; ++lane) one_.v(0)[lane] = kRecords - 20 + lane;  // to 43 bytes past the end
  one_.v(0)[63] = ~0U;  // which wraps when the offset is added, to a place within
  for (u32 row = 1; row < 5; ++row) one_.v(row).fill(0xEEEE'EEEE);
  one_.run("buffer_load_dwordx4 v[4:7], v0, s[4:7], 0 offen offset:4");
  for (u32 lane = 0; lane < kLanes; ++lane) {
    const u64 from = static_cast<u32>(one_.v(0)[lane] + 4);
    for (u32 k = 0; k < 4; ++k) {
      const bool within = from + 4 * k + 4 <= kRecords;
      ASSERT_EQ(one_.v(4 + k)[lane], within ? at<u32>(from + 4 * k) : 0) << lane << ", dword " << k;
    }
  }
  for (u32 row = 1; row < 5; ++row) one_.v(row).fill(0xEEEE'EEEE);
  one_.set_exec(u64{1} << 8);  // 12 bytes before the end, 8 with the offset
  one_.run("buffer_store_dwordx4 v[1:4], v0, s[4:7], 0 offen offset:4");
  for (u32 i = 0; i < kBytes; ++i) {
    ASSERT_EQ(bytes()[i], i >= kRecords - 8 && i < kRecords ? std::byte{0xEE} : before[i]) << i;
  }
}

TEST_F(BufferTest, TheScalarOffsetCountsForTheRange) {
  one_.s(8) = kRecords - 4;
  one_.run("buffer_load_dword v4, off, s[4:7], s8");
  EXPECT_EQ(one_.v(4)[0], at<u32>(kRecords - 4));
  one_.run("buffer_load_dword v4, off, s[4:7], s8 offset:4");
  EXPECT_EQ(one_.v(4)[0], 0U);
  one_.s(8) = 0xFFFF'FFFC;
  one_.run("buffer_load_dword v4, off, s[4:7], s8 offset:8");  // does not wrap
  EXPECT_EQ(one_.v(4)[0], 0U);
}

TEST_F(BufferTest, RecordsOutOfRangeReadZero) {
  describe(16, 4);
  for (u32 lane = 0; lane < kLanes; ++lane) one_.v(0)[lane] = lane;
  one_.run("buffer_load_dwordx2 v[4:5], v0, s[4:7], 0 idxen offset:32");  // records 2 to 5: only the index counts
  for (u32 lane = 0; lane < kLanes; ++lane) {
    for (u32 k = 0; k < 2; ++k) {
      ASSERT_EQ(one_.v(4 + k)[lane], lane < 4 ? at<u32>(16 * lane + 32 + 4 * k) : 0) << lane;
    }
  }
}

TEST_F(BufferTest, WhatIsWithinRangeMustBeAllocated) {
  describe(0, kBytes + 64);
  one_.set_exec(1);
  one_.v(0).fill(kBytes);
  EXPECT_NE(failure_of([&] { one_.run("buffer_load_dword v4, v0, s[4:7], 0 offen"); }).find("past the end of 'data'"),
            std::string::npos);
}

TEST_F(BufferTest, WhatIsNotModelledIsRefusedByName) {
  describe(16, 64, 0x0082'0000);
  EXPECT_NE(failure_of([&] { one_.run("buffer_load_dword v4, off, s[4:7], 0"); }).find("ADD_TID_ENABLE"),
            std::string::npos);
  describe(0x8010, 64);
  EXPECT_NE(failure_of([&] { one_.run("buffer_load_dword v4, off, s[4:7], 0"); }).find("SWIZZLE_ENABLE"),
            std::string::npos);
  describe(0, kRecords);
  EXPECT_NE(failure_of([&] { one_.run("buffer_load_format_x v4, off, s[4:7], 0"); }).find("not implemented"),
            std::string::npos);
  EXPECT_NE(failure_of([&] { one_.run("global_load_dword v4, v[0:1], off offen"); }).find("not implemented"),
            std::string::npos);
}

TEST_F(BufferTest, AtomicsAreWhollyWithinRangeOrNotAtAll) {
  for (u32 lane = 0; lane < kLanes; ++lane) one_.v(0)[lane] = lane % 2 == 0 ? kRecords - 8 : kRecords;
  describe(0, kRecords + 4);
  const u64 before = at<u64>(kRecords - 8);
  const u64 behind = at<u64>(kRecords);
  one_.v(4).fill(3);
  one_.v(5).fill(0);
  one_.run("buffer_atomic_add_x2 v[4:5], v0, s[4:7], 0 offen");
  EXPECT_EQ(at<u64>(kRecords - 8), before + 32 * 3);
  EXPECT_EQ(at<u64>(kRecords), behind);
  EXPECT_EQ(one_.v(4)[0], 3U);  // nothing is returned
  one_.run("buffer_atomic_add_x2 v[4:5], v0, s[4:7], 0 offen sc0");
  EXPECT_EQ(one_.v(4)[2], static_cast<u32>(before + 32 * 3 + 3));
  EXPECT_EQ(one_.v(5)[2], static_cast<u32>((before + 32 * 3 + 3) >> 32));
  EXPECT_EQ(one_.v(4)[1], 0U);
  EXPECT_EQ(at<u64>(kRecords), behind);
}

TEST_F(BufferTest, WhoWatchesIsToldOfWhatIsWithinRange) {
  Diary diary;
  one_.wave.listener = &diary;
  one_.set_exec(0xF);
  one_.v(0)[0] = 0;
  one_.v(0)[1] = kRecords - 8;
  one_.v(0)[2] = kRecords;
  one_.v(0)[3] = 64;
  one_.run("buffer_load_dwordx4 v[4:7], v0, s[4:7], 0 offen");
  one_.run("buffer_store_byte v4, v0, s[4:7], 0 offen");
  one_.run("buffer_atomic_swap v4, v0, s[4:7], 0 offen");
  const std::vector<Diary::Entry> expected{{Space::global, AccessKind::read, 16, 9, 0},
                                           {Space::global, AccessKind::read, 8, 2, address_ + kRecords - 8},
                                           {Space::global, AccessKind::write, 1, 11, address_ + kRecords - 8},
                                           {Space::global, AccessKind::update, 4, 11, address_ + kRecords - 8}};
  EXPECT_EQ(diary.entries, expected);
}

TEST_F(BufferTest, ScalarLoadsReadZeroBehindTheEnd) {
  one_.s(12) = kRecords - 8;
  one_.run("s_buffer_load_dwordx4 s[16:19], s[4:7], s12");
  EXPECT_EQ(one_.s(16), at<u32>(kRecords - 8));
  EXPECT_EQ(one_.s(17), at<u32>(kRecords - 4));
  EXPECT_EQ(one_.s(18), 0U);
  EXPECT_EQ(one_.s(19), 0U);
  one_.run("s_buffer_load_dword s16, s[4:7], 0x64");
  EXPECT_EQ(one_.s(16), at<u32>(100));
  one_.s(12) = 33;
  one_.run("s_buffer_load_dwordx2 s[16:17], s[4:7], s12 offset:0x10");  // low bits are ignored
  EXPECT_EQ(one_.s(17), at<u32>(52));
  describe(24, 2);
  one_.run("s_buffer_load_dwordx2 s[16:17], s[4:7], 0x2c");
  EXPECT_EQ(one_.s(16), at<u32>(44));
  EXPECT_EQ(one_.s(17), 0U);
}

}  // namespace
}  // namespace octet::sim
