// Every atomic operation, by every way to memory that has it, against a plain loop over lanes.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "sim/diary.h"
#include "sim/one_wave.h"

namespace octet::sim {
namespace {

template <typename T>
using Operation = std::function<T(T memory, T data)>;

template <typename T, typename Signed>
std::map<std::string, Operation<T>> integer_operations() {
  return {{"add", [](T a, T b) { return a + b; }},
          {"sub", [](T a, T b) { return a - b; }},
          {"umax", [](T a, T b) { return a > b ? a : b; }},
          {"umin", [](T a, T b) { return a < b ? a : b; }},
          {"smax", [](T a, T b) { return static_cast<Signed>(a) > static_cast<Signed>(b) ? a : b; }},
          {"smin", [](T a, T b) { return static_cast<Signed>(a) < static_cast<Signed>(b) ? a : b; }},
          {"and", [](T a, T b) { return a & b; }},
          {"or", [](T a, T b) { return a | b; }},
          {"xor", [](T a, T b) { return a ^ b; }},
          {"swap", [](T, T b) { return b; }},
          {"inc", [](T a, T b) { return a < b ? a + 1 : 0; }},
          {"dec", [](T a, T b) { return a > 0 && a <= b ? a - 1 : b; }}};
}

/// How LDS names an operation of global memory: by its type and its size.
std::string lds_name(const std::string& operation, bool returns, int bits) {
  const std::string rtn = returns ? "_rtn" : "";
  const std::string size = std::to_string(bits);
  if (operation == "swap") return "ds_wrxchg" + rtn + "_b" + size;
  if (operation == "and" || operation == "or" || operation == "xor") return "ds_" + operation + rtn + "_b" + size;
  if (operation.size() == 4) return "ds_" + operation.substr(1) + rtn + "_" + (operation[0] == 's' ? "i" : "u") + size;
  return "ds_" + operation + rtn + "_u" + size;
}

/// Eight words that 64 lanes update, eight lanes each: in global memory and in LDS from byte 0 on. v[0:1] points there
/// by flat address, v2 by offset; v[4:5] is the data, v[6:7] the value compared with it.
class AtomicsTest : public testing::Test {
 protected:
  AtomicsTest() : address_(one_.memory.allocate(kBytes, "data")) {
    one_.s(8) = static_cast<u32>(address_);
    one_.s(9) = static_cast<u32>(address_ >> 32);
    one_.s(10) = kBytes;
    one_.s(11) = 0x0002'0000;
  }

  template <typename T>
  [[nodiscard]] std::vector<T> words(bool lds) {
    std::vector<T> values(8);
    std::memcpy(values.data(), lds ? one_.lds.data() : one_.memory.translate(address_, kBytes), 8 * sizeof(T));
    return values;
  }
  template <typename T>
  void set_words(const std::vector<T>& values) {
    std::memcpy(one_.lds.data(), values.data(), 8 * sizeof(T));
    std::memcpy(one_.memory.translate(address_, kBytes), values.data(), 8 * sizeof(T));
  }
  template <typename T>
  void set_rows(std::size_t row, const std::vector<T>& values) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      for (std::size_t k = 0; k < sizeof(T) / 4; ++k) {
        one_.v(row + k)[lane] = static_cast<u32>(u64{values[lane]} >> (32 * k));
      }
    }
  }
  template <typename T>
  [[nodiscard]] T row(std::size_t first, std::size_t lane) {
    u64 value = one_.v(first)[lane];
    if (sizeof(T) == 8) value |= u64{one_.v(first + 1)[lane]} << 32;
    return static_cast<T>(value);
  }

