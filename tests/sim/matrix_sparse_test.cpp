// Sparse matrix products: against plain products of the A that the stored elements and their indices stand for.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <string>
#include <vector>

#include "sim/matrix_products.h"

namespace octet::sim {
namespace {

/// Pairs of places among four, the lower first.
constexpr int kPairs[6][2] = {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}};

/// Writes A's stored elements from v0 on and their indices into v40, where set number `set` is used and the others are
/// its complement. What a row stores, two elements for each four along K, is dealt out to the groups of lanes in equal
/// parts; the index of element n of a lane is the bits 2n and 2n + 1 of its set. Returns the dense A, [size, depth].
std::vector<double> place_sparse(const Product& product, OneWave& one, int set, Operands& operands) {
  const int bits = product.a.bits;
  const int stored = product.depth * product.size / kLanes / 2;  // by a lane
  std::vector<double> dense(static_cast<std::size_t>(product.size * product.depth));
  for (int row = 0; row < product.size; ++row) {
    for (int first = 0; first < product.depth; first += 4) {
      const auto& pair = kPairs[operands.next() % 6];
      for (int which = 0; which < 2; ++which) {
        const int k = first + pair[which];
        const int nth = first / 2 + which;  // of those that the row stores
        const Place place{row + product.size * (nth / stored), nth % stored};
        const u64 code = random_code(product.a, operands);
        put(&one.v(0), place, bits, code);
        put(&one.v(40), {place.lane, set * stored + place.item}, 2, static_cast<u64>(pair[which]));
        dense[factor_index(product, 0, row, k)] = product.a.value(code);
      }
    }
  }
  for (int other = 0; other < 16 / stored; ++other) {
    for (int item = 0; other != set && item < stored; ++item) {
      for (int lane = 0; lane < kLanes; ++lane) {
        const u32 index = one.v(40)[static_cast<std::size_t>(lane)] >> (2 * (set * stored + item)) & 3U;
        put(&one.v(40), {lane, other * stored + item}, 2, index ^ 3U);
      }
    }
  }
  return dense;
}

void expect_sparse(const Product& product, int set) {
  SCOPED_TRACE(product.mnemonic + product.modifiers);
  OneWave one;
  Operands operands;
  const std::vector<double> a = place_sparse(product, one, set, operands);
  const Matrix b = random_factor(product, product.b, operands, &one.v(16));
  fill_addend(product, one, operands);
  const int results = result_registers(product);
  const std::vector<Lanes> c(&one.a(0), &one.a(0) + results);
  one.set_exec(0);
  one.run(product.mnemonic + " " + registers('a', 0, results) + ", " +
              registers('v', 0, factor_registers(product, product.a) / 2) + ", " +
              registers('v', 16, factor_registers(product, product.b)) + ", v40" + product.modifiers,
          product.generation);
  for (int row = 0; row < product.size; ++row) {
    for (int column = 0; column < product.size; ++column) {
      double sum = 0;
      double magnitude = 0;
      for (int k = 0; k < product.depth; ++k) {
        const double term = a[factor_index(product, 0, row, k)] * b.values[factor_index(product, 0, column, k)];
        sum += term;
        magnitude += std::fabs(term);
      }
      const Place place = result_place(product, 0, row, column);
      expect_result(product, get(&one.a(0), place, 32), get(c.data(), place, 32), sum, magnitude);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(SparseMatrix, SixteenBits) {
  for (const auto& [name, element] : {std::pair("_f16", elements::kHalf), {"_bf16", elements::kBf16}}) {
    const auto run = [end = std::string(name), elements = element](const char* shape, int size, int depth,
                                                                   Generation generation, int set,
                                                                   const std::string& modifiers) {
      expect_sparse({std::string("v_smfmac_f32_") + shape + end, generation, size, depth, 1, elements, elements,
                     ResultType::single, modifiers},
                    set);
    };
    for (int set = 0; set < 4; ++set) {
      run("16x16x32", 16, 32, kCdna3, set, set == 0 ? "" : " abid:" + std::to_string(set));
      run("32x32x16", 32, 16, kCdna4, set, set == 0 ? "" : " abid:" + std::to_string(set));
    }
    run("16x16x32", 16, 32, kCdna3, 0, " cbsz:3 abid:1");  // with cbsz it is the first set, whatever abid is
    run("16x16x64", 16, 64, kCdna4, 0, "");
    run("32x32x32", 32, 32, kCdna4, 1, " abid:1");
  }
}

TEST(SparseMatrix, Integers) {
  const auto run = [](const char* shape, int size, int depth, Generation generation, int set,
                      const std::string& modifiers) {
    expect_sparse({std::string("v_smfmac_i32_") + shape + "_i8", generation, size, depth, 1, elements::kInt8,
                   elements::kInt8, ResultType::integer, modifiers},
                  set);
  };
  run("16x16x64", 16, 64, kCdna3, 0, "");
  run("16x16x64", 16, 64, kCdna4, 1, " abid:1");
  run("32x32x32", 32, 32, kCdna3, 0, " cbsz:1 abid:1");
  run("32x32x32", 32, 32, kCdna4, 1, " abid:1");
  run("16x16x128", 16, 128, kCdna4, 0, "");
  run("32x32x64", 32, 64, kCdna4, 0, "");
}

TEST(SparseMatrix, Fp8) {
  struct Formats {
    const char* names;
    Generation generation;
    Element a, b;
  };
  for (const auto& [names, generation, a, b] : {Formats{"fp8_fp8", kCdna3, elements::kFp8Fnuz, elements::kFp8Fnuz},
                                                {"fp8_bf8", kCdna3, elements::kFp8Fnuz, elements::kBf8Fnuz},
                                                {"bf8_fp8", kCdna3, elements::kBf8Fnuz, elements::kFp8Fnuz},
                                                {"bf8_bf8", kCdna3, elements::kBf8Fnuz, elements::kBf8Fnuz},
                                                {"fp8_fp8", kCdna4, elements::kFp8Ocp, elements::kFp8Ocp},
                                                {"fp8_bf8", kCdna4, elements::kFp8Ocp, elements::kBf8Ocp},
                                                {"bf8_fp8", kCdna4, elements::kBf8Ocp, elements::kFp8Ocp},
                                                {"bf8_bf8", kCdna4, elements::kBf8Ocp, elements::kBf8Ocp}}) {
    const auto run = [&, of = generation, left = a, right = b, end = std::string(names)](const char* shape, int size,
                                                                                         int depth) {
      expect_sparse({std::string("v_smfmac_f32_") + shape + end, of, size, depth, 1, left, right}, 0);
    };
    run("16x16x64_", 16, 64);
    run("32x32x32_", 32, 32);
    if (generation == kCdna3) continue;
    run("16x16x128_", 16, 128);
    run("32x32x64_", 32, 64);
  }
}

/// An element by the group of lanes that has it and its number in a lane.
struct InGroup {
  int group, item;
};

/// With all of A zero but for one element in each row, and of B in each column, whether these two meet; the first two
/// of each four are those stored.
bool meet(const char* mnemonic, int bits, u64 unit, const InGroup& a, const InGroup& b) {
  OneWave one;
  for (std::size_t dword = 0; dword < 48; ++dword) one.v(dword).fill(dword == 40 ? 0x4444'4444 : 0);
  for (int row = 0; row < 16; ++row) {
    put(&one.v(0), {16 * a.group + row, a.item}, bits, unit);
    put(&one.v(16), {16 * b.group + row, b.item}, bits, unit);
  }
  one.run(std::string(mnemonic) + " v[44:47], v[0:3], v[16:23], v40", kCdna4);
  return one.v(44)[0] == std::bit_cast<u32>(1.0F);
}

/// What was found on a gfx950 by such experiments, and that nothing else meets the same element of A.
TEST(SparseMatrix, GroupsThatMeetOnHardware) {
  struct Case {
    InGroup a, b;
  };
  const auto expect = [](const char* mnemonic, int bits, u64 unit, const Case& found) {
    for (int group = 0; group < 4; ++group) {
      for (int item = 0; item < 256 / bits; ++item) {
        EXPECT_EQ(meet(mnemonic, bits, unit, found.a, {group, item}), group == found.b.group && item == found.b.item)
            << mnemonic << ": A " << found.a.item << " of " << found.a.group << ", B " << item << " of " << group;
      }
    }
  };
  for (const Case& found :
       {Case{{1, 0}, {2, 0}}, {{2, 0}, {0, 8}}, {{0, 4}, {1, 0}}, {{3, 4}, {3, 8}}, {{0, 2}, {0, 4}}}) {
    expect("v_smfmac_f32_16x16x64_f16", 16, 0x3C00, found);
  }
  for (const Case& found : {Case{{1, 0}, {2, 0}}, {{2, 0}, {0, 16}}, {{0, 8}, {1, 0}}, {{2, 8}, {1, 16}}}) {
    expect("v_smfmac_f32_16x16x128_fp8_fp8", 8, 0x38, found);
  }
}

/// Infinity in B where A stores nothing is not multiplied by zero.
TEST(SparseMatrix, WhatIsNotStoredTakesNoPart) {
  OneWave one;
  one.v(0).fill(0x3C00'3C00);  // 1 and 1 in f16
  one.v(1).fill(0x3C00'3C00);
  for (std::size_t dword = 16; dword < 20; ++dword) one.v(dword).fill(dword % 2 == 0 ? 0x3C00'3C00 : 0x7C00'7C00);
  one.v(40).fill(0b0100'0100);  // the first two of each four
  one.run("v_smfmac_f32_16x16x32_f16 v[4:7], v[0:1], v[16:19], v40");
  EXPECT_EQ(std::bit_cast<float>(one.v(4)[0]), 16);
  one.v(40).fill(0b0100'1100);  // once the fourth
  one.run("v_smfmac_f32_16x16x32_f16 v[4:7], v[0:1], v[16:19], v40");
  EXPECT_TRUE(std::isinf(std::bit_cast<float>(one.v(4)[0])));
}

}  // namespace
}  // namespace octet::sim
