// SwiGLU against the oracle.
#include "ops/selftest/checks/feed_forward_checks.h"

#include "ops/reference/feed_forward.h"

namespace octet::ops::selftest {
namespace {

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

/// A case of the gradient, and what the oracle says of it.
struct GradientCase {
  std::vector<bf16> gate_up, dy;
  Vector want;    // [rows, 2 dim]
  Vector beyond;  // that the gradient may be off besides a rounding to bf16

  explicit GradientCase(const SwigluCase& c) : gate_up(make_gate_up(c)), dy(random_bf16("dy", c.rows * c.dim)) {
    const Vector wide = reference::widen(gate_up);
    const Vector upstream = reference::widen(dy);
    want = reference::swiglu_backward(wide, upstream, c.rows, c.dim);
    // silu' crosses zero where 1 and g (1 - sigmoid) cancel: terms of size dy * up, both at most about 1.3 times that.
    beyond.assign(wide.size(), kTiny);
    for (Index r = 0; r < c.rows; ++r) {
      for (Index i = 0; i < c.dim; ++i) {
        const double term = std::abs(upstream[r * c.dim + i] * wide[r * 2 * c.dim + c.dim + i]);
        beyond[r * 2 * c.dim + i] += 16 * kRoundoffF32 * term;
      }
    }
  }
};

/// The gradient in a place of its own, in that of gate_up, or nowhere; its codes and maxima are those of `dgate_up`.
enum class Place : std::uint8_t { own, of_gate_up, none };

void check_gradient(Trial& trial, const SwigluCase& c, const GradientCase& values, Place place,
                    std::vector<bf16>& dgate_up) {
  const Index cols = 2 * c.dim;
  const RowCodes codes = trial.row_codes(c.codes, c.measured.rows, c.rows, cols);
  const ColumnMaxima columns = trial.column_maxima(c.measured.columns, cols);
  const bf16* dy = trial.input("dy", values.dy);
  if (place == Place::of_gate_up) {
    const auto changed = trial.updated("gate_up in place", values.gate_up);
    trial.run(SwigluBackward{changed.data(), dy, changed.data(), codes, columns, c.rows, c.dim});
    trial.expect_same<bf16>("dgate_up in place", changed, dgate_up);
  } else {
    const bool stored = place == Place::own;
    const auto out = trial.output<bf16>("dgate_up", stored ? c.rows * cols : 0);
    const bf16* gate_up = trial.input("gate_up", values.gate_up);
    trial.run(SwigluBackward{gate_up, dy, stored ? out.data() : nullptr, codes, columns, c.rows, c.dim, stored});
    if (stored) dgate_up.assign(out.begin(), out.end());
  }
  trial.expect_row_codes(codes, dgate_up, c.rows, cols);
  trial.expect_column_maxima(columns, dgate_up, c.rows, cols);
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

  const RowCodes codes_alone = trial.row_codes(c.codes, c.measured.rows, c.rows, c.dim);
  const ColumnMaxima columns_alone = trial.column_maxima(c.measured.columns, c.dim);
  trial.run(SwigluForward{trial.input("gate_up", gate_up), nullptr, codes_alone, columns_alone, c.rows, c.dim, false});
  trial.expect_row_codes(codes_alone, y, c.rows, c.dim);
  trial.expect_column_maxima(columns_alone, y, c.rows, c.dim);
}

void OpCheck<SwigluBackward>::run(Trial& trial, const SwigluCase& c) {
  const GradientCase values(c);
  std::vector<bf16> dgate_up;
  check_gradient(trial, c, values, Place::own, dgate_up);
  trial.expect_bf16("dgate_up", dgate_up, values.want, values.beyond);
  check_gradient(trial, c, values, Place::of_gate_up, dgate_up);
  check_gradient(trial, c, values, Place::none, dgate_up);
}

void OpCheck<SwigluBackwardCast>::run(Trial& trial, const SwigluCase& c) {
  if (!c.codes) return trial.fail("a case of a cast names no format");
  const GradientCase values(c);
  const Index cols = 2 * c.dim;
  const bf16* gate_up = trial.input("gate_up", values.gate_up);
  const bf16* dy = trial.input("dy", values.dy);
  const auto amax = reference::column_maxima(round_to_bf16(values.want), c.rows, cols);
  const ColumnCodes codes = trial.column_codes(*c.codes, amax, c.rows);
  trial.run(SwigluBackwardCast{gate_up, dy, codes, c.rows, c.dim});
  trial.expect_column_codes_near(codes, values.want, values.beyond, c.rows, cols);

  const Vector want_y = reference::swiglu_forward(reference::widen(values.gate_up), c.rows, c.dim);
  const auto y_amax = reference::column_maxima(round_to_bf16(want_y), c.rows, c.dim);
  const ColumnCodes both = trial.column_codes(*c.codes, amax, c.rows);
  const ColumnCodes activated = trial.column_codes(*c.codes, y_amax, c.rows);
  trial.run(SwigluBackwardCast{gate_up, dy, both, c.rows, c.dim, activated});
  trial.expect_column_codes_near(activated, want_y, kTiny, c.rows, c.dim);
  if (trial.supports<SwigluForward>()) {
    const auto y = trial.output<bf16>("y", c.rows * c.dim);
    trial.run(SwigluForward{gate_up, y.data(), {}, {}, c.rows, c.dim});
    trial.expect_column_codes(activated, y, c.rows, c.dim);
  }
  if (!trial.supports<SwigluBackward>()) return;
  const auto dgate_up = trial.output<bf16>("dgate_up", c.rows * cols);
  trial.run(SwigluBackward{gate_up, dy, dgate_up.data(), {}, {}, c.rows, c.dim});
  trial.expect_column_codes(codes, dgate_up, c.rows, cols);
  trial.expect_column_codes(both, dgate_up, c.rows, cols);
}

}  // namespace octet::ops::selftest
