// AdamW, clearing and the search for NaN and infinity against the oracle.
#include "ops/selftest/checks/optimizer_checks.h"

#include <algorithm>
#include <limits>

#include "ops/reference/optimizer.h"

namespace octet::ops::selftest {
namespace {

using reference::AdamWState;

constexpr float kBeta1 = 0.9F;
constexpr float kBeta2 = 0.95F;
constexpr float kAdamEps = 1e-8F;

StepScalars make_scalars(int step) {
  return {.learning_rate = 3e-3F,
          .clip_factor = 0.7F,
          .bias_correction1 = 1 - std::pow(kBeta1, static_cast<float>(step)),
          .bias_correction2 = 1 - std::pow(kBeta2, static_cast<float>(step))};
}

reference::AdamWStep widen(const StepScalars& scalars, float weight_decay) {
  return {.learning_rate = static_cast<double>(scalars.learning_rate),
          .clip_factor = static_cast<double>(scalars.clip_factor),
          .bias_correction1 = static_cast<double>(scalars.bias_correction1),
          .bias_correction2 = static_cast<double>(scalars.bias_correction2),
          .beta1 = static_cast<double>(kBeta1),
          .beta2 = static_cast<double>(kBeta2),
          .eps = static_cast<double>(kAdamEps),
          .weight_decay = static_cast<double>(weight_decay)};
}

/// The magnitudes that a step adds up. A master of the other sign than its update adds to it instead of cancelling.
AdamWState step_terms(const AdamWState& before, View gradient, const reference::AdamWStep& step) {
  AdamWState aligned{magnitudes(before.master), magnitudes(before.m), before.v};
  for (double& value : aligned.master) value = -value;
  AdamWState terms = reference::adamw(aligned, magnitudes(gradient), step);
  terms.master = magnitudes(terms.master);
  return terms;
}

}  // namespace

void OpCheck<AdamW>::run(Trial& trial, const AdamWCase& c) {
  const auto master0 = random_f32("master", c.count, 0.1);
  auto gradient = random_f32("gradient", c.count);
  const auto m0 = random_f32("m", c.count, 0.3);
  const auto v0 = round_to_f32(magnitudes(reference::widen(random_f32("v", c.count, 0.3))));
  if (c.non_finite) add_non_finite(gradient);
  const StepScalars scalars = make_scalars(c.step);
  const auto master = trial.updated("master", master0);
  const auto weight = trial.output<bf16>("weight", c.count);
  const auto m = trial.updated("m", m0);
  const auto v = trial.updated("v", v0);
  trial.run(AdamW{master.data(), weight.data(), trial.input("gradient", gradient), m.data(), v.data(),
                  trial.input("scalars", std::vector{scalars}), c.count, kBeta1, kBeta2, kAdamEps, c.weight_decay});

  const AdamWState before{reference::widen(master0), reference::widen(m0), reference::widen(v0)};
  const Vector wide_gradient = reference::widen(gradient);
  const auto step = widen(scalars, c.weight_decay);
  const AdamWState want = reference::adamw(before, wide_gradient, step);
  const AdamWState terms = step_terms(before, wide_gradient, step);
  // A handful of roundings each; v squares the clipped gradient; the update divides m by the root of v.
  trial.expect_near("m", m, want.m, fraction(4 * kRoundoffF32, terms.m));
  trial.expect_near("v", v, want.v, fraction(6 * kRoundoffF32, terms.v));
  trial.expect_near("master", master, want.master, fraction(16 * kRoundoffF32, terms.master));
  std::vector<bf16> rounded(master.size());
  std::ranges::transform(master, rounded.begin(), to_bf16);
  trial.expect_same<bf16>("weight", weight, rounded);
}

void OpCheck<Zero>::run(Trial& trial, const ZeroCase& c) {
  const auto data = trial.output<std::uint8_t>("data", c.bytes);
  trial.run(Zero{data.data(), c.bytes});
  trial.expect_same<std::uint8_t>("data", data, std::vector<std::uint8_t>(data.size()));
}

void OpCheck<FindNonFinite>::run(Trial& trial, const FindNonFiniteCase& c) {
  auto x = random_f32("x", c.count);
  if (c.first >= 0) {  // a NaN at the place, an infinity behind it
    x.back() = -std::numeric_limits<float>::infinity();
    x[c.first] = std::numeric_limits<float>::quiet_NaN();
  }
  const void* data = c.dtype == DType::f32 ? static_cast<const void*>(trial.input("x", x))
                                           : trial.input("x", round_to_bf16(reference::widen(x)));
  const auto first = trial.output<std::int64_t>("first", 1);
  trial.run(FindNonFinite{data, first.data(), c.count, c.dtype});
  trial.expect_same<std::int64_t>("first", first, {c.first});
}

}  // namespace octet::ops::selftest
