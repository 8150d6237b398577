// Values between lanes: DPP, SDWA, reads and writes of single lanes, permutes and swizzles.
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "sim/one_wave.h"

namespace octet::sim {
namespace {

using Source = std::function<std::optional<int>(int lane)>;

struct Control {
  std::string text;
  Source source;  ///< nothing: outside of the row or the wave
};

std::optional<int> in_row(int lane, int source) {
  return source >= 0 && source / 16 == lane / 16 ? std::optional(source) : std::nullopt;
}

const std::vector<Control> kControls{
    {"quad_perm:[2,3,0,1]", [](int lane) { return std::optional(lane ^ 2); }},
    {"quad_perm:[3,3,1,0]",
     [](int lane) {
       return std::optional(lane / 4 * 4 + std::array{3, 3, 1, 0}[lane % 4]);
     }},
    {"row_shl:3", [](int lane) { return in_row(lane, lane + 3); }},
    {"row_shr:1", [](int lane) { return lane % 16 == 0 ? std::nullopt : in_row(lane, lane - 1); }},
    {"row_ror:5", [](int lane) { return std::optional(lane / 16 * 16 + (lane + 11) % 16); }},
    {"row_mirror", [](int lane) { return std::optional(lane ^ 15); }},
    {"row_half_mirror", [](int lane) { return std::optional(lane ^ 7); }},
    {"row_newbcast:6", [](int lane) { return std::optional(lane / 16 * 16 + 6); }},
    {"row_bcast:15", [](int lane) { return lane < 16 ? std::nullopt : std::optional(lane / 16 * 16 - 1); }},
    {"row_bcast:31", [](int lane) { return lane < 32 ? std::nullopt : std::optional(31); }},
    {"wave_shl:1", [](int lane) { return lane == 63 ? std::nullopt : std::optional(lane + 1); }},
    {"wave_shr:1", [](int lane) { return lane == 0 ? std::nullopt : std::optional(lane - 1); }},
    {"wave_ror:1", [](int lane) { return std::optional((lane + 63) % 64); }},
    {"wave_rol:1", [](int lane) { return std::optional((lane + 1) % 64); }}};

TEST(CrossLane, Dpp) {
  constexpr u64 kExec = 0xFFFF'0FFF'F7FF'FEFFU;
  for (const Control& control : kControls) {
    for (const bool zero : {false, true}) {
      OneWave one;
      for (u32 lane = 0; lane < kLanes; ++lane) one.v(1)[lane] = 100 + lane;
      one.v(0).fill(7);
      one.v(2).fill(1000);
      one.set_exec(kExec);
      one.run("v_add_u32_dpp v0, v1, v2 " + control.text + " row_mask:0xd bank_mask:0xb" +
              (zero ? " bound_ctrl:1" : ""));
      ASSERT_EQ(one.wave.exec(), kExec);
      for (int lane = 0; lane < kLanes; ++lane) {
        const bool active = (kExec >> lane & 1U) != 0;
        const bool named = lane / 16 != 1 && lane % 16 / 4 != 2;
        const std::optional<int> source = control.source(lane);
        const bool readable = source && (kExec >> *source & 1U) != 0;
        u32 expected = 7;
        if (active && named && readable) expected = 1100 + static_cast<u32>(*source);
        if (active && named && !readable && zero) expected = 1000;
        ASSERT_EQ(one.v(0)[static_cast<std::size_t>(lane)], expected) << control.text << " lane " << lane;
      }
    }
  }
}

TEST(CrossLane, DppOnItsOwnSource) {
  OneWave one;
  for (u32 lane = 0; lane < kLanes; ++lane) one.v(0)[lane] = lane;
  one.run("v_mov_b32_dpp v0, v0 row_mirror row_mask:0xf bank_mask:0xf");
  for (u32 lane = 0; lane < kLanes; ++lane) EXPECT_EQ(one.v(0)[lane], lane ^ 15U);
}

TEST(CrossLane, Sdwa) {
  OneWave one;
  const auto run = [&](const std::string& text) {
    one.v(0).fill(0x1111'1111);
    one.v(1).fill(0x8091'A2B3);
    one.v(2).fill(0x0000'0002);
    one.run(text);
    return one.v(0)[40];
  };
  EXPECT_EQ(run("v_add_u32_sdwa v0, v1, v2 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_0 src1_sel:DWORD"), 0xB5U);
  EXPECT_EQ(run("v_add_u32_sdwa v0, v1, v2 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_1 src1_sel:DWORD"),
            0x8093U);
  EXPECT_EQ(run("v_add_u32_sdwa v0, sext(v1), v2 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_3 src1_sel:DWORD"),
            0xFFFF'FF82U);
  EXPECT_EQ(run("v_lshlrev_b32_sdwa v0, v2, v1 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:DWORD src1_sel:BYTE_1"),
            0x288U);
  EXPECT_EQ(run("v_add_u32_sdwa v0, v1, v2 dst_sel:BYTE_1 dst_unused:UNUSED_PAD src0_sel:BYTE_0 src1_sel:DWORD"),
            0x0000'B500U);
  EXPECT_EQ(run("v_add_u32_sdwa v0, v1, v2 dst_sel:BYTE_1 dst_unused:UNUSED_SEXT src0_sel:BYTE_0 src1_sel:DWORD"),
            0xFFFF'B500U);
  EXPECT_EQ(run("v_add_u32_sdwa v0, v1, v2 dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:BYTE_0 src1_sel:DWORD"),
            0x00B5'1111U);
  EXPECT_EQ(run("v_mov_b32_sdwa v0, v1 dst_sel:BYTE_3 dst_unused:UNUSED_PRESERVE src0_sel:BYTE_2"), 0x9111'1111U);
  run("v_cmp_eq_u32_sdwa vcc, v1, v2 src0_sel:BYTE_2 src1_sel:DWORD");
  EXPECT_EQ(one.wave.vcc(), 0U);
  run("v_cmp_ne_u32_sdwa vcc, v1, v2 src0_sel:BYTE_2 src1_sel:WORD_0");
  EXPECT_EQ(one.wave.vcc(), kAllLanes);
}

TEST(CrossLane, SingleLanes) {
  OneWave one;
  for (u32 lane = 0; lane < kLanes; ++lane) one.v(0)[lane] = 100 + lane;
  one.run("v_readlane_b32 s0, v0, 66");  // modulo 64
  EXPECT_EQ(one.s(0), 102U);
  one.set_exec(0xF00);
  one.run("v_readfirstlane_b32 s0, v0");
  EXPECT_EQ(one.s(0), 108U);
  one.set_exec(0);
  one.run("v_readfirstlane_b32 s0, v0");
  EXPECT_EQ(one.s(0), 100U);
  one.run("v_writelane_b32 v0, 5, 33");
  EXPECT_EQ(one.v(0)[33], 5U);
  EXPECT_EQ(one.v(0)[34], 134U);
}

TEST(CrossLane, CountsOfLanesBelow) {
  OneWave one;
  one.run("v_mbcnt_lo_u32_b32 v0, -1, 0");
  one.run("v_mbcnt_hi_u32_b32 v0, -1, v0");
  for (u32 lane = 0; lane < kLanes; ++lane) EXPECT_EQ(one.v(0)[lane], lane);
  one.run("v_mbcnt_lo_u32_b32 v0, 5, 10");
  EXPECT_EQ(one.v(0)[0], 10U);
  EXPECT_EQ(one.v(0)[1], 11U);
  EXPECT_EQ(one.v(0)[3], 12U);
  EXPECT_EQ(one.v(0)[63], 12U);
}

TEST(CrossLane, Permutes) {
  OneWave one;
  constexpr u64 kExec = ~(u64{1} << 9);
  for (u32 lane = 0; lane < kLanes; ++lane) {
    one.v(0)[lane] = (lane * 5 + 1) % 64 * 4 + lane % 4 + 256;  // the bits around the number of the lane do not count
    one.v(1)[lane] = 100 + lane;
  }
  one.set_exec(kExec);
  one.v(2).fill(7);
  one.run("ds_bpermute_b32 v2, v0, v1");
  for (u32 lane = 0; lane < kLanes; ++lane) {
    const u32 source = (lane * 5 + 1) % 64;
    EXPECT_EQ(one.v(2)[lane], lane == 9 ? 7 : source == 9 ? 0 : 100 + source) << lane;
  }
  one.run("ds_bpermute_b32 v3, v0, v1 offset:8");
  EXPECT_EQ(one.v(3)[0], 103U);
  one.v(2).fill(7);
  one.run("ds_permute_b32 v2, v0, v1");
  for (u32 lane = 0; lane < kLanes; ++lane) {
    const u32 target = (lane * 5 + 1) % 64;
    if (target != 9) {
      EXPECT_EQ(one.v(2)[target], lane == 9 ? 0 : 100 + lane) << lane;
    }
  }
}

TEST(CrossLane, Swizzles) {
  OneWave one;
  for (u32 lane = 0; lane < kLanes; ++lane) one.v(0)[lane] = lane;
  const auto expect = [&](const std::string& offset, const std::function<u32(u32)>& source) {
    one.run("ds_swizzle_b32 v1, v0 offset:" + offset);
    for (u32 lane = 0; lane < kLanes; ++lane) EXPECT_EQ(one.v(1)[lane], source(lane)) << offset << " " << lane;
  };
  expect("swizzle(SWAP,16)", [](u32 lane) { return lane ^ 16U; });
  expect("swizzle(REVERSE,8)", [](u32 lane) { return lane ^ 7U; });
  expect("swizzle(BROADCAST,8,3)", [](u32 lane) { return lane / 8 * 8 + 3; });
  expect("swizzle(QUAD_PERM,1,0,3,2)", [](u32 lane) { return lane ^ 1U; });
  expect("swizzle(BITMASK_PERM,\"0pp1i\")", [](u32 lane) { return (lane & 44U) | 2U | (~lane & 1U); });
}

TEST(CrossLane, Swaps) {
  OneWave one;
  const auto number = [&] {
    for (u32 lane = 0; lane < kLanes; ++lane) {
      one.v(0)[lane] = lane;
      one.v(1)[lane] = 100 + lane;
    }
  };
  number();
  one.set_exec(0xF0);
  one.run("v_swap_b32 v0, v1");
  for (u32 lane = 0; lane < kLanes; ++lane) {
    const bool swapped = lane >= 4 && lane < 8;
    EXPECT_EQ(one.v(0)[lane], swapped ? 100 + lane : lane);
    EXPECT_EQ(one.v(1)[lane], swapped ? lane : 100 + lane);
  }
  EXPECT_THROW(one.run("v_permlane32_swap_b32_e32 v0, v1", Generation::cdna4), Failure);
  one.set_exec(kAllLanes);
  for (const u32 width : {16U, 32U}) {
    number();
    one.run("v_permlane" + std::to_string(width) + "_swap_b32_e32 v0, v1", Generation::cdna4);
    for (u32 lane = 0; lane < kLanes; ++lane) {
      const bool is_second = lane / width % 2 == 1;
      EXPECT_EQ(one.v(0)[lane], is_second ? 100 + lane - width : lane) << width;
      EXPECT_EQ(one.v(1)[lane], is_second ? 100 + lane : lane + width) << width;
    }
  }
}

}  // namespace
}  // namespace octet::sim
