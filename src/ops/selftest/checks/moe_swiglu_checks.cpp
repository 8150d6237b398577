// SwiGLU of routed rows against the oracle.
#include "ops/selftest/checks/moe_swiglu_checks.h"

namespace octet::ops::selftest {
namespace {

/// The operands of a case, and what the oracle makes of the rows of groups.
struct Expert {
  RoutedRows routed;
  Index dim;
  std::vector<bf16> gate_up, dy;  // [used, 2 dim], [used, dim]
  std::vector<float> weights;     // [tokens, top_k]
  Vector want_y;
  reference::GroupedSwigluGradients want;
  Vector beyond;           // that dgate_up may be off besides a rounding to bf16
  Vector beyond_dweights;  // that dweights may be off

  Expert(Trial& trial, const GroupedSwigluCase& c) : routed(trial, c.split, c.top_k), dim(c.dim) {
    gate_up = random_bf16("gate_up", routed.used * 2 * dim, 3);
    if (gate_up.size() > 8) {  // gates where exp() overflows or vanishes
      gate_up[0] = to_bf16(-100);
      gate_up[1] = to_bf16(100);
      gate_up[2] = to_bf16(-87.5F);
      gate_up[3] = to_bf16(-0.0F);
    }
    if (c.non_finite) add_non_finite(gate_up);
    dy = random_bf16("dy", routed.used * dim);
    weights = random_f32("weights", routed.tokens * c.top_k, 0.5);
    const Vector wide = reference::widen(gate_up);
    const Vector upstream = reference::widen(dy);
    const Vector wide_weights = reference::widen(weights);
    want_y = reference::grouped_swiglu(wide, wide_weights, routed.choices, dim);
    want = reference::grouped_swiglu_backward(wide, upstream, wide_weights, routed.choices, dim);
    allow(wide, upstream, wide_weights);
  }

  // silu' crosses zero where 1 and g (1 - sigmoid) cancel: terms of size weight * dy * up, both at most about 1.3 times
  // that. The gradient of a weight is a sum over the row.
  void allow(View wide, View upstream, View wide_weights) {
    beyond.assign(wide.size(), kTiny);
    beyond_dweights.assign(wide_weights.size(), kTiny);
    for (Index r = 0; r < routed.used; ++r) {
      const Index choice = routed.choices[r];
      for (Index i = 0; i < dim; ++i) {
        const double term = std::abs(upstream[r * dim + i] * wide[r * 2 * dim + dim + i]);
        const double gate = std::abs(wide[r * 2 * dim + i]);
        beyond[r * 2 * dim + i] += 16 * kRoundoffF32 * term * std::abs(wide_weights[choice]);
        beyond_dweights[choice] += static_cast<double>(dim + 16) * kRoundoffF32 * term * gate;
      }
    }
  }

  [[nodiscard]] Index spare() const { return routed.rows - routed.used; }
  [[nodiscard]] std::vector<bf16> all_gate_up() const { return with_poison(gate_up, spare() * 2 * dim); }
  [[nodiscard]] std::vector<bf16> all_dy() const { return with_poison(dy, spare() * dim); }
  [[nodiscard]] std::vector<float> all_weights() const { return with_poison(weights, 1); }
};

/// The first `used` rows of a result, where the others are as they were.
std::span<const bf16> used_rows(Trial& trial, std::string_view name, const Expert& expert, std::span<const bf16> all,
                                Index cols) {
  const auto count = static_cast<std::size_t>(expert.routed.used * cols);
  expect_untouched(trial, name, all.subspan(count));
  return all.first(count);
}

/// The values in bf16, or nowhere: their codes and maxima are those of `y`.
void check_forward(Trial& trial, const GroupedSwigluCase& c, const Expert& expert, bool stored, std::vector<bf16>& y) {
  const RoutedRows& routed = expert.routed;
  const RowCodes codes = trial.row_codes(c.codes, c.measured.rows, routed.rows, c.dim);
  const GroupMaxima columns = group_maxima(trial, c.measured.columns, routed, c.dim);
  const auto out = trial.output<bf16>("y", stored ? routed.rows * c.dim : 0);
  trial.run(GroupedSwigluForward{trial.input("gate_up", expert.all_gate_up()),
                                 trial.input("weights", expert.all_weights()), routed.choice_of_row, routed.groups,
                                 stored ? out.data() : nullptr, codes, columns, c.dim, stored});
  if (stored) {
    const auto used = used_rows(trial, "y", expert, out, c.dim);
    y.assign(used.begin(), used.end());
  }
  expect_row_codes(trial, routed, codes, y, c.dim);
  expect_group_maxima(trial, routed, columns, y, c.dim);
}

/// The gradient in a place of its own, in that of gate_up, or nowhere.
enum class Destination : std::uint8_t { own, of_gate_up, none };

void expect_dweights(Trial& trial, const Expert& expert, std::span<const float> dweights) {
  Vector got = reference::widen(dweights);
  const std::size_t choices = expert.weights.size();
  std::vector<bool> has_row(choices);
  for (const std::int32_t choice : expert.routed.choices) has_row[static_cast<std::size_t>(choice)] = true;
  std::vector<float> of_rows;
  Vector want;
  Vector allowed;
  for (std::size_t choice = 0; choice < choices; ++choice) {
    if (!has_row[choice]) {
      expect_untouched(trial, "dweights", dweights.subspan(choice, 1));
      continue;
    }
    of_rows.push_back(dweights[choice]);
    want.push_back(expert.want.dweights[choice]);
    allowed.push_back(expert.beyond_dweights[choice]);
  }
  trial.expect_near("dweights", of_rows, want, allowed);
  expect_untouched(trial, "dweights", dweights.subspan(choices));
}

void check_backward(Trial& trial, const GroupedSwigluCase& c, const Expert& expert, Destination place,
                    std::vector<bf16>& dgate_up) {
  const RoutedRows& routed = expert.routed;
  const Index cols = 2 * c.dim;
  const RowCodes codes = trial.row_codes(c.codes, c.measured.rows, routed.rows, cols);
  const GroupMaxima columns = group_maxima(trial, c.measured.columns, routed, cols);
  const auto dweights = trial.output<float>("dweights", std::ssize(expert.weights) + 1);
  const bf16* dy = trial.input("dy", expert.all_dy());
  const float* weights = trial.input("weights", expert.all_weights());
  const auto gradient = [&](const bf16* gate_up, bf16* out) {
    return GroupedSwigluBackward{
        gate_up, dy,      weights, routed.choice_of_row,      routed.groups, out, dweights.data(),
        codes,   columns, c.dim,   place != Destination::none};
  };
  if (place == Destination::of_gate_up) {
    const auto changed = trial.updated("gate_up in place", expert.all_gate_up());
    trial.run(gradient(changed.data(), changed.data()));
    trial.expect_same<bf16>("dgate_up in place", changed, with_poison(dgate_up, expert.spare() * cols));
  } else {
    const auto out = trial.output<bf16>("dgate_up", place == Destination::own ? routed.rows * cols : 0);
    trial.run(gradient(trial.input("gate_up", expert.all_gate_up()), place == Destination::own ? out.data() : nullptr));
    if (place == Destination::own) {
      const auto used = used_rows(trial, "dgate_up", expert, out, cols);
      dgate_up.assign(used.begin(), used.end());
    }
  }
  expect_dweights(trial, expert, dweights);
  expect_row_codes(trial, routed, codes, dgate_up, cols);
  expect_group_maxima(trial, routed, columns, dgate_up, cols);
}

/// What the backend's own ops make of the operands, where it has them.
struct Produced {
  bool has_y, has_gradient;
  std::vector<bf16> y, dgate_up;

