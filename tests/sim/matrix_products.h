// Matrix instructions against plain products, for tests: number formats, operands laid out as the ISA documents and
// AMD's matrix instruction calculator do it (from an element to its lane, the other way round than the simulator
// computes).
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "sim/elements.h"
#include "sim/one_wave.h"

namespace octet::sim {

enum class ResultType { single, integer, twice };

/// An instruction D[b] = A[b] B[b] + C[b] with A [size, depth], B [depth, size], C and D [size, size].
struct Product {
  std::string mnemonic;
  Generation generation;
  int size, depth, blocks;
  Element a, b;
  ResultType result = ResultType::single;
  std::string modifiers{};
};

/// Of an element in the registers of an operand: the lane, and which of the lane's elements.
struct Place {
  int lane, item;
};

/// Of A[block, row, k], or of B[block, k, row].
[[nodiscard]] inline Place factor_place(const Product& product, int bits, int block, int row, int k) {
  const int groups = kLanes / (product.size * product.blocks);
  const int per_lane = product.depth / groups;
  const int run = bits == 6 ? per_lane : std::min(per_lane, 128 / bits);
  const int group = k / run % groups;
  return {row + product.size * (block + product.blocks * group), k / run / groups * run + k % run};
}

[[nodiscard]] inline Place result_place(const Product& product, int block, int row, int column) {
  const int height = product.result == ResultType::twice ? 1 : 4;
  const int area = product.size * product.size;
  const int blocks_per_item = std::max(1, kLanes * height / area);
  const int rows_per_item = std::max(1, kLanes / product.size / blocks_per_item);
  const int group = row / height;
  const int items = area * blocks_per_item / kLanes;  // of a block
  return {block % blocks_per_item * product.size + group % rows_per_item * blocks_per_item * product.size + column,
          block / blocks_per_item * items + group / rows_per_item * height + row % height};
}

/// Element `place.item` of so many bits in the registers from `first` on, the first item in the lowest bits.
inline void put(Lanes* first, const Place& place, int bits, u64 code) {
  for (int bit = 0; bit < bits; ++bit) {
    const int at = place.item * bits + bit;
    u32& dword = first[at / 32][static_cast<std::size_t>(place.lane)];
    dword = (dword & ~(1U << at % 32)) | static_cast<u32>(code >> bit & 1) << at % 32;
  }
}

/// Of 32 or 64 bits.
[[nodiscard]] inline u64 get(const Lanes* first, const Place& place, int bits) {
  const auto lane = static_cast<std::size_t>(place.lane);
  if (bits == 32) return first[place.item][lane];
  return first[2 * place.item][lane] | u64{first[2 * place.item + 1][lane]} << 32;
}

/// The code of a random finite value of moderate size; of the wide formats an integer.
[[nodiscard]] inline u64 random_code(const Element& element, Operands& operands) {
  const double integer = static_cast<double>(operands.next() % 201) - 100;
  if (element.bits == 64) return std::bit_cast<u64>(integer);
  if (element.bits == 32) return std::bit_cast<u32>(static_cast<float>(integer));
  for (;;) {
    const u32 code = operands.next() * 2654435761U >> (32 - element.bits);
    const double value = element.value(code);
    if (std::isfinite(value) && std::fabs(value) < 1024 && (value == 0 || std::fabs(value) > 0x1p-10)) return code;
  }
}

/// Codes of a matrix for each block, and their values.
struct Matrix {
  std::vector<u64> codes;      ///< [blocks, size, depth]
  std::vector<double> values;  ///< [blocks, size, depth]
};

[[nodiscard]] inline std::size_t factor_index(const Product& product, int block, int row, int k) {
  const int index = (block * product.size + row) * product.depth + k;
  return static_cast<std::size_t>(index);
}

/// A random factor, written into the registers from `first` on.
[[nodiscard]] inline Matrix random_factor(const Product& product, const Element& element, Operands& operands,
                                          Lanes* first) {
  Matrix matrix;
  for (int block = 0; block < product.blocks; ++block) {
    for (int row = 0; row < product.size; ++row) {
      for (int k = 0; k < product.depth; ++k) {
        const u64 code = random_code(element, operands);
        put(first, factor_place(product, element.bits, block, row, k), element.bits, code);
        matrix.codes.push_back(code);
        matrix.values.push_back(element.value(code));
      }
    }
  }
  return matrix;
}

/// "v4", "a[0:15]".
[[nodiscard]] inline std::string registers(char bank, int first, int count) {
  if (count == 1) return bank + std::to_string(first);
  return std::string(1, bank) + "[" + std::to_string(first) + ":" + std::to_string(first + count - 1) + "]";
}

/// How many registers a factor of that format has.
[[nodiscard]] inline int factor_registers(const Product& product, const Element& element) {
  return product.depth * product.size * product.blocks * element.bits / kLanes / 32;
}

[[nodiscard]] inline int result_registers(const Product& product) {
  return product.blocks * product.size * product.size / kLanes * (product.result == ResultType::twice ? 2 : 1);
}

/// Fills C, in AGPRs, with integers as single, double or integer.
inline void fill_addend(const Product& product, OneWave& one, Operands& operands) {
  for (int block = 0; block < product.blocks; ++block) {
    for (int row = 0; row < product.size; ++row) {
      for (int column = 0; column < product.size; ++column) {
        const Place place = result_place(product, block, row, column);
        const u32 integer = operands.next() % 1000;
        if (product.result == ResultType::twice) {
          put(&one.a(0), place, 64, std::bit_cast<u64>(double{static_cast<float>(integer)}));
        } else {
          const u32 single = std::bit_cast<u32>(static_cast<float>(integer));
          put(&one.a(0), place, 32, product.result == ResultType::integer ? integer : single);
        }
      }
    }
  }
}

/// D as it was computed against sum + C. Integers and doubles, whose products and sums are exact here, are compared bit
/// by bit; floats within their last place, and within what a sum in double precision loses.
inline void expect_result(const Product& product, u64 got, u64 before, double sum, double magnitude) {
  if (product.result == ResultType::integer) {
    ASSERT_EQ(got, static_cast<u32>(static_cast<u32>(before) + static_cast<u32>(static_cast<i64>(sum))));
  } else if (product.result == ResultType::twice) {
    ASSERT_EQ(std::bit_cast<double>(got), std::bit_cast<double>(before) + sum);
  } else {
    const double expected = sum + elements::kSingle.value(before);
    ASSERT_NEAR(elements::kSingle.value(got), expected, 0x1p-23 * std::fabs(expected) + 0x1p-46 * magnitude);
  }
}

/// A factor that scales a product term, by its place.
using Scale = std::function<double(int row, int column, int k)>;

/// Runs D = A B + C with A from v0 and B from v16 on, C in AGPRs and in place, and compares with a plain product.
inline void expect_product(const Product& product, const std::string& more_operands = "", OneWave* prepared = nullptr,
                           const Scale& scale = nullptr) {
  SCOPED_TRACE(product.mnemonic + product.modifiers);
  OneWave fresh;
  OneWave& one = prepared == nullptr ? fresh : *prepared;
  Operands operands;
  const Matrix a = random_factor(product, product.a, operands, &one.v(0));
  const Matrix b = random_factor(product, product.b, operands, &one.v(16));
  fill_addend(product, one, operands);
  const int results = result_registers(product);
  const std::vector<Lanes> c(&one.a(0), &one.a(0) + results);
  const std::string sums = registers('a', 0, results);
  one.set_exec(0x1234);  // which these instructions do not heed
  one.run(product.mnemonic + " " + sums + ", " + registers('v', 0, factor_registers(product, product.a)) + ", " +
              registers('v', 16, factor_registers(product, product.b)) + ", " + sums + more_operands +
              product.modifiers,
          product.generation);
  const int bits = product.result == ResultType::twice ? 64 : 32;
  for (int block = 0; block < product.blocks; ++block) {
    for (int row = 0; row < product.size; ++row) {
      for (int column = 0; column < product.size; ++column) {
        double sum = 0;
        double magnitude = 0;
        for (int k = 0; k < product.depth; ++k) {
          const double term = a.values[factor_index(product, block, row, k)] *
                              b.values[factor_index(product, block, column, k)] * (scale ? scale(row, column, k) : 1);
          sum += term;
          magnitude += std::fabs(term);
        }
        const Place place = result_place(product, block, row, column);
        expect_result(product, get(&one.a(0), place, bits), get(c.data(), place, bits), sum, magnitude);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

}  // namespace octet::sim