  /// Runs one instruction, whose old values go to v[12:13] if it `returns` them, and compares with the loop.
  template <typename T>
  void expect(const std::string& text, const Operation<T>& operation, bool returns) {
    const bool lds = text.starts_with("ds_");
    for (u32 lane = 0; lane < kLanes; ++lane) {
      const u64 at = address_ + lane % 8 * sizeof(T);
      one_.v(0)[lane] = static_cast<u32>(at);
      one_.v(1)[lane] = static_cast<u32>(at >> 32);
      one_.v(2)[lane] = lane % 8 * sizeof(T);
    }
    set_words(memory<T>());
    set_rows(4, data<T>());
    set_rows(12, data<T>());  // a buffer's data are where its old values go
    one_.v(14).fill(0);
    one_.run(text, Generation::cdna4);
    std::vector<T> expected = memory<T>();
    for (u32 lane = 0; lane < kLanes; ++lane) {
      T& word = expected[lane % 8];
      if (returns) {
        ASSERT_EQ(row<T>(12, lane), word) << text << ", lane " << lane;
      }
      word = operation(word, data<T>()[lane]);
    }
    ASSERT_EQ(words<T>(lds), expected) << text;
    if (lds) {
      EXPECT_EQ(words<T>(false), memory<T>()) << text;
    }
  }

  /// By global, flat and buffer addresses, with and without the old value.
  template <typename T>
  void expect_everywhere(const std::string& name, const Operation<T>& operation) {
    const std::string source = sizeof(T) == 4 ? "v4" : "v[4:5]";
    const std::string old = sizeof(T) == 4 ? "v12" : "v[12:13]";
    expect("global_atomic_" + name + " v[0:1], " + source + ", off", operation, false);
    expect("global_atomic_" + name + " " + old + ", v2, " + source + ", s[8:9] sc0", operation, true);
    expect("flat_atomic_" + name + " v[0:1], " + source, operation, false);
    expect("flat_atomic_" + name + " " + old + ", v[0:1], " + source + " sc0", operation, true);
    expect("buffer_atomic_" + name + " " + source + ", v2, s[8:11], 0 offen", operation, false);
    expect("buffer_atomic_" + name + " " + old + ", v2, s[8:11], 0 offen sc0", operation, true);
  }
  /// `name` is empty where only the form that returns the old value exists.
  template <typename T>
  void expect_in_lds(const std::string& name, const std::string& returning, const Operation<T>& operation) {
    const std::string source = sizeof(T) == 4 ? "v4" : "v[4:5]";
    if (!name.empty()) expect(name + " v2, " + source, operation, false);
    expect(returning + (sizeof(T) == 4 ? " v12" : " v[12:13]") + ", v2, " + source, operation, true);
  }

  /// The same values whenever they are asked for.
  template <typename T>
  [[nodiscard]] static std::vector<T> memory() {
    Operands operands;
    std::vector<T> values(8);
    for (T& value : values) value = static_cast<T>(operands.next64());
    values[3] = 5;
    return values;
  }
  template <typename T>
  [[nodiscard]] static std::vector<T> data() {
    Operands operands;
    for (int skipped = 0; skipped < 8; ++skipped) static_cast<void>(operands.next64());
    std::vector<T> values(kLanes);
    for (T& value : values) value = static_cast<T>(operands.next64());
    for (u32 lane = 3; lane < kLanes; lane += 8) values[lane] = lane / 16;  // small, where counting wraps
    return values;
  }

  static constexpr u32 kBytes = 64;
  OneWave one_;
  u64 address_;
};

TEST_F(AtomicsTest, Integers) {
  for (const auto& [name, operation] : integer_operations<u32, i32>()) {
    expect_everywhere<u32>(name, operation);
    expect_in_lds<u32>(name == "swap" ? "" : lds_name(name, false, 32), lds_name(name, true, 32), operation);
  }
  for (const auto& [name, operation] : integer_operations<u64, i64>()) {
    expect_everywhere<u64>(name + "_x2", operation);
    expect_in_lds<u64>(name == "swap" ? "" : lds_name(name, false, 64), lds_name(name, true, 64), operation);
  }
  expect_in_lds<u32>("ds_rsub_u32", "ds_rsub_rtn_u32", [](u32 a, u32 b) { return b - a; });
  expect_in_lds<u64>("ds_rsub_u64", "ds_rsub_rtn_u64", [](u64 a, u64 b) { return b - a; });
}