  Produced(Trial& trial, const GroupedSwigluCase& c, const Expert& expert)
      : has_y(trial.supports<GroupedSwigluForward>()), has_gradient(trial.supports<GroupedSwigluBackward>()) {
    GroupedSwigluCase plain = c;
    plain.codes = std::nullopt;
    if (has_y) check_forward(trial, plain, expert, true, y);
    if (has_gradient) check_backward(trial, plain, expert, Destination::own, dgate_up);
  }
};

void check_cast(Trial& trial, const GroupedSwigluCase& c, const fp8::ScaleRule& rule, const Expert& expert,
                const Produced& produced, bool of_gradient, bool of_activation) {
  const RoutedRows& routed = expert.routed;
  GroupCodes transposed;
  GroupCodes activated;
  if (of_gradient) {
    const auto amax = routed.column_maxima(round_to_bf16(expert.want.dgate_up), 2 * c.dim);
    transposed = group_codes(trial, rule, routed, amax, 2 * c.dim);
  }
  if (of_activation) {
    const auto amax = routed.column_maxima(round_to_bf16(expert.want_y), c.dim);
    activated = group_codes(trial, rule, routed, amax, c.dim);
  }
  trial.run(GroupedSwigluCast{
      trial.input("gate_up", expert.all_gate_up()), of_gradient ? trial.input("dy", expert.all_dy()) : nullptr,
      trial.input("weights", expert.all_weights()), routed.choice_of_row, routed.groups, transposed, activated, c.dim});
  if (of_gradient) {
    expect_group_codes_near(trial, routed, transposed, expert.want.dgate_up, expert.beyond, 2 * c.dim);
    if (produced.has_gradient) expect_group_codes(trial, routed, transposed, produced.dgate_up, 2 * c.dim);
  }
  if (of_activation) {
    expect_group_codes_near(trial, routed, activated, expert.want_y, Vector(expert.want_y.size(), kTiny), c.dim);
    if (produced.has_y) expect_group_codes(trial, routed, activated, produced.y, c.dim);
  }
}

}  // namespace

void OpCheck<GroupedSwigluForward>::run(Trial& trial, const GroupedSwigluCase& c) {
  const Expert expert(trial, c);
  std::vector<bf16> y;
  check_forward(trial, c, expert, true, y);
  trial.expect_bf16("y", y, expert.want_y, kTiny);
  if (c.codes || c.measured.columns) check_forward(trial, c, expert, false, y);
}

void OpCheck<GroupedSwigluBackward>::run(Trial& trial, const GroupedSwigluCase& c) {
  const Expert expert(trial, c);
  std::vector<bf16> dgate_up;
  check_backward(trial, c, expert, Destination::own, dgate_up);
  trial.expect_bf16("dgate_up", dgate_up, expert.want.dgate_up, expert.beyond);
  check_backward(trial, c, expert, Destination::of_gate_up, dgate_up);
  check_backward(trial, c, expert, Destination::none, dgate_up);
}

void OpCheck<GroupedSwigluCast>::run(Trial& trial, const GroupedSwigluCase& c) {
  if (!c.codes) return trial.fail("a case of a cast without codes");
  const Expert expert(trial, c);
  const Produced produced(trial, c, expert);
  check_cast(trial, c, *c.codes, expert, produced, true, false);
  check_cast(trial, c, *c.codes, expert, produced, false, true);
  check_cast(trial, c, *c.codes, expert, produced, true, true);
}

}  // namespace octet::ops::selftest
