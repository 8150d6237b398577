// Every control of DPP, under masks, inactive lanes and both meanings of a source that is not valid. AMD CDNA4 ISA,
// 13.3.9, table 94, whose formulas the sources here follow.
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "sim/one_wave.h"

namespace octet::sim {
namespace {

struct Control {
  std::string text;
  std::function<std::optional<u32>(u32 n)> source;  ///< of lane n; nothing: "use bound_cntl"
};

void add_quads(std::vector<Control>& controls) {
  for (u32 cntl = 0; cntl < 256; ++cntl) {
    std::string text = "quad_perm:[";
    for (u32 k = 0; k < 4; ++k) text += std::to_string(cntl >> (2 * k) & 3U) + (k < 3 ? "," : "]");
    controls.push_back({text, [cntl](u32 n) { return std::optional((n & 0x3CU) + (cntl >> (n % 4 * 2) & 3U)); }});
  }
}

void add_rows(std::vector<Control>& controls) {
  for (u32 by = 1; by < 16; ++by) {
    const std::string count = ":" + std::to_string(by);
    controls.push_back(
        {"row_shl" + count, [by](u32 n) { return (n & 0xFU) < 16 - by ? std::optional(n + by) : std::nullopt; }});
    controls.push_back(
        {"row_shr" + count, [by](u32 n) { return (n & 0xFU) >= by ? std::optional(n - by) : std::nullopt; }});
    controls.push_back(
        {"row_ror" + count, [by](u32 n) { return std::optional((n & 0xFU) >= by ? n - by : n + 16 - by); }});
  }
  for (u32 lane = 0; lane < 16; ++lane) {
    controls.push_back(
        {"row_newbcast:" + std::to_string(lane), [lane](u32 n) { return std::optional((n & 0xFFFF'FFF0U) + lane); }});
  }
}

void add_waves(std::vector<Control>& controls) {
  controls.push_back({"wave_shl:1", [](u32 n) { return n < 63 ? std::optional(n + 1) : std::nullopt; }});
  controls.push_back({"wave_rol:1", [](u32 n) { return std::optional(n < 63 ? n + 1 : 0); }});
  controls.push_back({"wave_shr:1", [](u32 n) { return n > 0 ? std::optional(n - 1) : std::nullopt; }});
  controls.push_back({"wave_ror:1", [](u32 n) { return std::optional(n > 0 ? n - 1 : 63); }});
  controls.push_back({"row_mirror", [](u32 n) { return std::optional(n / 16 * 16 + 15 - n % 16); }});
  controls.push_back({"row_half_mirror", [](u32 n) { return std::optional(n / 8 * 8 + 7 - n % 8); }});
  controls.push_back({"row_bcast:15", [](u32 n) { return n > 15 ? std::optional((n & 0x30U) - 1) : std::nullopt; }});
  controls.push_back({"row_bcast:31", [](u32 n) { return n > 31 ? std::optional((n & 0x20U) - 1) : std::nullopt; }});
}

struct Masks {
  u64 exec;
  u32 row, bank;
  bool zero;  ///< bound_ctrl:1
};

std::string text_of(const Control& control, const Masks& masks) {
  return "v_sub_u32_dpp v0, v1, v2 " + control.text + " row_mask:" + std::to_string(masks.row) +
         " bank_mask:" + std::to_string(masks.bank) + (masks.zero ? " bound_ctrl:1" : "");
}

void expect_lanes(const Control& control, const Masks& masks) {
  OneWave one;
  for (u32 lane = 0; lane < kLanes; ++lane) one.v(1)[lane] = 100'000 + lane * lane;
  one.v(0).fill(7);
  one.v(2).fill(1000);
  one.set_exec(masks.exec);
  const std::string text = text_of(control, masks);
  one.run(text);
  ASSERT_EQ(one.wave.exec(), masks.exec) << text;
  for (u32 lane = 0; lane < kLanes; ++lane) {
    const bool named = (masks.row >> lane / 16 & 1U) != 0 && (masks.bank >> lane % 16 / 4 & 1U) != 0;
    const std::optional<u32> source = control.source(lane);
    const bool valid = source && (masks.exec >> *source & 1U) != 0;
    const bool written = (masks.exec >> lane & 1U) != 0 && named && (valid || masks.zero);
    const u32 read = valid ? one.v(1)[*source] : 0;
    ASSERT_EQ(one.v(0)[lane], written ? read - 1000 : 7) << text << " lane " << lane;
  }
}

TEST(Dpp, EveryControl) {
  std::vector<Control> controls;
  add_quads(controls);
  add_rows(controls);
  add_waves(controls);
  ASSERT_EQ(controls.size(), 256U + 3 * 15 + 16 + 8);
  Operands operands;
  for (const Control& control : controls) {
    expect_lanes(control, {kAllLanes, 15, 15, false});
    for (const bool zero : {false, true}) {
      const u64 exec = operands.next64();
      expect_lanes(control, {exec, operands.next() % 16, operands.next() % 16, zero});
    }
  }
}

TEST(Dpp, EveryMask) {
  const Control control{"row_shr:3", [](u32 n) { return n % 16 >= 3 ? std::optional(n - 3) : std::nullopt; }};
  for (u32 row = 0; row < 16; ++row) {
    for (u32 bank = 0; bank < 16; ++bank) expect_lanes(control, {0xFFFF'0FFF'FFF7'FFFFU, row, bank, row % 2 == 0});
  }
}

TEST(Dpp, SignsAreThoseOfTheMovedSource) {
  OneWave one;
  for (u32 lane = 0; lane < kLanes; ++lane) one.v(1)[lane] = std::bit_cast<u32>(static_cast<float>(lane));
  one.v(2).fill(std::bit_cast<u32>(-100.0F));
  one.run("v_add_f32_dpp v0, -v1, |v2| row_mirror row_mask:0xf bank_mask:0xf");
  for (u32 lane = 0; lane < kLanes; ++lane) {
    EXPECT_EQ(std::bit_cast<float>(one.v(0)[lane]), 100 - static_cast<float>(lane ^ 15U));
  }
}

TEST(Dpp, OtherControlsAreRefused) {
  OneWave one;
  for (const char* control : {"row_shl:0", "row_shl:16", "row_newbcast:16", "wave_shl:2", "row_bcast:14", "row_share:1",
                              "quad_perm:[0,1,2]", "quad_perm:[0,1,2,4]"}) {
    EXPECT_THROW(one.run("v_mov_b32_dpp v0, v1 " + std::string(control) + " row_mask:0xf bank_mask:0xf"), Failure)
        << control;
  }
}

}  // namespace
}  // namespace octet::sim