/// A NaN stays what it is but for being quiet; that of the memory goes first.
template <typename T, typename Float>
T sum_of(T a, T b) {
  constexpr T kQuiet = T{1} << (std::numeric_limits<Float>::digits - 2);
  const auto x = std::bit_cast<Float>(a);
  const auto y = std::bit_cast<Float>(b);
  if (std::isnan(x)) return a | kQuiet;
  if (std::isnan(y)) return b | kQuiet;
  const Float sum = x + y;
  return std::isnan(sum) ? std::bit_cast<T>(-std::numeric_limits<Float>::infinity()) | kQuiet : std::bit_cast<T>(sum);
}
/// The larger, with `largest`, or else the smaller: -0 below +0, numbers before quiet NaNs, signaling ones first.
template <typename T, typename Float>
T extreme_of(T a, T b, bool largest) {
  constexpr T kQuiet = T{1} << (std::numeric_limits<Float>::digits - 2);
  const auto x = std::bit_cast<Float>(a);
  const auto y = std::bit_cast<Float>(b);
  if (std::isnan(x) && (a & kQuiet) == 0) return a | kQuiet;
  if (std::isnan(y) && (b & kQuiet) == 0) return b | kQuiet;
  if (std::isnan(x)) return b;
  if (std::isnan(y)) return a;
  if (x == y) return std::signbit(x) == largest ? b : a;
  return (x > y) == largest ? a : b;
}

TEST_F(AtomicsTest, Floats) {
  expect_everywhere<u32>("add_f32", sum_of<u32, float>);
  expect_everywhere<u64>("add_f64", sum_of<u64, double>);
  expect_in_lds<u32>("ds_add_f32", "ds_add_rtn_f32", sum_of<u32, float>);
  expect_in_lds<u64>("ds_add_f64", "ds_add_rtn_f64", sum_of<u64, double>);
  for (const bool largest : {false, true}) {
    const std::string name = largest ? "max" : "min";
    const auto singles = [largest](u32 a, u32 b) { return extreme_of<u32, float>(a, b, largest); };
    const auto doubles = [largest](u64 a, u64 b) { return extreme_of<u64, double>(a, b, largest); };
    expect_everywhere<u64>(name + "_f64", doubles);
    expect_in_lds<u32>("ds_" + name + "_f32", "ds_" + name + "_rtn_f32", singles);
    expect_in_lds<u64>("ds_" + name + "_f64", "ds_" + name + "_rtn_f64", doubles);
  }
}

