// Casts and maxima against the rule in src/fp8, byte by byte.
#include "ops/selftest/checks/cast_checks.h"

#include <limits>

namespace octet::ops::selftest {
namespace {

using fp8::ScaleAxis;

/// What a cast reads, in the backend's memory.
struct CastInputs {
  const bf16* x;
  const bf16* row_amax;
  const bf16* column_amax;
};

/// The layouts that the oracle makes of x: scales by row of the layout, or one for all.
struct WantedLayouts {
  reference::Codes stored_by_row, stored_whole, transposed_by_row, transposed_whole;
};

/// What `make` returns for each matrix of x, one after another.
template <typename Make>
auto of_each_matrix(Index matrices, Make make) {
  decltype(make(Index{})) all;
  for (Index i = 0; i < matrices; ++i) {
    const auto one = make(i);
    all.insert(all.end(), one.begin(), one.end());
  }
  return all;
}

std::span<const bf16> matrix_of(const std::vector<bf16>& x, Index i, Index size) {
  return std::span(x).subspan(i * size, size);
}

std::vector<bf16> column_maxima_of_each(const std::vector<bf16>& x, Index matrices, Index rows, Index cols) {
  return of_each_matrix(matrices,
                        [&](Index i) { return reference::column_maxima(matrix_of(x, i, rows * cols), rows, cols); });
}

void append(reference::Codes& to, const reference::Codes& more) {
  to.codes.insert(to.codes.end(), more.codes.begin(), more.codes.end());
  to.scale_inverse.insert(to.scale_inverse.end(), more.scale_inverse.begin(), more.scale_inverse.end());
}

/// Under the maxima of x itself: four plain casts of each matrix.
WantedLayouts cast_under_own_maxima(const CastCase& c, const std::vector<bf16>& x) {
  WantedLayouts want;
  for (Index i = 0; i < c.matrices; ++i) {
    const auto matrix = matrix_of(x, i, c.rows * c.cols);
    const auto transposed = reference::transpose(matrix, c.rows, c.cols);
    append(want.stored_by_row, reference::quantize_rows(matrix, c.rows, c.cols, c.rule()));
    append(want.stored_whole, reference::quantize_tensor(matrix, c.rule()));
    append(want.transposed_by_row, reference::quantize_rows(transposed, c.cols, c.rows, c.rule()));
    append(want.transposed_whole, reference::quantize_tensor(transposed, c.rule()));
  }
  return want;
}

/// Under maxima that need not be those of x.
WantedLayouts cast_under_maxima(const CastCase& c, const std::vector<bf16>& x, const std::vector<bf16>& row_amax,
                                const std::vector<bf16>& column_amax) {
  WantedLayouts want;
  for (Index i = 0; i < c.matrices; ++i) {
    const auto matrix = matrix_of(x, i, c.rows * c.cols);
    const auto transposed = reference::transpose(matrix, c.rows, c.cols);
    const auto rows = matrix_of(row_amax, i, c.rows);
    const auto columns = matrix_of(column_amax, i, c.cols);
    const std::vector<bf16> amax{fp8::amax(columns)};
    append(want.stored_by_row, reference::cast_rows(matrix, rows, c.rows, c.cols, c.rule()));
    append(want.stored_whole, reference::cast_rows(matrix, amax, c.rows, c.cols, c.rule()));
    append(want.transposed_by_row, reference::cast_rows(transposed, columns, c.cols, c.rows, c.rule()));
    append(want.transposed_whole, reference::cast_rows(transposed, amax, c.cols, c.rows, c.rule()));
  }
  return want;
}

CastLayout make_layout(Trial& trial, const CastCase& c, std::string_view name, ScaleAxis axis, Index outer) {
  if (axis == ScaleAxis::none) return {};
  const Index scales = c.matrices * (axis == ScaleAxis::row ? outer : 1);
  return {.codes = trial.output<std::uint8_t>(fmt::format("codes {}", name), c.matrices * c.rows * c.cols).data(),
          .scale_inverse = trial.output<float>(fmt::format("scale_inverse {}", name), scales).data(),
          .axis = axis};
}

void expect_layout(Trial& trial, std::string_view name, const CastLayout& layout, const reference::Codes& by_row,
                   const reference::Codes& whole) {
  if (!layout.wanted()) return;
  const reference::Codes& want = layout.axis == ScaleAxis::row ? by_row : whole;
  trial.expect_same<float>(fmt::format("scale_inverse {}", name), {layout.scale_inverse, want.scale_inverse.size()},
                           want.scale_inverse);
  trial.expect_same<std::uint8_t>(fmt::format("codes {}", name), {layout.codes, want.codes.size()}, want.codes);
}

/// The op gets the maxima that it needs for these axes, no others.
void check_cast(Trial& trial, const CastCase& c, const CastInputs& inputs, const WantedLayouts& want, ScaleAxis stored,
                ScaleAxis transposed) {
  const bool needs_rows = stored == ScaleAxis::row;
  const bool needs_columns = stored == ScaleAxis::tensor || transposed != ScaleAxis::none;
  const CastLayout as_stored = make_layout(trial, c, "as stored", stored, c.rows);
  const CastLayout as_transposed = make_layout(trial, c, "transposed", transposed, c.cols);
  trial.run(Cast{inputs.x, needs_rows ? inputs.row_amax : nullptr, needs_columns ? inputs.column_amax : nullptr,
                 as_stored, as_transposed, c.rule(), c.rows, c.cols, c.matrices});
  expect_layout(trial, "as stored", as_stored, want.stored_by_row, want.stored_whole);
  expect_layout(trial, "transposed", as_transposed, want.transposed_by_row, want.transposed_whole);
}

/// Every choice of layouts and axes but none at all.
void check_all_layouts(Trial& trial, const CastCase& c, const CastInputs& inputs, const WantedLayouts& want) {
  constexpr std::array kAxes{ScaleAxis::none, ScaleAxis::tensor, ScaleAxis::row};
  for (const ScaleAxis stored : kAxes) {
    for (const ScaleAxis transposed : kAxes) {
      if (stored == ScaleAxis::none && transposed == ScaleAxis::none) continue;
      check_cast(trial, c, inputs, want, stored, transposed);
    }
  }
}

/// Powers of two, so that scaling is exact; small enough that ordinary values saturate. The first is what a row with an
/// infinity has.
std::vector<float> make_scales(Index count) {
  std::vector<float> scale_inverse(count);
  for (Index i = 0; i < count; ++i) scale_inverse[i] = std::ldexp(1.0F, -static_cast<int>(i % 15));
  if (count > 1) scale_inverse[0] = std::numeric_limits<float>::infinity();
  return scale_inverse;
}

void check_cast_statistics(Trial& trial, const CastCase& c, bool one_scale) {
  const auto x = make_content(c.content, c.rows * c.cols);
  const auto scale_inverse = one_scale ? std::vector<float>{0x1p-8F} : make_scales(c.rows);
  const auto saturated = trial.updated("saturated", std::vector<std::uint64_t>{0});
  const auto overflowed = trial.updated("overflowed", std::vector<std::uint64_t>{0});
  const auto underflowed = trial.updated("underflowed", std::vector<std::uint64_t>{0});
  trial.run(CastStatistics{trial.input("x", x), trial.input("scale_inverse", scale_inverse), saturated.data(),
                           overflowed.data(), underflowed.data(), c.format, c.rows, c.cols, one_scale});

  const auto want = reference::cast_statistics(x, scale_inverse, c.format, c.rows, c.cols);
  trial.expect_same<std::uint64_t>("saturated", saturated, {want.saturated});
  trial.expect_same<std::uint64_t>("overflowed", overflowed, {want.overflowed});
  trial.expect_same<std::uint64_t>("underflowed", underflowed, {want.underflowed});
}

}  // namespace

void OpCheck<QuantizeRows>::run(Trial& trial, const CastCase& c) {
  const auto x = make_content(c.content, c.rows * c.cols);
  for (const Measured& measured : kMeasured) {
    const RowCodes codes = trial.row_codes(c.rule(), measured.rows, c.rows, c.cols);
    const ColumnMaxima columns = trial.column_maxima(measured.columns, c.cols);
    trial.run(QuantizeRows{trial.input("x", x), codes, columns, c.rows, c.cols});
    trial.expect_row_codes(codes, x, c.rows, c.cols);
    trial.expect_column_maxima(columns, x, c.rows, c.cols);
  }
}

void OpCheck<Maxima>::run(Trial& trial, const MaximaCase& c) {
  const Index all_rows = c.matrices * c.rows;
  const auto x = make_content(c.content, all_rows * c.cols);
  for (const bool wants_rows : {false, true}) {
    const auto rows = trial.output<bf16>("row_amax", wants_rows ? all_rows : 0);
    const auto columns = trial.output<bf16>("column_amax", c.matrices * c.cols);
    trial.run(
        Maxima{trial.input("x", x), wants_rows ? rows.data() : nullptr, columns.data(), c.rows, c.cols, c.matrices});
    if (wants_rows) trial.expect_same<bf16>("row_amax", rows, reference::row_maxima(x, all_rows, c.cols));
    trial.expect_same<bf16>("column_amax", columns, column_maxima_of_each(x, c.matrices, c.rows, c.cols));
  }
}

void OpCheck<Cast>::run(Trial& trial, const CastCase& c) {
  const Index all_rows = c.matrices * c.rows;
  const Index all_columns = c.matrices * c.cols;
  const auto x = make_content(c.content, all_rows * c.cols);
  CastInputs inputs{trial.input("x", x), trial.input("row_amax", reference::row_maxima(x, all_rows, c.cols)),
                    trial.input("column_amax", column_maxima_of_each(x, c.matrices, c.rows, c.cols))};
  check_all_layouts(trial, c, inputs, cast_under_own_maxima(c, x));

  // Maxima of something else: a cast that looks for its own, or that does not saturate, differs.
  const auto row_amax = reference::row_maxima(random_bf16("row_amax", all_rows), all_rows, 1);
  const auto column_amax = reference::row_maxima(random_bf16("column_amax", all_columns), all_columns, 1);
  inputs.row_amax = trial.input("another row_amax", row_amax);
  inputs.column_amax = trial.input("another column_amax", column_amax);
  check_all_layouts(trial, c, inputs, cast_under_maxima(c, x, row_amax, column_amax));
}

void OpCheck<CastStatistics>::run(Trial& trial, const CastCase& c) {
  check_cast_statistics(trial, c, false);
  check_cast_statistics(trial, c, true);
}

}  // namespace octet::ops::selftest
