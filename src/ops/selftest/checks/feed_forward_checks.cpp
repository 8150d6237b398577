// SwiGLU against the oracle.
#include "ops/selftest/checks/feed_forward_checks.h"

#include "ops/reference/feed_forward.h"

namespace octet::ops::selftest {
namespace {

/// What exp() may lose at its ends: below the smallest normal float it need not be right.
constexpr double kTiny = 0x1p-120;

std::vector<bf16> make_gate_up(const SwigluCase& c) {
  auto gate_up = random_bf16("gate_up", c.rows * 2 * c.dim, 3);
  if (gate_up.size() > 8) {  // gates where exp() overflows or vanishes
    gate_up[0] = to_bf16(-100);
    gate_up[1 % c.dim] = to_bf16(100);
    gate_up[2 % c.dim] = to_bf16(-87.5F);
    gate_up[3 % c.dim] = to_bf16(-0.0F);
  }
  if (c.non_finite) add_non_finite(gate_up);
  return gate_up;
}

}  // namespace

void OpCheck<SwigluForward>::run(Trial& trial, const SwigluCase& c) {
  const auto gate_up = make_gate_up(c);
  const auto y = trial.output<bf16>("y", c.rows * c.dim);
  const RowCodes codes = trial.row_codes(c.codes, c.measured.rows, c.rows, c.dim);
  const ColumnMaxima columns = trial.column_maxima(c.measured.columns, c.dim);
  trial.run(SwigluForward{trial.input("gate_up", gate_up), y.data(), codes, columns, c.rows, c.dim});

  trial.expect_bf16("y", y, reference::swiglu_forward(reference::widen(gate_up), c.rows, c.dim), kTiny);
  trial.expect_row_codes(codes, y, c.rows, c.dim);
  trial.expect_column_maxima(columns, y, c.rows, c.dim);
}

void OpCheck<SwigluBackward>::run(Trial& trial, const SwigluCase& c) {
  const auto gate_up = make_gate_up(c);
  const auto dy = random_bf16("dy", c.rows * c.dim);
  const auto dgate_up = trial.output<bf16>("dgate_up", c.rows * 2 * c.dim);
  const RowCodes codes = trial.row_codes(c.codes, c.measured.rows, c.rows, 2 * c.dim);
  const ColumnMaxima columns = trial.column_maxima(c.measured.columns, 2 * c.dim);
  trial.run(SwigluBackward{trial.input("gate_up", gate_up), trial.input("dy", dy), dgate_up.data(), codes, columns,
                           c.rows, c.dim});

  const Vector wide = reference::widen(gate_up);
  const Vector upstream = reference::widen(dy);
  // silu' crosses zero where 1 and g (1 - sigmoid) cancel: terms of size dy * up, both at most about 1.3 times that.
  Vector beyond(wide.size(), kTiny);
  for (Index r = 0; r < c.rows; ++r) {
    for (Index i = 0; i < c.dim; ++i) {
      const double term = std::abs(upstream[r * c.dim + i] * wide[r * 2 * c.dim + c.dim + i]);
      beyond[r * 2 * c.dim + i] += 16 * kRoundoffF32 * term;
    }
  }
  trial.expect_bf16("dgate_up", dgate_up, reference::swiglu_backward(wide, upstream, c.rows, c.dim), beyond);
  trial.expect_row_codes(codes, dgate_up, c.rows, 2 * c.dim);
  trial.expect_column_maxima(columns, dgate_up, c.rows, 2 * c.dim);
}

}  // namespace octet::ops::selftest
