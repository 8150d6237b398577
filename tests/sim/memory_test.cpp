// Memory and the instructions that access it: global, scratch, LDS, atomics; and what is said of an access that misses.
#include "sim/memory/memory.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "core/error.h"
#include "sim/diary.h"
#include "sim/one_wave.h"

namespace octet::sim {
namespace {

TEST(MemoryTest, AddressesAreTheSameInEachRunAndApart) {
  Memory memory;
  Memory other;
  const u64 first = memory.allocate(1000, "first");
  const u64 second = memory.allocate(1, "second");
  EXPECT_EQ(other.allocate(1000, "x"), first);
  EXPECT_EQ(other.allocate(1, "y"), second);
  EXPECT_GT(second - first, 1000U + (1U << 20));
  EXPECT_EQ(std::to_integer<int>(*memory.translate(first, 1)), 0xFF);
}

TEST(MemoryTest, SaysWhereAnAccessLies) {
  Memory memory;
  const u64 address = memory.allocate(100, "weights");
  EXPECT_EQ(memory.translate(address + 96, 4), memory.translate(address, 1) + 96);
  EXPECT_NE(
      failure_of([&] { std::ignore = memory.translate(address + 98, 4); }).find("2 bytes past the end of 'weights'"),
      std::string::npos);
  EXPECT_NE(failure_of([&] { std::ignore = memory.translate(address - 8, 4); }).find("in no live allocation"),
            std::string::npos);
  EXPECT_NE(failure_of([&] { std::ignore = memory.translate(address - 3, 4); }).find("begins 3 bytes before 'weights'"),
            std::string::npos);
  EXPECT_THROW(std::ignore = memory.translate(address + 4, ~u64{0}), Failure);
  memory.release(address);
  EXPECT_NE(failure_of([&] { std::ignore = memory.translate(address + 7, 4); }).find("byte 7 of 'weights', which was"),
            std::string::npos);
  EXPECT_NE(failure_of([&] { std::ignore = memory.translate(address + 100, 4); }).find("in no live allocation"),
            std::string::npos);
  EXPECT_THROW(memory.release(address), Failure);
}

TEST(MemoryTest, KnowsWhatWasWrittenAndWhatIsOnlyToBeRead) {
  Memory memory;
  const u64 before = memory.allocate(8, "before");
  memory.track_writes();
  const u64 address = memory.allocate(16, "data");
  EXPECT_EQ(memory.find(before)->written, nullptr);
  const std::vector<std::byte> bytes(3);
  memory.write(address + 1, bytes);
  memory.fill(address + 10, std::byte{7}, 2);
  const std::uint8_t* written = memory.find(address)->written;
  const std::vector<std::uint8_t> expected{0, 1, 1, 1, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0};
  EXPECT_EQ(std::vector<std::uint8_t>(written, written + 16), expected);

  memory.protect(address + 4, 4);
  EXPECT_FALSE(memory.is_protected(address, 4));
  EXPECT_TRUE(memory.is_protected(address, 5));
  EXPECT_TRUE(memory.is_protected(address + 7, 1));
  EXPECT_FALSE(memory.is_protected(address + 8, 8));
  memory.fill(address, std::byte{0}, 16);  // the host may
  memory.release(address);
  EXPECT_FALSE(memory.is_protected(address, 16));
}

TEST(MemoryTest, TheHostsMemoryKeepsItsAddress) {
  std::vector<std::byte> bytes(16);
  Memory memory;
  const u64 address = memory.adopt(bytes, "pinned");
  EXPECT_EQ(memory.translate(address + 3, 1), bytes.data() + 3);
}

/// A wave with an allocation that v[0:1] of each lane points into, 16 bytes apart.
class GlobalTest : public testing::Test {
 protected:
  GlobalTest() : address_(one_.memory.allocate(kBytes, "data")) {
    for (u32 i = 0; i < kBytes; ++i) bytes()[i] = static_cast<std::byte>(i * 37 + i / 256);
    for (u32 lane = 0; lane < kLanes; ++lane) point(lane, address_ + 16 * lane);
  }
  void point(u32 lane, u64 address) {
    one_.v(0)[lane] = static_cast<u32>(address);
    one_.v(1)[lane] = static_cast<u32>(address >> 32);
  }
  [[nodiscard]] std::byte* bytes() { return one_.memory.translate(address_, kBytes); }
  template <typename T>
  [[nodiscard]] T at(u64 offset) {
    T value;
    std::memcpy(&value, bytes() + offset, sizeof(T));
    return value;
  }
  static constexpr u32 kBytes = 1024;
  OneWave one_;
  u64 address_;
};

TEST_F(GlobalTest, Loads) {
  one_.run("global_load_dwordx4 v[4:7], v[0:1], off");
  one_.run("global_load_ubyte v8, v[0:1], off offset:3");
  one_.run("global_load_sbyte v9, v[0:1], off offset:3");
  one_.run("global_load_ushort v10, v[0:1], off offset:5");  // alignment is not asked for
  one_.run("global_load_sshort v11, v[0:1], off offset:6");
  one_.v(12).fill(0x1234'5678);
  one_.run("global_load_short_d16_hi v12, v[0:1], off");
  one_.v(13).fill(0x1234'5678);
  one_.run("global_load_ubyte_d16 v13, v[0:1], off");
  for (u32 lane = 0; lane < kLanes; ++lane) {
    const u64 from = 16 * lane;
    for (u32 k = 0; k < 4; ++k) EXPECT_EQ(one_.v(4 + k)[lane], at<u32>(from + 4 * k));
    EXPECT_EQ(one_.v(8)[lane], at<std::uint8_t>(from + 3));
    EXPECT_EQ(one_.v(9)[lane], static_cast<u32>(at<std::int8_t>(from + 3)));
    EXPECT_EQ(one_.v(10)[lane], at<std::uint16_t>(from + 5));
    EXPECT_EQ(one_.v(11)[lane], static_cast<u32>(at<std::int16_t>(from + 6)));
    EXPECT_EQ(one_.v(12)[lane], u32{at<std::uint16_t>(from)} << 16);
    EXPECT_EQ(one_.v(13)[lane], at<std::uint8_t>(from));
  }
}

TEST_F(GlobalTest, AScalarAddressPlusALanesOffset) {
  one_.set_s64(2, address_);
  for (u32 lane = 0; lane < kLanes; ++lane) one_.v(4)[lane] = 4 * (63 - lane) + 8;
  one_.run("global_load_dword v5, v4, s[2:3] offset:-8");
  for (u32 lane = 0; lane < kLanes; ++lane) EXPECT_EQ(one_.v(5)[lane], at<u32>(4 * (63 - lane)));
}

TEST_F(GlobalTest, ALoadMayOverwriteItsAddress) {
  const u32 expected = at<u32>(16 * 63 + 4);
  one_.run("global_load_dwordx2 v[0:1], v[0:1], off");
  EXPECT_EQ(one_.v(1)[63], expected);
}

TEST_F(GlobalTest, StoresOfActiveLanesOnly) {
  one_.v(4).fill(0xAABB'CCDD);
  one_.set_exec(~u64{2});
  const u32 before = at<u32>(16);
  one_.run("global_store_dword v[0:1], v4, off");
  one_.run("global_store_byte v[0:1], v4, off offset:4");
  one_.run("global_store_short_d16_hi v[0:1], v4, off offset:6");
  EXPECT_EQ(at<u32>(16), before);
  EXPECT_EQ(at<u32>(32), 0xAABB'CCDDU);
  EXPECT_EQ(at<std::uint8_t>(36), 0xDDU);
  EXPECT_EQ(at<std::uint16_t>(38), 0xAABBU);
}

TEST_F(GlobalTest, AMissNamesTheLane) {
  point(5, address_ + kBytes - 2);
  const std::string message = failure_of([&] { one_.run("global_load_dword v4, v[0:1], off"); });
  EXPECT_NE(message.find("lane 5 accesses 4 bytes"), std::string::npos) << message;
  EXPECT_NE(message.find("2 bytes past the end of 'data'"), std::string::npos) << message;
  one_.set_exec(~(u64{1} << 5));
  one_.run("global_load_dword v4, v[0:1], off");
}

TEST_F(GlobalTest, Atomics) {
  const std::map<std::string, std::function<u32(u32 old, u32 data)>> references{
      {"add", [](u32 a, u32 b) { return a + b; }},
      {"sub", [](u32 a, u32 b) { return a - b; }},
      {"umax", [](u32 a, u32 b) { return std::max(a, b); }},
      {"smin", [](u32 a, u32 b) { return static_cast<i32>(a) < static_cast<i32>(b) ? a : b; }},
      {"xor", [](u32 a, u32 b) { return a ^ b; }},
      {"swap", [](u32, u32 b) { return b; }}};
  Operands operands;
  for (const auto& [name, reference] : references) {
    operands.fill(one_.v(4));
    for (u32 lane = 0; lane < kLanes; ++lane) point(lane, address_ + 4 * (lane % 8));  // eight lanes to each word
    std::vector<u32> expected(8);
    for (u32 i = 0; i < 8; ++i) expected[i] = at<u32>(4 * i);
    std::vector<u32> old(kLanes);
    for (u32 lane = 0; lane < kLanes; ++lane) {
      old[lane] = expected[lane % 8];
      expected[lane % 8] = reference(expected[lane % 8], one_.v(4)[lane]);
    }
    one_.run("global_atomic_" + name + " v5, v[0:1], v4, off sc0");
    for (u32 lane = 0; lane < kLanes; ++lane) ASSERT_EQ(one_.v(5)[lane], old[lane]) << name;
    for (u32 i = 0; i < 8; ++i) ASSERT_EQ(at<u32>(4 * i), expected[i]) << name;
  }
}

TEST_F(GlobalTest, AtomicFloatsAndExchanges) {
  const std::vector<float> ones(256, 1);
  std::memcpy(bytes(), ones.data(), kBytes);
  one_.v(4).fill(std::bit_cast<u32>(0.5F));
  for (u32 lane = 0; lane < kLanes; ++lane) point(lane, address_);
  one_.run("global_atomic_add_f32 v[0:1], v4, off");
  EXPECT_EQ(at<float>(0), 33);
  one_.v(4).fill(0x3F80'4000);  // bf16: 1 above, 2 below
  one_.run("global_atomic_pk_add_bf16 v[0:1], v4, off offset:4");
  EXPECT_EQ(at<u32>(4), 0x4282'4300U);  // 1 + 64 and 0 + 128
  one_.v(4).fill(7);
  one_.v(5).fill(std::bit_cast<u32>(1.0F));
  one_.run("global_atomic_cmpswap v6, v[0:1], v[4:5], off offset:8 sc0");
  EXPECT_EQ(one_.v(6)[0], std::bit_cast<u32>(1.0F));
  EXPECT_EQ(one_.v(6)[1], 7U);
  EXPECT_EQ(at<u32>(8), 7U);
  one_.v(5).fill(1);
  one_.run("global_atomic_add_x2 v[0:1], v[4:5], off offset:16");
  EXPECT_EQ(at<u64>(16), 0x3F80'0000'3F80'0000U + 64 * 0x1'0000'0007U);
  EXPECT_NE(failure_of([&] { one_.run("global_atomic_add v[0:1], v4, off offset:2"); }).find("not aligned"),
            std::string::npos);
}

TEST(ScratchTest, ALaneHasItsOwn) {
  OneWave one;
  for (u32 lane = 0; lane < kLanes; ++lane) {
    one.v(0)[lane] = 1000 + lane;
    one.v(1)[lane] = lane % 8 * 4;
  }
  one.s(0) = 16;
  one.run("scratch_store_dword off, v0, s0 offset:4");
  one.run("scratch_load_dword v2, off, off offset:20");
  one.run("scratch_store_dword v1, v0, off offset:8");
  one.run("scratch_load_dword v3, v1, off offset:8");
  for (u32 lane = 0; lane < kLanes; ++lane) {
    EXPECT_EQ(one.v(2)[lane], 1000 + lane);
    EXPECT_EQ(one.v(3)[lane], 1000 + lane);
  }
  EXPECT_NE(failure_of([&] {
              one.run("scratch_load_dwordx2 v[2:3], off, off offset:60");
            }).find("of its 64 bytes of scratch"),
            std::string::npos);
}

TEST(ScratchTest, AllWidthsAndBothOffsets) {
  OneWave one;
  for (u32 i = 0; i < one.scratch.size(); ++i) one.scratch[i] = static_cast<std::byte>(i * 73 + i / 256);
  const auto at = [&](u32 lane, u32 offset, auto value) {
    std::memcpy(&value, one.scratch.data() + lane * OneWave::kScratchBytes + offset, sizeof(value));
    return value;
  };
  one.s(0) = 8;
  for (u32 lane = 0; lane < kLanes; ++lane) one.v(1)[lane] = lane % 4 * 4;
  for (u32 row = 10; row < 14; ++row) one.v(row).fill(0x1234'5678);
  one.run("scratch_load_dwordx3 v[2:4], v1, s0 offset:4");
  one.run("scratch_load_ubyte_d16 v10, v1, s0");
  one.run("scratch_load_sbyte_d16_hi v11, v1, off");
  one.run("scratch_load_short_d16 v12, off, s0 offset:2");
  for (u32 lane = 0; lane < kLanes; ++lane) {
    const u32 vector = lane % 4 * 4;
    for (u32 k = 0; k < 3; ++k) ASSERT_EQ(one.v(2 + k)[lane], at(lane, vector + 12 + 4 * k, u32{}));
    ASSERT_EQ(one.v(10)[lane], at(lane, vector + 8, std::uint8_t{}));
    ASSERT_EQ(one.v(11)[lane], static_cast<u32>(at(lane, vector, std::int8_t{})) << 16);
    ASSERT_EQ(one.v(12)[lane], at(lane, 10, std::uint16_t{}));
  }
  one.run("scratch_store_byte_d16_hi v1, v13, s0 offset:1");
  EXPECT_EQ(at(5, 13, std::uint8_t{}), 0x34U);
}

class LdsTest : public testing::Test {
 protected:
  LdsTest() {
    for (u32 i = 0; i < one_.lds.size(); ++i) one_.lds[i] = static_cast<std::byte>(i * 73 + i / 256);
    for (u32 lane = 0; lane < kLanes; ++lane) one_.v(0)[lane] = lane * 16;
  }
  template <typename T>
  [[nodiscard]] T at(u64 offset) const {
    T value;
    std::memcpy(&value, one_.lds.data() + offset, sizeof(T));
    return value;
  }
  OneWave one_;
};

TEST_F(LdsTest, Reads) {
  one_.run("ds_read_b128 v[4:7], v0 offset:32");
  one_.run("ds_read_b64 v[8:9], v0");
  one_.run("ds_read_u8 v10, v0 offset:1");
  one_.run("ds_read_i16 v11, v0 offset:2");
  one_.run("ds_read2_b32 v[12:13], v0 offset0:3 offset1:5");
  one_.run("ds_read2_b64 v[14:17], v0 offset0:1 offset1:2");
  one_.run("ds_read2st64_b32 v[18:19], v0 offset0:1 offset1:2");
  for (u32 lane = 0; lane < kLanes; ++lane) {
    const u64 from = 16 * lane;
    for (u32 k = 0; k < 4; ++k) EXPECT_EQ(one_.v(4 + k)[lane], at<u32>(from + 32 + 4 * k));
    EXPECT_EQ(one_.v(9)[lane], at<u32>(from + 4));
    EXPECT_EQ(one_.v(10)[lane], at<std::uint8_t>(from + 1));
    EXPECT_EQ(one_.v(11)[lane], static_cast<u32>(at<std::int16_t>(from + 2)));
    EXPECT_EQ(one_.v(12)[lane], at<u32>(from + 12));
    EXPECT_EQ(one_.v(13)[lane], at<u32>(from + 20));
    EXPECT_EQ(one_.v(14)[lane], at<u32>(from + 8));
    EXPECT_EQ(one_.v(17)[lane], at<u32>(from + 20));
    EXPECT_EQ(one_.v(18)[lane], at<u32>(from + 256));
    EXPECT_EQ(one_.v(19)[lane], at<u32>(from + 512));
  }
}

TEST_F(LdsTest, Writes) {
  for (u32 row = 1; row < 5; ++row) one_.v(row).fill(0x1111'1111 * row);
  one_.set_exec(~u64{1});
  const u32 before = at<u32>(0);
  one_.run("ds_write_b64 v0, v[1:2]");
  one_.run("ds_write_b8 v0, v3 offset:8");
  one_.run("ds_write_b16_d16_hi v0, v4 offset:10");
  EXPECT_EQ(at<u32>(0), before);
  EXPECT_EQ(at<u32>(16), 0x1111'1111U);
  EXPECT_EQ(at<u32>(20), 0x2222'2222U);
  EXPECT_EQ(at<std::uint8_t>(24), 0x33U);
  EXPECT_EQ(at<std::uint16_t>(26), 0x4444U);
  one_.run("ds_write2_b32 v0, v3, v4 offset0:1 offset1:2");
  EXPECT_EQ(at<u32>(20), 0x3333'3333U);
  EXPECT_EQ(at<u32>(24), 0x4444'4444U);
  one_.run("ds_write2st64_b64 v0, v[1:2], v[3:4] offset0:2 offset1:4");
  EXPECT_EQ(at<u32>(16 + 1024 + 4), 0x2222'2222U);
  EXPECT_EQ(at<u32>(16 + 2048), 0x3333'3333U);
}

TEST_F(LdsTest, AtomicsReturnWhatWasThereBefore) {
  one_.v(0).fill(64);
  one_.v(1).fill(3);
  const u32 before = at<u32>(64);
  one_.run("ds_add_rtn_u32 v2, v0, v1");
  for (u32 lane = 0; lane < kLanes; ++lane) EXPECT_EQ(one_.v(2)[lane], before + 3 * lane);
  EXPECT_EQ(at<u32>(64), before + 3 * 64);
  one_.v(1).fill(0xFFFF'0000);
  one_.run("ds_max_i32 v0, v1");
  EXPECT_EQ(at<u32>(64), static_cast<u32>(std::max(static_cast<i32>(before + 192), static_cast<i32>(0xFFFF'0000))));
  one_.run("ds_max_u32 v0, v1");
  EXPECT_EQ(at<u32>(64), std::max(before + 192, 0xFFFF'0000U));
}

TEST_F(LdsTest, AMissNamesTheLane) {
  one_.v(0)[7] = 4090;
  EXPECT_NE(failure_of([&] {
              one_.run("ds_read_b64 v[4:5], v0");
            }).find("lane 7 accesses 8 bytes at 0xffa of the workgroup's 4096 bytes"),
            std::string::npos);
  one_.v(0)[7] = ~0U - 3;
  EXPECT_THROW(one_.run("ds_read_u8 v4, v0 offset:3"), Failure);
}

/// Clang adds an offset to what may be less than 0.
TEST_F(LdsTest, AddressesCountIn32Bits) {
  one_.v(0).fill(~0U - 3);
  one_.run("ds_read_b32 v4, v0 offset:1020");
  EXPECT_EQ(one_.v(4)[7], at<u32>(1016));
}

TEST_F(GlobalTest, WhoWatchesIsToldOfEachAccess) {
  Diary diary;
  one_.wave.listener = &diary;
  one_.set_exec(6);
  for (u32 lane = 0; lane < kLanes; ++lane) {
    one_.v(4)[lane] = 32 * lane;
    one_.v(5)[lane] = 4 * lane;
  }
  const auto told = [&](const std::string& text) {
    diary.entries.clear();
    one_.run(text);
    return diary.entries;
  };
  using Entries = std::vector<Diary::Entry>;
  const u64 global = address_ + 16;
  EXPECT_EQ(told("global_load_dwordx2 v[8:9], v[0:1], off offset:8"),
            (Entries{{Space::global, AccessKind::read, 8, 6, global + 8}}));
  EXPECT_EQ(told("global_load_short_d16 v8, v[0:1], off"), (Entries{{Space::global, AccessKind::read, 2, 6, global}}));
  EXPECT_EQ(told("global_store_byte v[0:1], v4, off"), (Entries{{Space::global, AccessKind::write, 1, 6, global}}));
  EXPECT_EQ(told("global_atomic_add v[0:1], v4, off"), (Entries{{Space::global, AccessKind::update, 4, 6, global}}));
  EXPECT_EQ(told("global_atomic_add_x2 v[0:1], v[4:5], off"),
            (Entries{{Space::global, AccessKind::update, 8, 6, global}}));
  EXPECT_EQ(told("global_atomic_cmpswap_x2 v[0:1], v[4:7], off"),
            (Entries{{Space::global, AccessKind::update, 8, 6, global}}));
  EXPECT_EQ(told("ds_read_b128 v[8:11], v4 offset:16"), (Entries{{Space::lds, AccessKind::read, 16, 6, 48}}));
  EXPECT_EQ(told("ds_add_u32 v4, v5"), (Entries{{Space::lds, AccessKind::update, 4, 6, 32}}));
  EXPECT_EQ(told("ds_read2_b32 v[8:9], v4 offset0:1 offset1:3"),
            (Entries{{Space::lds, AccessKind::read, 4, 6, 36}, {Space::lds, AccessKind::read, 4, 6, 44}}));
  EXPECT_EQ(told("ds_write2st64_b32 v4, v5, v5 offset0:1 offset1:2"),
            (Entries{{Space::lds, AccessKind::write, 4, 6, 288}, {Space::lds, AccessKind::write, 4, 6, 544}}));
  EXPECT_EQ(told("scratch_store_dwordx2 v5, v[8:9], off offset:8"),
            (Entries{{Space::scratch, AccessKind::write, 8, 6, 12}}));
  EXPECT_EQ(told("ds_bpermute_b32 v8, v4, v5"), Entries{});
}

TEST_F(GlobalTest, WhoWatchesIsToldOfScalarLoadsOnce) {
  class Loads : public AccessListener {
   public:
    void on_access(const Access& access) override {
      EXPECT_EQ(access.space, Space::scalar);
      EXPECT_EQ(access.lanes, 1U);
      addresses.push_back(access.addresses[0]);
      bytes += access.bytes;
    }
    std::vector<u64> addresses;
    u32 bytes = 0;
  };
  Loads loads;
  one_.wave.listener = &loads;
  one_.set_exec(6);
  one_.set_s64(2, address_);
  one_.run("s_load_dword s4, s[2:3], 0x10");
  one_.run("s_load_dwordx16 s[16:31], s[2:3], 0x40");
  EXPECT_EQ(loads.addresses, (std::vector<u64>{address_ + 16, address_ + 64}));
  EXPECT_EQ(loads.bytes, 68U);
}

}  // namespace
}  // namespace octet::sim
