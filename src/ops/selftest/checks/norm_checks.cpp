// RMSNorm against the oracle.
#include "ops/selftest/checks/norm_checks.h"

#include <algorithm>

#include "ops/reference/norm.h"
#include "ops/selftest/strided.h"

namespace octet::ops::selftest {
namespace {

constexpr float kEps = 1e-5F;

/// The sum of the magnitudes of dx's terms: what its cancellation is measured against.
Vector dx_terms(View dy, View x, View weight, View rstd, View residual, Index rows, Index dim) {
  Vector terms(rows * dim);
  for (Index r = 0; r < rows; ++r) {
    const auto xhat = [&](Index i) { return std::abs(x[r * dim + i] * rstd[r]); };
    const auto dxhat = [&](Index i) { return std::abs(dy[r * dim + i] * weight[i]); };
    double mean = 0;
    for (Index i = 0; i < dim; ++i) mean += dxhat(i) * xhat(i) / static_cast<double>(dim);
    for (Index i = 0; i < dim; ++i) {
      terms[r * dim + i] = std::abs(residual[r * dim + i]) + rstd[r] * (dxhat(i) + xhat(i) * mean);
    }
  }
  return terms;
}

}  // namespace

void OpCheck<RmsNormForward>::run(Trial& trial, const NormCase& c) {
  const Index count = c.rows * c.dim;
  const Index stride = c.dim + c.beside;
  auto x = random_bf16("x", c.rows * stride);
  if (c.non_finite) add_non_finite(x);
  const auto delta = random_bf16("delta", c.has_other ? count : 0, 0.3);
  const auto weight = random_bf16("weight", c.dim);
  const auto x_out = trial.output<bf16>("x_out", c.has_other ? count : 0);
  const auto y = trial.output<bf16>("y", count);
  const auto rstd = trial.output<float>("rstd", c.rows);
  const RowCodes codes = trial.row_codes(c.codes, c.measured.rows, c.rows, c.dim);
  const ColumnMaxima columns = trial.column_maxima(c.measured.columns, c.dim);
  trial.run(RmsNormForward{trial.input("x", x), c.has_other ? trial.input("delta", delta) : nullptr,
                           trial.input("weight", weight), c.has_other ? x_out.data() : nullptr, y.data(), rstd.data(),
                           codes, columns, c.rows, c.dim, kEps, c.has_other, true, stride});

  Vector normed = reference::widen(first_columns(x, c.rows, c.dim));
  if (c.has_other) {
    reference::add_scaled(normed, 1, reference::widen(delta));
    trial.expect_bf16("x_out", x_out, normed);
    normed = reference::widen(x_out);  // the norm is that of the rounded sum
  }
  const auto want =
      reference::rmsnorm_forward(normed, reference::widen(weight), c.rows, c.dim, static_cast<double>(kEps));
  trial.expect_bf16("y", y, want.y);
  // dim additions of squares, then mean, eps, square root and division; the root halves what went before it.
  trial.expect_near("rstd", rstd, want.rstd, fraction((static_cast<double>(c.dim) / 2 + 4) * kRoundoffF32, want.rstd));
  trial.expect_row_codes(codes, y, c.rows, c.dim);
  trial.expect_column_maxima(columns, y, c.rows, c.dim);

  const auto again = trial.output<bf16>("x_out beside no y", c.has_other ? count : 0);
  const RowCodes codes_alone = trial.row_codes(c.codes, c.measured.rows, c.rows, c.dim);
  const ColumnMaxima maxima_alone = trial.column_maxima(c.measured.columns, c.dim);
  trial.run(RmsNormForward{trial.input("x", x), c.has_other ? trial.input("delta", delta) : nullptr,
                           trial.input("weight", weight), c.has_other ? again.data() : nullptr, nullptr, rstd.data(),
                           codes_alone, maxima_alone, c.rows, c.dim, kEps, c.has_other, false, stride});
  trial.expect_row_codes(codes_alone, y, c.rows, c.dim);
  trial.expect_column_maxima(maxima_alone, y, c.rows, c.dim);
}

void OpCheck<RmsNormForwardCast>::run(Trial& trial, const NormCase& c) {
  const Index count = c.rows * c.dim;
  auto x = random_bf16("x", count);
  if (c.non_finite) add_non_finite(x);
  const auto weight = random_bf16("weight", c.dim);
  const auto want = reference::rmsnorm_forward(reference::widen(x), reference::widen(weight), c.rows, c.dim,
                                               static_cast<double>(kEps));
  const bf16* x_in = trial.input("x", x);
  const bf16* weight_in = trial.input("weight", weight);
  const auto rstd = trial.updated("rstd", round_to_f32(want.rstd));
  const auto y = trial.output<bf16>("y", trial.supports<RmsNormForward>() ? count : 0);
  if (trial.supports<RmsNormForward>()) {
    trial.run(
        RmsNormForward{x_in, nullptr, weight_in, nullptr, y.data(), rstd.data(), {}, {}, c.rows, c.dim, kEps, false});
  }
  if (!c.codes) return trial.fail("a case of a cast names no format");
  const auto amax = reference::column_maxima(round_to_bf16(want.y), c.rows, c.dim);
  const ColumnCodes codes = trial.column_codes(*c.codes, amax, c.rows);
  trial.run(RmsNormForwardCast{x_in, weight_in, rstd.data(), codes, c.rows, c.dim});
  trial.expect_column_codes_near(codes, want.y, 0.0, c.rows, c.dim);
  if (trial.supports<RmsNormForward>()) trial.expect_column_codes(codes, y, c.rows, c.dim);
}

void OpCheck<RmsNormBackward>::run(Trial& trial, const NormCase& c) {
  const Index count = c.rows * c.dim;
  const Index stride = c.dim + c.beside;
  auto dy = random_bf16("dy", count);
  if (c.non_finite) add_non_finite(dy);
  const auto x = random_bf16("x", c.rows * stride);
  const auto weight = random_bf16("weight", c.dim);
  const auto residual = random_bf16("residual", c.has_other ? count : 0);
  const auto before = random_f32("dweight", c.dim);
  const Vector wide_x = reference::widen(first_columns(x, c.rows, c.dim));
  const Vector wide_dy = reference::widen(dy);
  const Vector wide_weight = reference::widen(weight);
  const auto rstd =
      round_to_f32(reference::rmsnorm_forward(wide_x, wide_weight, c.rows, c.dim, static_cast<double>(kEps)).rstd);
  const auto dx_before = random_bf16("dx", c.rows * stride);
  const auto dx_rows = trial.updated("dx", dx_before);
  const auto dweight = trial.updated("dweight", before);
  const RowCodes codes = trial.row_codes(c.codes, c.measured.rows, c.rows, c.dim);
  const ColumnMaxima columns = trial.column_maxima(c.measured.columns, c.dim);
  trial.run(RmsNormBackward{trial.input("dy", dy), trial.input("x", x), trial.input("weight", weight),
                            trial.input("rstd", rstd), c.has_other ? trial.input("residual", residual) : nullptr,
                            dx_rows.data(), dweight.data(), codes, columns, c.rows, c.dim, c.has_other, stride});
  const auto dx = written_columns(trial, "dx", dx_rows, c.rows, c.dim, dx_before);

  const Vector wide_rstd = reference::widen(rstd);
  Vector wide_residual(count);
  if (c.has_other) wide_residual = reference::widen(residual);
  auto want = reference::rmsnorm_backward(wide_dy, wide_x, wide_weight, wide_rstd, c.rows, c.dim);
  reference::add_scaled(want.dx, 1, wide_residual);
  reference::add_scaled(want.dweight, 1, reference::widen(before));
  const Vector terms = dx_terms(wide_dy, wide_x, wide_weight, wide_rstd, wide_residual, c.rows, c.dim);
  trial.expect_bf16("dx", dx, want.dx, fraction(static_cast<double>(c.dim + 8) * kRoundoffF32, terms));
  Vector weight_terms =
      reference::rmsnorm_backward(magnitudes(wide_dy), magnitudes(wide_x), wide_weight, wide_rstd, c.rows, c.dim)
          .dweight;
  reference::add_scaled(weight_terms, 1, magnitudes(reference::widen(before)));
  trial.expect_near("dweight", dweight, want.dweight,
                    fraction(static_cast<double>(c.rows + kColumnPartials + 3) * kRoundoffF32, weight_terms));
  trial.expect_row_codes(codes, dx, c.rows, c.dim);
  trial.expect_column_maxima(columns, dx, c.rows, c.dim);
}

}  // namespace octet::ops::selftest
