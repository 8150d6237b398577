// What the instructions for matrix products share: factors out of registers, sums of products, results into registers.
// Products and sums are formed in double precision, where products of all formats but doubles are exact, and rounded
// once. Denormals are kept (AMD CDNA4 ISA, 7.4), and EXEC is not heeded.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "sim/semantics/float_lanes.h"
#include "sim/semantics/matrix_layout.h"
#include "sim/semantics/number_formats.h"

namespace octet::sim {

/// Signed integers of 8 bits.
struct Int8 {
  static constexpr std::size_t kBits = 8;
  static double value(u32 code) { return static_cast<double>(static_cast<i8>(code)); }
};

/// From which lane each lane takes an operand; where none is given, each takes its own.
using LaneSources = std::array<u8, kLanes>;

/// Calls use(lane, item, value) for each of the `Count` elements that each lane has in the registers of `operand`.
template <typename Element, std::size_t Count, typename Use>
void for_elements(const Wave& wave, const Operand& operand, const LaneSources* from, const Use& use) {
  constexpr std::size_t kPerDword = 32 / Element::kBits;
  constexpr u32 kMask = ~u32{0} >> (32 - Element::kBits);
  static_assert(32 % Element::kBits == 0 && Count % kPerDword == 0);
  Lanes buffer;
  Lanes moved;
  for (std::size_t dword = 0; dword < Count / kPerDword; ++dword) {
    const Lanes* bits = &read_lanes(wave, operand, dword, buffer);
    if (from != nullptr) {
      for (std::size_t lane = 0; lane < kLanes; ++lane) moved[lane] = (*bits)[(*from)[lane]];
      bits = &moved;
    }
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      for (std::size_t part = 0; part < kPerDword; ++part) {
        use(lane, dword * kPerDword + part, Element::value((*bits)[lane] >> (Element::kBits * part) & kMask));
      }
    }
  }
}

template <typename S>
struct Factors {
  alignas(64) double a[S::kBlocks][S::kSize][S::kDepth];
  alignas(64) double b[S::kBlocks][S::kDepth][S::kSize];
};

template <typename S, typename Element>
void unpack_a(const Wave& wave, const Operand& operand, Factors<S>& factors, const LaneSources* from = nullptr) {
  for_elements<Element, S::kPerLane>(wave, operand, from, [&](std::size_t lane, std::size_t item, double value) {
    const FactorPlace at = factor_place<S, Element::kBits>(lane, item);
    factors.a[at.block][at.row][at.k] = value;
  });
}

template <typename S, typename Element>
void unpack_b(const Wave& wave, const Operand& operand, Factors<S>& factors, const LaneSources* from = nullptr) {
  for_elements<Element, S::kPerLane>(wave, operand, from, [&](std::size_t lane, std::size_t item, double value) {
    const FactorPlace at = factor_place<S, Element::kBits>(lane, item);
    factors.b[at.block][at.k][at.row] = value;
  });
}

template <typename S>
struct Sums {
  alignas(64) double at[S::kBlocks][S::kSize][S::kSize];
};

/// sums += A B over k in [first, end).
template <typename S>
void add_products(const Factors<S>& factors, std::size_t first, std::size_t end, Sums<S>& sums) {
  constexpr std::size_t kColumns = std::min<std::size_t>(S::kSize, 16);  // as many sums as stay in registers
  for (std::size_t block = 0; block < S::kBlocks; ++block) {
    for (std::size_t row = 0; row < S::kSize; ++row) {
      for (std::size_t column = 0; column < S::kSize; column += kColumns) {
        double* to = sums.at[block][row] + column;
        std::array<double, kColumns> sum;
        std::copy_n(to, kColumns, sum.begin());
        for (std::size_t k = first; k < end; ++k) {
          const double a = factors.a[block][row][k];
          const double* b = factors.b[block][k] + column;
          for (std::size_t n = 0; n < kColumns; ++n) sum[n] += a * b[n];
        }
        std::copy_n(sum.begin(), kColumns, to);
      }
    }
  }
}

/// How a sum is added to an element of C.
struct FloatResult {
  static u32 add(double sum, u32 addend) { return Single::code(sum + double{as_float(addend)}); }
};
/// Modulo 2^32: sums of products of bytes are far from the end of a double's integers.
struct IntegerResult {
  static u32 add(double sum, u32 addend) { return addend + static_cast<u32>(static_cast<i64>(sum)); }
};

/// D = sums + C in all lanes, after all of C has been read.
template <typename S, typename Result>
void finish(Wave& wave, const Operand& d, const Operand& c, const Sums<S>& sums) {
  using Layout = ResultLayout<S>;
  std::array<Lanes, Layout::kItems> results;
  for (std::size_t item = 0; item < Layout::kItems; ++item) {
    Lanes buffer;
    const Lanes& addend = read_lanes(wave, c, c.bank == Bank::literal ? 0 : item, buffer);
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const ResultPlace at = Layout::place(lane, item);
      results[item][lane] = Result::add(sums.at[at.block][at.row][at.column], addend[lane]);
    }
  }
  for (std::size_t item = 0; item < Layout::kItems; ++item) vector_row(wave, d, item) = results[item];
}

}  // namespace octet::sim
