// Matrix products against plain ones, whose operands are laid out here as the ISA documents draw them.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "core/error.h"
#include "fp8/bf16.h"
#include "fp8/formats.h"
#include "sim/one_wave.h"

namespace octet::sim {
namespace {

using fp8::Format;

/// Codes of an element in `bits` bits, and their values.
struct Element {
  int bits;
  std::function<float(u32 code)> value;
};

template <Format F>
Element byte_element() {
  return {8, [](u32 code) { return fp8::decode(fp8::Code<F>{static_cast<std::uint8_t>(code)}); }};
}
const Element kBf16{16, [](u32 code) { return to_float(bf16{static_cast<std::uint16_t>(code)}); }};
const Element kSingle{32, [](u32 code) { return std::bit_cast<float>(code); }};

struct Product {
  std::string mnemonic;
  int size;  ///< M and N
  int k;
  Element a, b;
  Generation generation;
  std::string modifiers{};
};

/// The code of a random finite value of moderate size.
u32 random_code(const Element& element, Operands& operands) {
  for (;;) {
    const u32 code = element.bits == 32
                         ? std::bit_cast<u32>(static_cast<float>(static_cast<i32>(operands.next() % 201) - 100))
                         : operands.next() * 2654435761U >> (32 - element.bits);
    const float value = element.value(code);
    if (std::isfinite(value) && std::fabs(value) < 1024 && (value == 0 || std::fabs(value) > 0x1p-10F)) return code;
  }
}

/// Of an element of a matrix whose rows have so many elements.
std::size_t index(int row, int width, int column) {
  return static_cast<std::size_t>(row) * static_cast<std::size_t>(width) + static_cast<std::size_t>(column);
}

struct Matrix {
  std::vector<u32> codes;      ///< [size, k]
  std::vector<double> values;  ///< [size, k]
};

Matrix random_matrix(const Product& product, const Element& element, Operands& operands) {
  Matrix matrix;
  for (int i = 0; i < product.size * product.k; ++i) {
    matrix.codes.push_back(random_code(element, operands));
    matrix.values.push_back(double{element.value(matrix.codes.back())});
  }
  return matrix;
}

/// Writes [size, k] into the registers from `first` on: lane l holds row l mod size. Of its elements, runs of at most
/// 16 bytes are neighbours along k; the lanes of a row take turns with the runs.
void place(OneWave& one, std::size_t first, const Product& product, const Element& element, const Matrix& matrix) {
  const int groups = kLanes / product.size;
  const int per_lane = product.k / groups;
  const int run = std::min(per_lane, 128 / element.bits);
  for (int lane = 0; lane < kLanes; ++lane) {
    for (int j = 0; j < per_lane; ++j) {
      const int k = (j / run * groups + lane / product.size) * run + j % run;
      const u32 code = matrix.codes[index(lane % product.size, product.k, k)];
      const int bit = j * element.bits;
      u32& dword = one.v(first + static_cast<std::size_t>(bit / 32))[static_cast<std::size_t>(lane)];
      dword = (bit % 32 == 0 ? 0 : dword) | code << bit % 32;
    }
  }
}

/// Where element [row, column] of C and D lies: its register and its lane.
std::pair<std::size_t, std::size_t> place_of_result(int size, int row, int column) {
  if (size == 16) return {static_cast<std::size_t>(row % 4), static_cast<std::size_t>(row / 4 * 16 + column)};
  return {static_cast<std::size_t>(row / 8 * 4 + row % 4), static_cast<std::size_t>(row % 8 / 4 * 32 + column)};
}

std::string span_of(char bank, int first, int count) {
  if (count == 1) return bank + std::to_string(first);
  return std::string(1, bank) + "[" + std::to_string(first) + ":" + std::to_string(first + count - 1) + "]";
}

using Scale = std::function<double(int row_or_column, int k)>;

/// Runs D = A B + C with C in AGPRs and in place, and compares with a plain product whose every rounding is known.
void expect_product(const Product& product, const std::string& scales = "", OneWave* prepared = nullptr,
                    const Scale& scale_a = nullptr, const Scale& scale_b = nullptr) {
  OneWave fresh;
  OneWave& one = prepared == nullptr ? fresh : *prepared;
  Operands operands;
  const Matrix a = random_matrix(product, product.a, operands);
  const Matrix b = random_matrix(product, product.b, operands);
  place(one, 0, product, product.a, a);
  place(one, 16, product, product.b, b);
  const int results = product.size * product.size / kLanes;
  for (std::size_t part = 0; part < static_cast<std::size_t>(results); ++part) {
    for (u32& lane : one.a(part)) lane = std::bit_cast<u32>(static_cast<float>(operands.next() % 1000));
  }
  const std::vector<Lanes> c(&one.a(0), &one.a(0) + results);
  const int per_lane = product.k * product.size / kLanes;
  const std::string sums = span_of('a', 0, results);
  one.set_exec(0x1234);  // which these instructions do not heed
  one.run(product.mnemonic + " " + sums + ", " + span_of('v', 0, per_lane * product.a.bits / 32) + ", " +
              span_of('v', 16, per_lane * product.b.bits / 32) + ", " + sums + scales + product.modifiers,
          product.generation);
  for (int row = 0; row < product.size; ++row) {
    for (int column = 0; column < product.size; ++column) {
      const auto [part, lane] = place_of_result(product.size, row, column);
      double sum = 0;
      double magnitude = 0;
      for (int k = 0; k < product.k; ++k) {
        double term = a.values[index(row, product.k, k)] * b.values[index(column, product.k, k)];
        if (scale_a) term *= scale_a(row, k) * scale_b(column, k);
        sum += term;
        magnitude += std::fabs(term);
      }
      const double before = double{std::bit_cast<float>(c[part][lane])};
      const double got = double{std::bit_cast<float>(one.a(part)[lane])};
      ASSERT_NEAR(got, sum + before, 0x1p-23 * std::fabs(sum + before) + 0x1p-46 * magnitude)
          << product.mnemonic << " " << row << ", " << column;
    }
  }
}

TEST(Matrix, Fp8) {
  for (const auto& [size, k] : {std::pair(16, 32), {32, 16}}) {
    const std::string shape = std::to_string(size) + "x" + std::to_string(size) + "x" + std::to_string(k) + "_";
    const auto fnuz_fp8 = byte_element<Format::e4m3fnuz>();
    const auto fnuz_bf8 = byte_element<Format::e5m2fnuz>();
    const auto ocp_fp8 = byte_element<Format::e4m3fn>();
    const auto ocp_bf8 = byte_element<Format::e5m2>();
    expect_product({"v_mfma_f32_" + shape + "fp8_fp8", size, k, fnuz_fp8, fnuz_fp8, Generation::cdna3});
    expect_product({"v_mfma_f32_" + shape + "fp8_bf8", size, k, fnuz_fp8, fnuz_bf8, Generation::cdna3});
    expect_product({"v_mfma_f32_" + shape + "bf8_fp8", size, k, fnuz_bf8, fnuz_fp8, Generation::cdna3});
    expect_product({"v_mfma_f32_" + shape + "bf8_bf8", size, k, fnuz_bf8, fnuz_bf8, Generation::cdna3});
    expect_product({"v_mfma_f32_" + shape + "fp8_fp8", size, k, ocp_fp8, ocp_fp8, Generation::cdna4});
    expect_product({"v_mfma_f32_" + shape + "bf8_fp8", size, k, ocp_bf8, ocp_fp8, Generation::cdna4});
  }
}

TEST(Matrix, Bf16AndSingle) {
  expect_product({"v_mfma_f32_16x16x16_bf16", 16, 16, kBf16, kBf16, Generation::cdna3});
  expect_product({"v_mfma_f32_32x32x8_bf16", 32, 8, kBf16, kBf16, Generation::cdna3});
  expect_product({"v_mfma_f32_16x16x32_bf16", 16, 32, kBf16, kBf16, Generation::cdna4});
  expect_product({"v_mfma_f32_32x32x16_bf16", 32, 16, kBf16, kBf16, Generation::cdna4});
  expect_product({"v_mfma_f32_16x16x4_f32", 16, 4, kSingle, kSingle, Generation::cdna3});
  expect_product({"v_mfma_f32_32x32x2_f32", 32, 2, kSingle, kSingle, Generation::cdna3});
  OneWave one;
  EXPECT_THROW(one.run("v_mfma_f32_16x16x32_bf16 v[0:3], v[4:7], v[8:11], 0", Generation::cdna3), Failure);
}

TEST(Matrix, NamedFormats) {
  const auto fp8 = byte_element<Format::e4m3fn>();
  const auto bf8 = byte_element<Format::e5m2>();
  expect_product({"v_mfma_f32_16x16x128_f8f6f4", 16, 128, fp8, fp8, Generation::cdna4});
  expect_product({"v_mfma_f32_32x32x64_f8f6f4", 32, 64, bf8, fp8, Generation::cdna4, " cbsz:1"});
  expect_product({"v_mfma_f32_32x32x64_f8f6f4", 32, 64, fp8, bf8, Generation::cdna4, " blgp:1"});
  OneWave one;
  EXPECT_THROW(one.run("v_mfma_f32_32x32x64_f8f6f4 v[0:15], v[16:23], v[24:31], 0 cbsz:4", Generation::cdna4), Failure);
}

TEST(Matrix, BlockScales) {
  for (const auto& [size, k] : {std::pair(16, 128), {32, 64}}) {
    OneWave one;
    for (u32 lane = 0; lane < kLanes; ++lane) {
      one.v(40)[lane] = (120 + lane % 13) << 16 | 0x11;           // byte 2
      one.v(41)[lane] = (124 + lane / 7 % 5) << 8 | 0x2200'0000;  // byte 1
    }
    const int rows = size;
    const auto scale_a = [&one, rows](int row, int at) {
      const auto code = static_cast<int>(one.v(40)[index(at / 32, rows, row)] >> 16 & 0xFFU);
      return std::exp2(code - 127);
    };
    const auto scale_b = [&one, rows](int column, int at) {
      const auto code = static_cast<int>(one.v(41)[index(at / 32, rows, column)] >> 8 & 0xFFU);
      return std::exp2(code - 127);
    };
    const auto fp8 = byte_element<Format::e4m3fn>();
    const std::string shape = size == 16 ? "16x16x128" : "32x32x64";
    expect_product({"v_mfma_scale_f32_" + shape + "_f8f6f4", size, k, fp8, fp8, Generation::cdna4,
                    " op_sel:[0,1,0] op_sel_hi:[1,0,0]"},
                   ", v40, v41", &one, scale_a, scale_b);
  }
}

TEST(Matrix, ALiteralAddendAndNan) {
  OneWave one;
  one.v(0).fill(0x3838'3838);
  one.v(1).fill(0x3838'3838);
  one.run("v_mfma_f32_16x16x32_fp8_fp8 v[4:7], v[0:1], v[0:1], 2.0", Generation::cdna4);
  for (std::size_t part = 4; part < 8; ++part) EXPECT_EQ(std::bit_cast<float>(one.v(part)[9]), 34);
  one.v(0)[3] = 0x3838'7F38;  // of row and column 3
  one.run("v_mfma_f32_16x16x32_fp8_fp8 v[4:7], v[0:1], v[0:1], 0", Generation::cdna4);
  EXPECT_TRUE(std::isnan(std::bit_cast<float>(one.v(7)[9])));  // row 3
  EXPECT_TRUE(std::isnan(std::bit_cast<float>(one.v(4)[3])));  // column 3
  EXPECT_EQ(std::bit_cast<float>(one.v(4)[9]), 32);
}

}  // namespace
}  // namespace octet::sim
