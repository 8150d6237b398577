// FP8 casts and maxima of the row kernels against the scalar cast of fp8/cast.h, byte by byte, at every level of this
// machine.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "fp8/cast.h"
#include "ops/cpu/row_kernels.h"
#include "ops/cpu/unfused_cast.h"
#include "row_kernels_data.h"

namespace octet::ops::cpu {
namespace {

using testing::kFormats;
using testing::levels_of_this_machine;
using testing::Values;

/// Codes of a matrix, what undoes the scale of each row, and the maxima that the scales come from.
struct Codes {
  std::vector<std::uint8_t> codes;
  std::vector<float> scale_inverse;
  std::vector<bf16> amax;
};

template <fp8::Format F>
float cast_one(std::span<const bf16> x, fp8::ScaleRule rule, std::vector<std::uint8_t>& codes) {
  std::vector<fp8::Code<F>> typed(x.size());
  const float scale = fp8::cast_slice<F>(x, typed, rule);
  for (const fp8::Code<F> code : typed) codes.push_back(code.bits);
  return scale;
}

float cast_one(std::span<const bf16> x, fp8::ScaleRule rule, std::vector<std::uint8_t>& codes) {
  switch (rule.format()) {
    case fp8::Format::e4m3fn:
      return cast_one<fp8::Format::e4m3fn>(x, rule, codes);
    case fp8::Format::e4m3fnuz:
      return cast_one<fp8::Format::e4m3fnuz>(x, rule, codes);
    case fp8::Format::e5m2:
      return cast_one<fp8::Format::e5m2>(x, rule, codes);
    case fp8::Format::e5m2fnuz:
      return cast_one<fp8::Format::e5m2fnuz>(x, rule, codes);
  }
  throw std::logic_error("no such format");
}

Codes scalar_cast_of_rows(const std::vector<bf16>& x, Index rows, Index cols, fp8::ScaleRule rule) {
  Codes cast;
  for (Index row = 0; row < rows; ++row) {
    const std::span<const bf16> slice(x.data() + row * cols, static_cast<std::size_t>(cols));
    cast.scale_inverse.push_back(fp8::inverse(cast_one(slice, rule, cast.codes)));
    cast.amax.push_back(fp8::amax(slice));
  }
  return cast;
}

std::vector<bf16> transposed(const std::vector<bf16>& x, Index rows, Index cols) {
  std::vector<bf16> result(x.size());
  for (Index row = 0; row < rows; ++row) {
    for (Index col = 0; col < cols; ++col) {
      result[static_cast<std::size_t>(col * rows + row)] = x[static_cast<std::size_t>(row * cols + col)];
    }
  }
  return result;
}

RowCodes codes_into(Codes& cast, Index rows, Index cols, fp8::ScaleRule rule) {
  cast.codes.assign(static_cast<std::size_t>(rows * cols), 0xAA);
  cast.scale_inverse.assign(static_cast<std::size_t>(rows), -1.0F);
  cast.amax.assign(static_cast<std::size_t>(rows), bf16{0xAAAA});
  return {cast.codes.data(), cast.scale_inverse.data(), cast.amax.data(), rule, true};
}

/// Column maxima as a kernel raises them, before the first row.
using MagnitudeBits = std::vector<std::uint16_t>;
MagnitudeBits no_maxima(Index cols) {
  return MagnitudeBits(static_cast<std::size_t>(cols));
}

MagnitudeBits bits_of(const std::vector<bf16>& x) {
  MagnitudeBits bits;
  for (const bf16 value : x) bits.push_back(value.bits);
  return bits;
}

MagnitudeBits scalar_column_maxima(const std::vector<bf16>& x, Index rows, Index cols) {
  const std::vector<bf16> columns = transposed(x, rows, cols);
  MagnitudeBits maxima;
  for (Index col = 0; col < cols; ++col) {
    maxima.push_back(fp8::amax({columns.data() + col * rows, static_cast<std::size_t>(rows)}).bits);
  }
  return maxima;
}

void expect_same(const Codes& expected, const Codes& actual, const std::string& what) {
  EXPECT_EQ(expected.codes, actual.codes) << what;
  EXPECT_EQ(bits_of(expected.amax), bits_of(actual.amax)) << what;
  ASSERT_EQ(expected.scale_inverse.size(), actual.scale_inverse.size()) << what;
  for (std::size_t i = 0; i < expected.scale_inverse.size(); ++i) {
    EXPECT_EQ(fp8::bits_of(expected.scale_inverse[i]), fp8::bits_of(actual.scale_inverse[i])) << what << " row " << i;
  }
}

std::vector<float> scales_of(const Codes& cast, fp8::ScaleRule rule) {
  std::vector<float> scales;
  for (const bf16 amax : cast.amax) scales.push_back(rule.scale(to_float(amax)));
  return scales;
}

/// A cast of x with one scale per row of each layout that has codes.
ops::Cast cast_by_rows(const std::vector<bf16>& x, Index rows, Index cols, fp8::ScaleRule rule,
                       std::vector<std::uint8_t>* stored, std::vector<std::uint8_t>* turned) {
  const auto layout = [&](std::vector<std::uint8_t>* codes) {
    if (codes == nullptr) return CastLayout{};
    codes->assign(x.size(), 0xAA);
    return CastLayout{.codes = codes->data(), .axis = fp8::ScaleAxis::row};
  };
  return {x.data(), nullptr, nullptr, layout(stored), layout(turned), rule, rows, cols};
}

/// The fused row cast, the maxima, and the casts under known maxima.
void expect_casts_at(CpuIsa isa, const std::vector<bf16>& x, Index rows, Index cols, const Codes& by_row,
                     const Codes& by_column, fp8::ScaleRule rule, const std::string& what) {
  const RowKernels& kernels = row_kernels(isa);
  const MagnitudeBits column_amax = bits_of(by_column.amax);
  Codes cast;
  MagnitudeBits columns = no_maxima(cols);
  kernels.quantize_rows({x.data(), codes_into(cast, rows, cols, rule), {}, rows, cols}, 0, rows, columns.data());
  expect_same(by_row, cast, what + " rows");
  EXPECT_EQ(columns, column_amax) << what << " rows";

  columns = no_maxima(cols);
  kernels.maxima({x.data(), cast.amax.data(), nullptr, rows, cols}, 0, rows, columns.data());
  EXPECT_EQ(bits_of(cast.amax), bits_of(by_row.amax)) << what << " maxima";
  EXPECT_EQ(columns, column_amax) << what << " maxima";

  const std::vector<float> row_scales = scales_of(by_row, rule);
  const std::vector<float> column_scales = scales_of(by_column, rule);
  std::vector<std::uint8_t> stored;
  std::vector<std::uint8_t> turned;
  kernels.cast_as_stored(cast_by_rows(x, rows, cols, rule, &stored, nullptr), row_scales.data(), 0, rows);
  EXPECT_EQ(stored, by_row.codes) << what << " as stored";
  kernels.cast_transposed(cast_by_rows(x, rows, cols, rule, nullptr, &turned), nullptr, column_scales.data(), 0, cols);
  EXPECT_EQ(turned, by_column.codes) << what << " transposed";
  kernels.cast_transposed(cast_by_rows(x, rows, cols, rule, &stored, &turned), row_scales.data(), column_scales.data(),
                          0, cols);
  EXPECT_EQ(stored, by_row.codes) << what << " both";
  EXPECT_EQ(turned, by_column.codes) << what << " both";
}

void expect_casts_of(const std::vector<bf16>& x, Index rows, Index cols) {
  const std::vector<bf16> x_transposed = transposed(x, rows, cols);
  for (const fp8::Format format : kFormats) {
    for (const bool power_of_two : {false, true}) {
      const auto rule = fp8::ScaleRule::of(format, power_of_two);
      const Codes by_row = scalar_cast_of_rows(x, rows, cols, rule);
      const Codes by_column = scalar_cast_of_rows(x_transposed, cols, rows, rule);
      for (const CpuIsa isa : levels_of_this_machine()) {
        const std::string what = std::string(name(isa)) + " " + std::string(fp8::name(format)) + " [" +
                                 std::to_string(rows) + ", " + std::to_string(cols) + "]" +
                                 (power_of_two ? " power of two" : "");
        expect_casts_at(isa, x, rows, cols, by_row, by_column, rule, what);
      }
    }
  }
}

std::vector<bf16> every_bf16() {
  std::vector<bf16> x;
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) x.push_back(bf16{static_cast<std::uint16_t>(bits)});
  return x;
}

// Neighbours share exponents, so that rows of each length see values at the top of the range as well as far below it.
TEST(RowKernelsCast, EveryBf16InRowsOfManyLengths) {
  const std::vector<bf16> x = every_bf16();
  for (const Index cols : {1, 2, 16, 32, 64, 128, 256, 2048, 16384}) expect_casts_of(x, 65536 / cols, cols);
}

// A stride of 257 spreads each row over the exponents; NaN and infinity leave the finite rows alone.
TEST(RowKernelsCast, EveryFiniteBf16AmongOthersOfEachMagnitude) {
  std::vector<bf16> finite;
  for (std::uint32_t i = 0; i < 0x10000; ++i) {
    const bf16 x{static_cast<std::uint16_t>(i * 257)};
    if ((x.bits & 0x7F80U) != 0x7F80U) finite.push_back(x);
  }
  const auto count = static_cast<Index>(finite.size());
  ASSERT_EQ(count, 2 * 0x7F80);
  for (const Index cols : {16, 51, 85, 255, 480}) {
    ASSERT_EQ(count % cols, 0);
    expect_casts_of(finite, count / cols, cols);
  }
}

TEST(RowKernelsCast, OddShapesWithSpecialValues) {
  Values values(1);
  for (const Index rows : {1, 3, 15, 16, 17, 63, 64, 65, 129}) {
    for (const Index cols : {0, 1, 2, 7, 16, 31, 32, 33, 63, 64, 65, 97, 127, 130, 257}) {
      expect_casts_of(values.specials(rows * cols, 200), rows, cols);
    }
  }
}

TEST(RowKernelsCast, RangesOfRowsAndColumnsGiveTheCodesOfTheWhole) {
  Values values(2);
  const Index rows = 70;
  const Index cols = 150;
  const std::vector<bf16> x = values.bf16s(rows * cols);
  const auto rule = fp8::ScaleRule::of(fp8::Format::e4m3fn, false);
  const Codes by_row = scalar_cast_of_rows(x, rows, cols, rule);
  const Codes by_column = scalar_cast_of_rows(transposed(x, rows, cols), cols, rows, rule);
  const RowKernels& kernels = row_kernels(detect_cpu_isa());
  Codes parts;
  MagnitudeBits columns = no_maxima(cols);
  const QuantizeRows fused{x.data(), codes_into(parts, rows, cols, rule), {}, rows, cols};
  for (const auto& [begin, end] : {std::pair{0, 1}, {1, 69}, {69, 70}}) {
    kernels.quantize_rows(fused, begin, end, columns.data());
  }
  expect_same(by_row, parts, "rows");
  EXPECT_EQ(columns, bits_of(by_column.amax));

  const std::vector<float> row_scales = scales_of(by_row, rule);
  const std::vector<float> column_scales = scales_of(by_column, rule);
  std::vector<std::uint8_t> stored;
  std::vector<std::uint8_t> turned;
  const ops::Cast as_stored = cast_by_rows(x, rows, cols, rule, &stored, nullptr);
  for (const auto& [begin, end] : {std::pair{0, 1}, {1, 69}, {69, 70}}) {
    kernels.cast_as_stored(as_stored, row_scales.data(), begin, end);
  }
  EXPECT_EQ(stored, by_row.codes);
  const ops::Cast both = cast_by_rows(x, rows, cols, rule, &stored, &turned);
  for (const auto& [begin, end] : {std::pair{0, 5}, {5, 70}, {70, 150}}) {
    kernels.cast_transposed(both, row_scales.data(), column_scales.data(), begin, end);
  }
  EXPECT_EQ(stored, by_row.codes);
  EXPECT_EQ(turned, by_column.codes);
}

TEST(RowKernelsCast, ProducersGiveTheCodesAndMaximaOfTheirOwnOutput) {
  const Index rows = 5;
  const Index dim = 77;
  Values values(4);
  const std::vector<bf16> x = values.bf16s(rows * 2 * dim);
  const std::vector<bf16> dy = values.specials(rows * dim, 100);
  const std::vector<bf16> weight = values.bf16s(dim);
  std::vector<float> rstd(5);
  std::vector<float> partial(77);
  std::vector<bf16> x_out(x.size());
  std::vector<bf16> y(static_cast<std::size_t>(rows * dim));
  std::vector<bf16> wide(x.size());
  for (const fp8::Format format : kFormats) {
    const auto rule = fp8::ScaleRule::of(format, false);
    for (const CpuIsa isa : levels_of_this_machine()) {
      const RowKernels& kernels = row_kernels(isa);
      const std::string what = std::string(name(isa)) + " " + std::string(fp8::name(format));
      Codes cast;
      MagnitudeBits columns;
      const auto run_and_check = [&](const std::vector<bf16>& out, Index cols, const std::string& producer, auto run) {
        columns = no_maxima(cols);
        run(codes_into(cast, rows, cols, rule));
        expect_same(scalar_cast_of_rows(out, rows, cols, rule), cast, what + producer);
        EXPECT_EQ(columns, scalar_column_maxima(out, rows, cols)) << what + producer;
      };
      run_and_check(y, dim, " rmsnorm", [&](const RowCodes& codes) {
        kernels.rmsnorm_forward({x.data(), dy.data(), weight.data(), x_out.data(), y.data(), rstd.data(), codes,
                                 ColumnMaxima{}, rows, dim, 1e-5F, true},
                                0, rows, columns.data(), nullptr);
      });
      std::vector<bf16> row(static_cast<std::size_t>(2 * dim));
      run_and_check(y, dim, " rmsnorm, not stored", [&](const RowCodes& codes) {
        kernels.rmsnorm_forward({x.data(), dy.data(), weight.data(), x_out.data(), nullptr, rstd.data(), codes,
                                 ColumnMaxima{}, rows, dim, 1e-5F, true, false},
                                0, rows, columns.data(), row.data());
      });
      run_and_check(y, dim, " rmsnorm backward", [&](const RowCodes& codes) {
        kernels.rmsnorm_backward({dy.data(), x.data(), weight.data(), rstd.data(), nullptr, y.data(), nullptr, codes,
                                  ColumnMaxima{}, rows, dim, false},
                                 0, rows, partial.data(), columns.data());
      });
      run_and_check(y, dim, " swiglu", [&](const RowCodes& codes) {
        kernels.swiglu_forward({x.data(), y.data(), codes, ColumnMaxima{}, rows, dim}, 0, rows, columns.data(),
                               nullptr);
      });
      run_and_check(wide, 2 * dim, " swiglu backward", [&](const RowCodes& codes) {
        kernels.swiglu_backward({x.data(), dy.data(), wide.data(), codes, ColumnMaxima{}, rows, dim}, 0, rows,
                                columns.data(), nullptr);
      });
      run_and_check(y, dim, " swiglu, not stored", [&](const RowCodes& codes) {
        kernels.swiglu_forward({x.data(), nullptr, codes, ColumnMaxima{}, rows, dim, false}, 0, rows, columns.data(),
                               row.data());
      });
      run_and_check(wide, 2 * dim, " swiglu backward, not stored", [&](const RowCodes& codes) {
        kernels.swiglu_backward({x.data(), dy.data(), nullptr, codes, ColumnMaxima{}, rows, dim, false}, 0, rows,
                                columns.data(), row.data());
      });
    }
  }
}

/// As casts of the stored gradient and of the stored result, in ranges of columns that are no whole tiles.
TEST(RowKernelsCast, SwigluAndItsGradientMadeAgainGiveTheCodesOfTheStoredOnes) {
  const Index rows = 70;
  const Index dim = 150;
  Values values(6);
  const std::vector<bf16> gate_up = values.specials(rows * 2 * dim, 100);
  const std::vector<bf16> dy = values.bf16s(rows * dim);
  std::vector<bf16> stored(gate_up.size());
  std::vector<bf16> y(dy.size());
  for (const fp8::Format format : kFormats) {
    const auto rule = fp8::ScaleRule::of(format, true);
    for (const CpuIsa isa : levels_of_this_machine()) {
      const RowKernels& kernels = row_kernels(isa);
      kernels.swiglu_backward({gate_up.data(), dy.data(), stored.data(), {}, {}, rows, dim}, 0, rows, nullptr, nullptr);
      kernels.swiglu_forward({gate_up.data(), y.data(), {}, {}, rows, dim}, 0, rows, nullptr, nullptr);
      const Codes by_column = scalar_cast_of_rows(transposed(stored, rows, 2 * dim), 2 * dim, rows, rule);
      const Codes y_by_column = scalar_cast_of_rows(transposed(y, rows, dim), dim, rows, rule);
      std::vector<float> scales = scales_of(by_column, rule);
      std::ranges::copy(scales_of(y_by_column, rule), std::back_inserter(scales));
      std::vector<std::uint8_t> codes(stored.size(), 0xAA);
      std::vector<std::uint8_t> y_codes(y.size(), 0xAA);
      const SwigluBackwardCast op{gate_up.data(), dy.data(), {.codes = codes.data(), .rule = rule},
                                  rows,           dim,       {.codes = y_codes.data(), .rule = rule}};
      for (const auto& [begin, end] : {std::pair{0, 5}, {5, 70}, {70, 150}}) {
        kernels.swiglu_backward_cast(op, scales.data(), begin, end);
      }
      EXPECT_EQ(codes, by_column.codes) << name(isa) << " " << fp8::name(format);
      EXPECT_EQ(y_codes, y_by_column.codes) << name(isa) << " " << fp8::name(format);
    }
  }
}

TEST(RowKernelsCast, TheNormedInputMadeAgainGivesTheCodesOfTheStoredOne) {
  const Index rows = 70;
  const Index dim = 150;
  Values values(7);
  const std::vector<bf16> x = values.specials(rows * dim, 100);
  const std::vector<bf16> weight = values.bf16s(dim);
  std::vector<float> rstd(static_cast<std::size_t>(rows));
  std::vector<bf16> stored(x.size());
  for (const fp8::Format format : kFormats) {
    const auto rule = fp8::ScaleRule::of(format, true);
    for (const CpuIsa isa : levels_of_this_machine()) {
      const RowKernels& kernels = row_kernels(isa);
      kernels.rmsnorm_forward(
          {x.data(), nullptr, weight.data(), nullptr, stored.data(), rstd.data(), {}, {}, rows, dim, 1e-5F, false}, 0,
          rows, nullptr, nullptr);
      const Codes by_column = scalar_cast_of_rows(transposed(stored, rows, dim), dim, rows, rule);
      std::vector<std::uint8_t> codes(stored.size(), 0xAA);
      const RmsNormForwardCast op{x.data(), weight.data(), rstd.data(), {.codes = codes.data(), .rule = rule}, rows,
                                  dim};
      for (const auto& [begin, end] : {std::pair{0, 5}, {5, 70}, {70, 150}}) {
        kernels.rmsnorm_forward_cast(op, scales_of(by_column, rule).data(), begin, end);
      }
      EXPECT_EQ(codes, by_column.codes) << name(isa) << " " << fp8::name(format);
    }
  }
}

TEST(RowKernelsCast, TheUnfusedPassesGiveTheSameCodes) {
  const std::vector<bf16> x = every_bf16();
  const Index rows = 512;
  const Index cols = 128;
  for (const fp8::Format format : kFormats) {
    for (const CpuIsa isa : levels_of_this_machine()) {
      const auto rule = fp8::ScaleRule::of(format, false);
      Codes passes;
      codes_into(passes, rows, cols, rule);
      passes.amax.clear();
      std::vector<float> maxima(512);
      std::vector<float> scales(512);
      std::vector<float> scaled(x.size());
      const UnfusedCast& cast = unfused_cast(isa);
      cast.absolute_maxima(x.data(), cols, maxima.data(), 0, rows);
      cast.scales(maxima.data(), rule, scales.data(), passes.scale_inverse.data(), 0, rows);
      cast.multiply(x.data(), cols, scales.data(), scaled.data(), 0, rows);
      cast.clamp(scaled.data(), cols, rule.max(), 0, rows);
      cast.encode(scaled.data(), cols, format, passes.codes.data(), 0, rows);
      Codes expected = scalar_cast_of_rows(x, rows, cols, rule);
      expected.amax.clear();  // the passes keep theirs in floats
      expect_same(expected, passes, std::string(name(isa)));
    }
  }
}

struct Edge {
  const char* what;
  fp8::Format format;
  bool power_of_two;
  std::uint16_t bits;  // the row is this value and a -0
  float scale;
  std::uint8_t code, code_of_negative_zero;
};

// The same facts as the scalar cast must show, written out once more: a mistake shared by both would be seen here.
TEST(RowKernelsCast, EdgeValues) {
  using fp8::Format;
  const float inf = std::numeric_limits<float>::infinity();
  const std::vector<Edge> edges{
      {"zeros", Format::e4m3fn, true, 0x0000, 0x1p48F, 0x00, 0x80},
      {"zeros", Format::e4m3fnuz, true, 0x0000, 0x1p47F, 0x00, 0x00},
      {"zeros", Format::e5m2, true, 0x0000, 0x1p55F, 0x00, 0x80},
      {"zeros", Format::e4m3fn, false, 0x0000, 4.48e14F, 0x00, 0x80},
      {"zeros", Format::e4m3fnuz, false, 0x0000, 2.4e14F, 0x00, 0x00},
      {"one", Format::e4m3fn, true, 0x3F80, 256.0F, 0x78, 0x80},
      {"one", Format::e4m3fnuz, true, 0x3F80, 128.0F, 0x78, 0x00},
      {"one", Format::e5m2, true, 0x3F80, 32768.0F, 0x78, 0x80},
      {"minus one", Format::e4m3fn, false, 0xBF80, 448.0F, 0xFE, 0x80},
      {"infinity", Format::e4m3fn, false, 0x7F80, 0.0F, 0x7F, 0x80},
      {"infinity", Format::e5m2, true, 0xFF80, 0.0F, 0x7F, 0x80},
      {"infinity", Format::e4m3fnuz, true, 0x7F80, 0.0F, 0x80, 0x00},
      {"NaN", Format::e4m3fn, true, 0xFFC1, NAN, 0x7F, 0x7F},
      {"NaN", Format::e5m2fnuz, false, 0x7F81, NAN, 0x80, 0x80},
  };
  for (const CpuIsa isa : levels_of_this_machine()) {
    for (const Edge& edge : edges) {
      const std::vector<bf16> x{{edge.bits}, {0x8000}};
      Codes cast;
      row_kernels(isa).quantize_rows(
          {x.data(), codes_into(cast, 1, 2, fp8::ScaleRule::of(edge.format, edge.power_of_two)), {}, 1, 2}, 0, 1,
          nullptr);
      const std::string what = std::string(name(isa)) + " " + std::string(fp8::name(edge.format)) + " " + edge.what;
      EXPECT_EQ(cast.codes[0], edge.code) << what;
      EXPECT_EQ(cast.codes[1], edge.code_of_negative_zero) << what;
      if (edge.scale == 0.0F) {
        EXPECT_EQ(cast.scale_inverse[0], inf) << what;
      } else if (std::isnan(edge.scale)) {
        EXPECT_TRUE(std::isnan(cast.scale_inverse[0])) << what;
      } else {
        EXPECT_EQ(cast.scale_inverse[0], 1.0F / edge.scale) << what;
      }
    }
  }
}

TEST(RowKernelsCast, OneScaleThatIsTooLargeSaturates) {
  const std::vector<bf16> x = every_bf16();
  const Index rows = 256;
  const Index cols = 256;
  const float scale = 3.0F;
  for (const fp8::Format format : kFormats) {
    std::vector<std::uint8_t> expected;
    const auto encode_all = [&](auto encode) {
      for (const bf16 value : x) expected.push_back(encode(to_float(value) * scale).bits);
    };
    switch (format) {
      case fp8::Format::e4m3fn:
        encode_all(fp8::encode<fp8::Format::e4m3fn>);
        break;
      case fp8::Format::e4m3fnuz:
        encode_all(fp8::encode<fp8::Format::e4m3fnuz>);
        break;
      case fp8::Format::e5m2:
        encode_all(fp8::encode<fp8::Format::e5m2>);
        break;
      case fp8::Format::e5m2fnuz:
        encode_all(fp8::encode<fp8::Format::e5m2fnuz>);
        break;
    }
    for (const CpuIsa isa : levels_of_this_machine()) {
      std::vector<std::uint8_t> codes(x.size());
      std::vector<std::uint8_t> columns(x.size());
      const CastLayout as_stored{.codes = codes.data(), .axis = fp8::ScaleAxis::tensor};
      ops::Cast op{x.data(), nullptr, nullptr, as_stored, {}, fp8::ScaleRule::of(format, true), rows, cols};
      row_kernels(isa).cast_as_stored(op, &scale, 0, rows);
      EXPECT_EQ(codes, expected) << name(isa) << " " << fp8::name(format);
      op.transposed = {.codes = columns.data(), .axis = fp8::ScaleAxis::tensor};
      codes.assign(x.size(), 0xAA);
      row_kernels(isa).cast_transposed(op, &scale, &scale, 0, cols);
      EXPECT_EQ(codes, expected) << name(isa) << " " << fp8::name(format);
      for (std::size_t i = 0; i < x.size(); ++i) ASSERT_EQ(columns[i % 256 * 256 + i / 256], expected[i]);
    }
  }
}

// A NaN in any place of any row is the maximum of its row and of its column, whatever the rows after it hold.
TEST(RowKernelsCast, MaximaKeepNaN) {
  Values values(3);
  const Index rows = 3;
  for (const CpuIsa isa : levels_of_this_machine()) {
    for (const Index cols : {1, 31, 64, 65, 200}) {
      std::vector<bf16> x = values.bf16s(rows * cols);
      const MagnitudeBits finite = scalar_column_maxima(x, rows, cols);
      for (std::size_t i = 0; i < x.size(); ++i) {
        const bf16 before = x[i];
        x[i].bits = 0xFFC5;
        std::vector<bf16> row_amax(3);
        MagnitudeBits columns = no_maxima(cols);
        row_kernels(isa).maxima({x.data(), row_amax.data(), nullptr, rows, cols}, 0, rows, columns.data());
        const auto col = i % static_cast<std::size_t>(cols);
        MagnitudeBits expected = finite;
        expected[col] = 0x7FC5;
        EXPECT_EQ(columns, expected) << name(isa) << " " << i;
        for (std::size_t row = 0; row < 3; ++row) {
          EXPECT_EQ(row_amax[row].bits == 0x7FC5, row == i / static_cast<std::size_t>(cols)) << name(isa) << " " << i;
        }
        x[i] = before;
      }
    }
  }
}

TEST(RowKernelsCast, DecodesEveryCode) {
  const auto decode_all = [](auto decode) {
    std::vector<float> values;
    for (int code = 0; code < 256; ++code) values.push_back(decode(static_cast<std::uint8_t>(code)));
    return values;
  };
  std::vector<std::uint8_t> codes(256);
  for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<std::uint8_t>(i);
  for (const fp8::Format format : kFormats) {
    std::vector<float> expected;
    switch (format) {
      case fp8::Format::e4m3fn:
        expected = decode_all([](auto c) { return decode(fp8::e4m3fn{c}); });
        break;
      case fp8::Format::e4m3fnuz:
        expected = decode_all([](auto c) { return decode(fp8::e4m3fnuz{c}); });
        break;
      case fp8::Format::e5m2:
        expected = decode_all([](auto c) { return decode(fp8::e5m2{c}); });
        break;
      case fp8::Format::e5m2fnuz:
        expected = decode_all([](auto c) { return decode(fp8::e5m2fnuz{c}); });
        break;
    }
    for (const CpuIsa isa : levels_of_this_machine()) {
      for (const Index begin : {0, 3, 250}) {  // tails too
        std::vector<float> floats(256);
        std::vector<bf16> halves(256);
        row_kernels(isa).decode_to_f32(codes.data(), format, floats.data(), begin, 256);
        row_kernels(isa).decode_to_bf16(codes.data(), format, halves.data(), begin, 256);
        for (auto i = static_cast<std::size_t>(begin); i < 256; ++i) {
          EXPECT_EQ(fp8::bits_of(floats[i]), fp8::bits_of(expected[i])) << name(isa) << fp8::name(format) << " " << i;
          EXPECT_EQ(halves[i].bits, to_bf16(expected[i]).bits) << name(isa) << fp8::name(format) << " " << i;
        }
      }
    }
  }
}

TEST(RowKernelsCast, StatisticsCountWhatIsClippedWhatAPlainCastLosesAndWhatVanishes) {
  for (const CpuIsa isa : levels_of_this_machine()) {
    for (const Index cols : {9, 16, 37}) {
      std::vector<bf16> x(static_cast<std::size_t>(2 * cols), to_bf16(1.0F));
      x[1] = to_bf16(448.0F);
      x[2] = to_bf16(-450.0F);  // rounds down to 448
      x[3] = bf16{0x7FC0};
      x[4] = bf16{0xFF80};
      x[5] = to_bf16(-0x1p-10F);    // halfway to the smallest subnormal, which ties to zero
      x[6] = to_bf16(0x1.02p-10F);  // just above
      x[7] = bf16{0x8000};
      x[8] = bf16{0x0001};
      const std::vector<float> scale_inverse{1.0F, NAN};
      RowKernels::CastTally tally;
      const CastStatistics op{x.data(), scale_inverse.data(), nullptr, nullptr, nullptr, fp8::Format::e4m3fn, 2, cols,
                              false};
      row_kernels(isa).cast_statistics(op, 0, 1, tally);
      EXPECT_EQ(tally.saturated, 2U) << name(isa);
      EXPECT_EQ(tally.overflowed, 2U) << name(isa);
      EXPECT_EQ(tally.underflowed, 2U) << name(isa);
      row_kernels(isa).cast_statistics(op, 1, 2, tally);
      EXPECT_EQ(tally.saturated, 2U) << name(isa);
      EXPECT_EQ(tally.overflowed, 2U + static_cast<std::uint64_t>(cols)) << name(isa);
      EXPECT_EQ(tally.underflowed, 2U) << name(isa);
    }
  }
}

}  // namespace
}  // namespace octet::ops::cpu