TEST_F(AtomicsTest, PairsOfShortFloats) {
  struct Case {
    u32 memory, data, sum;
  };
  // 1 + 2 and 0.5 + -0.5; the largest + the largest; infinity - infinity and a signaling NaN; denormals.
  const std::vector<Case> halves{{0x3C00'3800, 0x4000'B800, 0x4200'0000},
                                 {0x7BFF'0001, 0x7BFF'0002, 0x7C00'0003},
                                 {0x7C00'7D01, 0xFC00'3C00, 0xFE00'7F01}};
  // 1 + 2, 1 + 2^-8 (a tie, to even), 1.0078125 + 2^-8 (up); infinity - infinity; a NaN in the data.
  const std::vector<Case> bf16{{0x3F80'3F80, 0x4000'3B80, 0x4040'3F80},
                               {0x3F81'7F80, 0x3B80'FF80, 0x3F82'FFC0},
                               {0x3F80'0001, 0xFF81'0001, 0xFFC1'0002}};
  const auto run = [&](const std::string& text, const Case& each) {
    set_words<u32>(std::vector<u32>(8, each.memory));
    one_.set_exec(1);
    one_.v(0)[0] = static_cast<u32>(address_);
    one_.v(1)[0] = static_cast<u32>(address_ >> 32);
    one_.v(2)[0] = 0;
    one_.v(4)[0] = each.data;
    one_.run(text, Generation::cdna4);
    EXPECT_EQ(words<u32>(text.starts_with("ds_"))[0], each.sum) << text << std::hex << ": " << each.data;
  };
  for (const auto& [name, cases] : {std::pair("f16", halves), std::pair("bf16", bf16)}) {
    for (const Case& each : cases) {
      const std::string type = name;
      run("global_atomic_pk_add_" + type + " v[0:1], v4, off", each);
      run("flat_atomic_pk_add_" + type + " v[0:1], v4", each);
      run("buffer_atomic_pk_add_" + type + " v4, v2, s[8:11], 0 offen", each);
      run("ds_pk_add_" + type + " v2, v4", each);
      run("ds_pk_add_rtn_" + type + " v12, v2, v4", each);
      EXPECT_EQ(one_.v(12)[0], each.memory);
    }
  }
  EXPECT_NE(failure_of([&] { one_.run("buffer_atomic_pk_add_bf16 v4, v2, s[8:11], 0 offen"); }).find("not implemented"),
            std::string::npos);  // on CDNA3
}

TEST_F(AtomicsTest, ComparedFirst) {
  one_.set_exec(3);
  for (u32 lane = 0; lane < 2; ++lane) {
    one_.v(0)[lane] = static_cast<u32>(address_ + 8 * lane);
    one_.v(1)[lane] = static_cast<u32>(address_ >> 32);
    one_.v(2)[lane] = 8 * lane;
    one_.v(8)[lane] = 0x1111 * (lane + 1);  // the new value, 64 bits
    one_.v(9)[lane] = 0x3333;
    one_.v(10)[lane] = 70 + lane;  // what it is compared with: only lane 1's is there
    one_.v(11)[lane] = 0;
  }
  // Memory: 71 twice, as words of 64 bits.
  const std::vector<u64> before{71, 71, 0, 0, 0, 0, 0, 0};
  const auto run = [&](const std::string& text, u64 expected) {
    set_words(before);
    one_.v(12).fill(0);
    one_.v(13).fill(0);
    one_.run(text);
    const auto got = words<u64>(text.starts_with("ds_"));
    EXPECT_EQ(got[0], 71U) << text;
    EXPECT_EQ(got[1], expected) << text;
    if (text.find("sc0") != std::string::npos || text.find("rtn") != std::string::npos) {
      EXPECT_EQ(one_.v(12)[0], 71U) << text;
      EXPECT_EQ(one_.v(12)[1], 71U) << text;
      EXPECT_EQ(one_.v(13)[1], 0U) << text;
    }
  };
  constexpr u64 kNew32 = 0x2222;
  constexpr u64 kNew64 = 0x3333'0000'2222;
  one_.run("v_mov_b32_e32 v4, v8");
  one_.run("v_mov_b32_e32 v5, v10");  // v[4:5]: new and compared, 32 bits each
  run("global_atomic_cmpswap v[0:1], v[4:5], off", kNew32);
  run("global_atomic_cmpswap v12, v[0:1], v[4:5], off sc0", kNew32);
  run("flat_atomic_cmpswap v12, v[0:1], v[4:5] sc0", kNew32);
  run("global_atomic_cmpswap_x2 v[12:13], v[0:1], v[8:11], off sc0", kNew64);
  run("flat_atomic_cmpswap_x2 v[0:1], v[8:11]", kNew64);
  run("buffer_atomic_cmpswap v[4:5], v2, s[8:11], 0 offen", kNew32);
  run("buffer_atomic_cmpswap_x2 v[8:11], v2, s[8:11], 0 offen", kNew64);
  // LDS has the compared value first, the new one second.
  run("ds_cmpst_b32 v2, v10, v8", kNew32);
  run("ds_cmpst_rtn_b32 v12, v2, v10, v8", kNew32);
  run("ds_cmpst_b64 v2, v[10:11], v[8:9]", kNew64);
  run("ds_cmpst_rtn_b64 v[12:13], v2, v[10:11], v[8:9]", kNew64);
}

TEST_F(AtomicsTest, FloatsComparedFirst) {
  set_words<u32>({0x8000'0000, 0x7FC0'0000, 0, 0, 0, 0, 0, 0});  // -0, NaN
  one_.set_exec(3);
  one_.v(2)[0] = 0;
  one_.v(2)[1] = 4;
  one_.v(4)[0] = 0;            // equals -0
  one_.v(4)[1] = 0x7FC0'0000;  // equals nothing
  one_.v(5).fill(9);
  one_.run("ds_cmpst_f32 v2, v4, v5");
  EXPECT_EQ(words<u32>(true)[0], 9U);
  EXPECT_EQ(words<u32>(true)[1], 0x7FC0'0000U);
}

TEST_F(AtomicsTest, MaskedBitsAndTwoExchanges) {
  set_words<u64>({0xF0F0'F0F0'1234'5678, 1, 2, 3, 4, 5, 6, 7});
  one_.set_exec(1);
  one_.v(2).fill(0);
  one_.v(4).fill(0x0000'FFFF);
  one_.v(5).fill(0xFFFF'0000);
  one_.v(6).fill(0x0000'9999);
  one_.v(7).fill(0x1111'0000);
  one_.run("ds_mskor_rtn_b32 v12, v2, v4, v6");
  EXPECT_EQ(one_.v(12)[0], 0x1234'5678U);
  EXPECT_EQ(words<u64>(true)[0], 0xF0F0'F0F0'1234'9999U);
  one_.run("ds_mskor_b64 v2, v[4:5], v[6:7]");
  EXPECT_EQ(words<u64>(true)[0], 0x1111'F0F0'1234'9999U);
  one_.run("ds_wrxchg2_rtn_b64 v[6:9], v2, v[4:5], v[6:7] offset0:1 offset1:2");
  EXPECT_EQ(one_.v(6)[0], 1U);
  EXPECT_EQ(one_.v(8)[0], 2U);
  EXPECT_EQ(words<u64>(true)[1], 0xFFFF'0000'0000'FFFFU);
  EXPECT_EQ(words<u64>(true)[2], 0x1111'0000'0000'9999U);  // read before old values took its place
  one_.v(4).fill(77);
  one_.v(5).fill(78);
  one_.run("ds_wrxchg2st64_rtn_b32 v[12:13], v2, v4, v5 offset0:0 offset1:1");
  EXPECT_EQ(one_.v(12)[0], 0x1234'9999U);
  EXPECT_EQ(std::to_integer<int>(one_.lds[256]), 78);
}

TEST_F(AtomicsTest, LanesAreCountedOnce) {
  set_words<u32>({0, 100, 0, 0, 0, 0, 0, 0});
  one_.set_exec(0xF0F0);
  one_.s(kM0) = 0;
  one_.v(12).fill(1);
  one_.run("ds_append v12 offset:4");
  EXPECT_EQ(words<u32>(true)[1], 108U);
  EXPECT_EQ(one_.v(12)[4], 100U);
  EXPECT_EQ(one_.v(12)[15], 100U);
  EXPECT_EQ(one_.v(12)[0], 1U);
  one_.set_exec(7);
  one_.run("ds_consume v12 offset:4");
  EXPECT_EQ(words<u32>(true)[1], 105U);
  EXPECT_EQ(one_.v(12)[0], 108U);
  one_.s(kM0) = 16;
  EXPECT_NE(failure_of([&] { one_.run("ds_append v12 offset:4"); }).find("M0 is 0x10"), std::string::npos);
}

TEST_F(AtomicsTest, WordsAreAligned) {
  one_.set_exec(1);
  one_.v(2).fill(4);
  EXPECT_NE(failure_of([&] { one_.run("ds_add_u64 v2, v[4:5]"); }).find("lane 0 updates 8 bytes at 0x4, which is not"),
            std::string::npos);
  EXPECT_NE(
      failure_of([&] { one_.run("buffer_atomic_or_x2 v[4:5], v2, s[8:11], 0 offen"); }).find("which is not aligned"),
      std::string::npos);
}

}  // namespace
}  // namespace octet::sim
