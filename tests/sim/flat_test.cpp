// Flat instructions, whose lanes reach global memory, LDS and scratch by one address.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "sim/diary.h"
#include "sim/one_wave.h"

namespace octet::sim {
namespace {

/// v[0:1] of lane L points 16 L bytes (scratch: 4 (L / 3 % 8)) into global memory, LDS or scratch, by L % 3.
class FlatTest : public testing::Test {
 protected:
  FlatTest() : address_(one_.memory.allocate(kBytes, "data")) {
    for (u32 i = 0; i < kBytes; ++i) {
      bytes()[i] = static_cast<std::byte>(i * 37 + i / 256);
      one_.lds[i] = static_cast<std::byte>(i * 73 + i / 256);
    }
    for (u32 i = 0; i < one_.scratch.size(); ++i) one_.scratch[i] = static_cast<std::byte>(i * 91 + i / 256);
    one_.run("s_mov_b64 s[0:1], src_shared_base");
    one_.run("s_mov_b64 s[2:3], src_private_base");
    for (u32 lane = 0; lane < kLanes; ++lane) {
      const u64 base = lane % 3 == 0 ? address_ : one_.s64(lane % 3 == 1 ? 0 : 2);
      point(lane, base + offset(lane));
    }
  }
  void point(u32 lane, u64 address) {
    one_.v(0)[lane] = static_cast<u32>(address);
    one_.v(1)[lane] = static_cast<u32>(address >> 32);
  }
  [[nodiscard]] static u32 offset(u32 lane) { return lane % 3 == 2 ? lane / 3 % 8 * 4 : lane * 16; }
  [[nodiscard]] std::byte* bytes() { return one_.memory.translate(address_, kBytes); }
  /// Where lane's pointer leads.
  [[nodiscard]] std::byte* host(u32 lane) {
    if (lane % 3 == 0) return bytes() + offset(lane);
    if (lane % 3 == 1) return one_.lds.data() + offset(lane);
    return one_.scratch.data() + lane * OneWave::kScratchBytes + offset(lane);
  }
  template <typename T>
  [[nodiscard]] T at(u32 lane, u32 behind = 0) {
    T value;
    std::memcpy(&value, host(lane) + behind, sizeof(T));
    return value;
  }
  static constexpr u32 kBytes = 2048;
  OneWave one_;
  u64 address_;
};

TEST_F(FlatTest, LoadsFromAllThree) {
  one_.run("flat_load_dwordx4 v[4:7], v[0:1]");
  one_.run("flat_load_dwordx3 v[8:10], v[0:1] offset:4");
  one_.run("flat_load_dwordx2 v[12:13], v[0:1] offset:4 sc0 sc1");
  one_.run("flat_load_sbyte v14, v[0:1] offset:3");
  one_.run("flat_load_sshort v15, v[0:1] offset:2");
  one_.run("flat_load_ubyte v16, v[0:1] offset:3");
  one_.run("flat_load_short_d16_hi v17, v[0:1] offset:2");
  for (u32 lane = 0; lane < kLanes; ++lane) {
    for (u32 k = 0; k < 4; ++k) ASSERT_EQ(one_.v(4 + k)[lane], at<u32>(lane, 4 * k)) << lane;
    for (u32 k = 0; k < 3; ++k) ASSERT_EQ(one_.v(8 + k)[lane], at<u32>(lane, 4 + 4 * k)) << lane;
    for (u32 k = 0; k < 2; ++k) ASSERT_EQ(one_.v(12 + k)[lane], at<u32>(lane, 4 + 4 * k)) << lane;
    ASSERT_EQ(one_.v(14)[lane], static_cast<u32>(at<std::int8_t>(lane, 3)));
    ASSERT_EQ(one_.v(15)[lane], static_cast<u32>(at<std::int16_t>(lane, 2)));
    ASSERT_EQ(one_.v(16)[lane], at<std::uint8_t>(lane, 3));
    ASSERT_EQ(one_.v(17)[lane], u32{at<std::uint16_t>(lane, 2)} << 16);
  }
}

TEST_F(FlatTest, StoresToAllThree) {
  for (u32 lane = 0; lane < kLanes; ++lane) {
    for (u32 k = 0; k < 3; ++k) one_.v(4 + k)[lane] = lane * 0x0101'0101 + k;
  }
  one_.run("flat_store_dwordx3 v[0:1], v[4:6]");
  one_.run("flat_store_short_d16_hi v[0:1], v4 offset:14");
  one_.run("flat_store_byte v[0:1], v4 offset:12");
  for (u32 lane = 0; lane < kLanes; ++lane) {
    for (u32 k = 0; k < 3; ++k) ASSERT_EQ(at<u32>(lane, 4 * k), lane * 0x0101'0101 + k) << lane;
    ASSERT_EQ(at<std::uint16_t>(lane, 14), lane * 0x0101);
    ASSERT_EQ(at<std::uint8_t>(lane, 12), lane);
  }
}

TEST_F(FlatTest, AtomicsOnGlobalMemoryAndLds) {
  const std::string message = failure_of([&] { one_.run("flat_atomic_add v[0:1], v4"); });
  EXPECT_NE(message.find("lane 2 updates scratch"), std::string::npos) << message;
  u64 with_atomics = 0;
  for (u32 lane = 0; lane < kLanes; ++lane) with_atomics |= lane % 3 == 2 ? 0 : u64{1} << lane;
  one_.set_exec(with_atomics);
  one_.v(4).fill(1000);
  std::vector<u32> before(kLanes);
  for (u32 lane = 0; lane < kLanes; ++lane) before[lane] = at<u32>(lane);
  one_.run("flat_atomic_sub v5, v[0:1], v4 sc0");
  one_.run("flat_atomic_sub v[0:1], v4");
  for (u32 lane = 0; lane < kLanes; ++lane) {
    if (lane % 3 == 2) continue;
    ASSERT_EQ(one_.v(5)[lane], before[lane]);
    ASSERT_EQ(at<u32>(lane), before[lane] - 2000);
  }
}

TEST_F(FlatTest, AMissNamesTheMemory) {
  const auto miss = [&](u32 lane, u64 address) {
    one_.set_exec(u64{1} << lane);
    point(lane, address);
    return failure_of([&] { one_.run("flat_load_dword v4, v[0:1]"); });
  };
  EXPECT_NE(miss(3, 0).find("lane 3 accesses 4 bytes at 0x0: in no live allocation"), std::string::npos);
  EXPECT_NE(miss(4, one_.s64(0) + 4094).find("at 0xffe of the workgroup's 4096 bytes of LDS"), std::string::npos);
  EXPECT_NE(miss(5, one_.s64(2) + 64).find("at 0x40 of its 64 bytes of scratch"), std::string::npos);
  EXPECT_NE(miss(6, one_.s64(0) + (u64{1} << 32)).find("in no live allocation"), std::string::npos);
}

TEST_F(FlatTest, WhoWatchesIsToldOfEachMemoryApart) {
  Diary diary;
  one_.wave.listener = &diary;
  one_.set_exec(0x1F);
  one_.run("flat_load_dwordx2 v[8:9], v[0:1] offset:4");
  const std::vector<Diary::Entry> expected{{Space::global, AccessKind::read, 8, 0b01001, 0},
                                           {Space::lds, AccessKind::read, 8, 0b10010, 20},
                                           {Space::scratch, AccessKind::read, 8, 0b00100, 0}};
  EXPECT_EQ(diary.entries, expected);
}

}  // namespace
}  // namespace octet::sim
