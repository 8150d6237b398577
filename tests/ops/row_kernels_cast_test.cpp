// FP8 casts of the row kernels against the scalar cast of fp8/cast.h, byte by byte, at every level of this machine.
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

struct Cast {
  std::vector<std::uint8_t> codes;
  std::vector<float> scale_inverse;
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

Cast scalar_cast_of_rows(const std::vector<bf16>& x, Index rows, Index cols, fp8::ScaleRule rule) {
  Cast cast;
  for (Index row = 0; row < rows; ++row) {
    const std::span<const bf16> slice(x.data() + row * cols, static_cast<std::size_t>(cols));
    cast.scale_inverse.push_back(fp8::inverse(cast_one(slice, rule, cast.codes)));
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

RowCodes codes_into(Cast& cast, Index rows, Index cols, fp8::ScaleRule rule) {
  cast.codes.assign(static_cast<std::size_t>(rows * cols), 0xAA);
  cast.scale_inverse.assign(static_cast<std::size_t>(rows), -1.0F);
  return {cast.codes.data(), cast.scale_inverse.data(), rule.format(), rule, true};
}

void expect_same(const Cast& expected, const Cast& actual, const std::string& what) {
  EXPECT_EQ(expected.codes, actual.codes) << what;
  ASSERT_EQ(expected.scale_inverse.size(), actual.scale_inverse.size()) << what;
  for (std::size_t i = 0; i < expected.scale_inverse.size(); ++i) {
    EXPECT_EQ(fp8::bits_of(expected.scale_inverse[i]), fp8::bits_of(actual.scale_inverse[i])) << what << " row " << i;
  }
}

void expect_casts_of(const std::vector<bf16>& x, Index rows, Index cols) {
  const std::vector<bf16> x_transposed = transposed(x, rows, cols);
  for (const fp8::Format format : kFormats) {
    for (const bool power_of_two : {false, true}) {
      const auto rule = fp8::ScaleRule::of(format, power_of_two);
      const Cast by_row = scalar_cast_of_rows(x, rows, cols, rule);
      const Cast by_column = scalar_cast_of_rows(x_transposed, cols, rows, rule);
      for (const CpuIsa isa : levels_of_this_machine()) {
        const std::string what = std::string(name(isa)) + " " + std::string(fp8::name(format)) + " [" +
                                 std::to_string(rows) + ", " + std::to_string(cols) + "]" +
                                 (power_of_two ? " power of two" : "");
        Cast cast;
        row_kernels(isa).quantize_rows({x.data(), codes_into(cast, rows, cols, rule), rows, cols}, 0, rows);
        expect_same(by_row, cast, what + " rows");
        row_kernels(isa).quantize_columns({x.data(), codes_into(cast, cols, rows, rule), rows, cols}, 0, cols);
        expect_same(by_column, cast, what + " columns");
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
  const RowKernels& kernels = row_kernels(detect_cpu_isa());
  Cast whole;
  Cast parts;
  kernels.quantize_columns({x.data(), codes_into(whole, cols, rows, rule), rows, cols}, 0, cols);
  const QuantizeColumns columns{x.data(), codes_into(parts, cols, rows, rule), rows, cols};
  for (const auto& [begin, end] : {std::pair{0, 5}, {5, 70}, {70, 150}}) kernels.quantize_columns(columns, begin, end);
  expect_same(whole, parts, "columns");
  kernels.quantize_rows({x.data(), codes_into(whole, rows, cols, rule), rows, cols}, 0, rows);
  const QuantizeRows by_row{x.data(), codes_into(parts, rows, cols, rule), rows, cols};
  for (const auto& [begin, end] : {std::pair{0, 1}, {1, 69}, {69, 70}}) kernels.quantize_rows(by_row, begin, end);
  expect_same(whole, parts, "rows");
}

TEST(RowKernelsCast, ProducersGiveTheCodesOfTheirOwnOutput) {
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
      Cast cast;
      kernels.rmsnorm_forward({x.data(), dy.data(), weight.data(), x_out.data(), y.data(), rstd.data(),
                               codes_into(cast, rows, dim, rule), rows, dim, 1e-5F, true},
                              0, rows);
      expect_same(scalar_cast_of_rows(y, rows, dim, rule), cast, what + " rmsnorm");
      kernels.rmsnorm_backward({dy.data(), x.data(), weight.data(), rstd.data(), nullptr, y.data(), nullptr,
                                codes_into(cast, rows, dim, rule), rows, dim, false},
                               0, rows, partial.data());
      expect_same(scalar_cast_of_rows(y, rows, dim, rule), cast, what + " rmsnorm backward");
      kernels.swiglu_forward({x.data(), y.data(), codes_into(cast, rows, dim, rule), rows, dim}, 0, rows);
      expect_same(scalar_cast_of_rows(y, rows, dim, rule), cast, what + " swiglu");
      kernels.swiglu_backward({x.data(), dy.data(), wide.data(), codes_into(cast, rows, 2 * dim, rule), rows, dim}, 0,
                              rows);
      expect_same(scalar_cast_of_rows(wide, rows, 2 * dim, rule), cast, what + " swiglu backward");
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
      Cast passes;
      codes_into(passes, rows, cols, rule);
      std::vector<float> maxima(512);
      std::vector<float> scales(512);
      std::vector<float> scaled(x.size());
      const UnfusedCast& cast = unfused_cast(isa);
      cast.absolute_maxima(x.data(), cols, maxima.data(), 0, rows);
      cast.scales(maxima.data(), rule, scales.data(), passes.scale_inverse.data(), 0, rows);
      cast.multiply(x.data(), cols, scales.data(), scaled.data(), 0, rows);
      cast.clamp(scaled.data(), cols, rule.max(), 0, rows);
      cast.encode(scaled.data(), cols, format, passes.codes.data(), 0, rows);
      expect_same(scalar_cast_of_rows(x, rows, cols, rule), passes, std::string(name(isa)));
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
      Cast cast;
      row_kernels(isa).quantize_rows(
          {x.data(), codes_into(cast, 1, 2, fp8::ScaleRule::of(edge.format, edge.power_of_two)), 1, 2}, 0, 1);
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

TEST(RowKernelsCast, TensorCastSaturatesUnderAScaleThatIsTooLarge) {
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
      QuantizeTensor op{x.data(), codes.data(), columns.data(), nullptr, format, fp8::ScaleRule::of(format, true),
                        rows,     cols};
      row_kernels(isa).cast_rows(op, scale, 0, rows);
      row_kernels(isa).cast_columns(op, scale, 0, cols);
      EXPECT_EQ(codes, expected) << name(isa) << " " << fp8::name(format);
      for (std::size_t i = 0; i < x.size(); ++i) ASSERT_EQ(columns[i % 256 * 256 + i / 256], expected[i]);
    }
  }
}

TEST(RowKernelsCast, AbsoluteMaximumKeepsNaN) {
  Values values(3);
  for (const CpuIsa isa : levels_of_this_machine()) {
    for (const Index count : {0, 1, 31, 64, 65, 200}) {
      std::vector<bf16> x = values.bf16s(count);
      EXPECT_EQ(row_kernels(isa).absolute_maximum(x.data(), 0, count), fp8::amax(x).bits);
      for (Index i = 0; i < count; ++i) {
        const bf16 before = x[static_cast<std::size_t>(i)];
        x[static_cast<std::size_t>(i)].bits = 0xFFC5;
        EXPECT_EQ(row_kernels(isa).absolute_maximum(x.data(), 0, count), 0x7FC5) << name(isa) << " " << i;
        x[static_cast<std::size_t>(i)] = before;
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

TEST(RowKernelsCast, StatisticsCountWhatIsClippedAndWhatAPlainCastLoses) {
  for (const CpuIsa isa : levels_of_this_machine()) {
    for (const Index cols : {5, 16, 37}) {
      std::vector<bf16> x(static_cast<std::size_t>(2 * cols), to_bf16(1.0F));
      x[1] = to_bf16(448.0F);
      x[2] = to_bf16(-450.0F);  // rounds down to 448
      x[3] = bf16{0x7FC0};
      x[4] = bf16{0xFF80};
      const std::vector<float> scale_inverse{1.0F, NAN};
      std::uint64_t saturated = 0;
      std::uint64_t overflowed = 0;
      const CastStatistics op{x.data(), scale_inverse.data(), nullptr, nullptr, fp8::Format::e4m3fn, 2, cols, false};
      row_kernels(isa).cast_statistics(op, 0, 1, saturated, overflowed);
      EXPECT_EQ(saturated, 2U) << name(isa);
      EXPECT_EQ(overflowed, 2U) << name(isa);
      row_kernels(isa).cast_statistics(op, 1, 2, saturated, overflowed);
      EXPECT_EQ(saturated, 2U) << name(isa);
      EXPECT_EQ(overflowed, 2U + static_cast<std::uint64_t>(cols)) << name(isa);
    }
  }
}

}  // namespace
}  // namespace octet::ops::cpu
