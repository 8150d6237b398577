// AdamW, clearing and the search for NaN and infinity against the oracle.
#include "ops/selftest/checks/optimizer_checks.h"

#include <algorithm>
#include <limits>

#include "core/rounding_bits.h"
#include "ops/reference/optimizer.h"

namespace octet::ops::selftest {
namespace {

using reference::AdamWState;

constexpr float kBeta1 = 0.9F;
constexpr float kBeta2 = 0.95F;
constexpr float kAdamEps = 1e-8F;

constexpr std::uint64_t kStream = stream_of("weight");

StepScalars make_scalars(int step) {
  return {.learning_rate = 3e-3F,
          .clip_factor = 0.7F,
          .bias_correction1 = 1 - std::pow(kBeta1, static_cast<float>(step)),
          .bias_correction2 = 1 - std::pow(kBeta2, static_cast<float>(step)),
          .rounding_key = stream_of(fmt::format("step {}", step))};
}

reference::AdamWStep widen(const StepScalars& scalars, const AdamWCase& c) {
  return {.learning_rate = static_cast<double>(scalars.learning_rate) * static_cast<double>(c.lr_scale),
          .clip_factor = static_cast<double>(scalars.clip_factor),
          .bias_correction1 = static_cast<double>(scalars.bias_correction1),
          .bias_correction2 = static_cast<double>(scalars.bias_correction2),
          .beta1 = static_cast<double>(kBeta1),
          .beta2 = static_cast<double>(kBeta2),
          .eps = static_cast<double>(kAdamEps),
          .weight_decay = static_cast<double>(c.weight_decay)};
}

/// The magnitudes that a step adds up. A parameter of the other sign than its update adds to it instead of cancelling.
AdamWState step_terms(const AdamWState& before, View gradient, const reference::AdamWStep& step) {
  AdamWState aligned{magnitudes(before.parameter), magnitudes(before.m), before.v};
  for (double& value : aligned.parameter) value = -value;
  AdamWState terms = reference::adamw(aligned, magnitudes(gradient), step);
  terms.parameter = magnitudes(terms.parameter);
  return terms;
}

/// The random bits of each element, for the weight or for a moment.
std::vector<std::uint16_t> random_bits(const AdamWCase& c, std::uint64_t key, std::uint16_t RoundingBits::*which) {
  std::vector<std::uint16_t> bits;
  for (Index row = 0; row < c.all_rows(); ++row) {
    for (Index col = 0; col < c.cols; ++col) bits.push_back(rounding_bits(key, kStream, row, col, c.cols).*which);
  }
  return bits;
}

/// What the op keeps of each element in one of two dtypes: a moment, or the parameter.
class Kept {
 public:
  Kept(Trial& trial, std::string_view name, DType dtype, const std::vector<float>& initial) : name_(name) {
    if (dtype == DType::f32) {
      before_ = reference::widen(initial);
      f32_ = trial.updated(name, initial);
    } else {
      const auto rounded = round_to_bf16(reference::widen(initial));
      before_ = reference::widen(rounded);
      bf16_ = trial.updated(name, rounded);
    }
  }

  [[nodiscard]] const Vector& before() const { return before_; }
  [[nodiscard]] std::span<float> f32() const { return f32_; }
  [[nodiscard]] std::span<bf16> as_bf16() const { return bf16_; }
  [[nodiscard]] void* data() const { return f32_.empty() ? static_cast<void*>(bf16_.data()) : f32_.data(); }

  /// fp32 is `want` within `allowed`; bf16 is rounded from there with the `random` bits.
  void expect(Trial& trial, View want, const Allowance& allowed, const std::vector<std::uint16_t>& random) const {
    trial.expect_near(name_, f32_, want, allowed);
    trial.expect_stochastic(name_, bf16_, want, allowed, random);
  }

 private:
  std::string name_;
  Vector before_;
  std::span<float> f32_;  // empty where the dtype is the other
  std::span<bf16> bf16_;
};

void expect_weight_of(Trial& trial, std::span<const bf16> weight, std::span<const float> master) {
  std::vector<bf16> rounded(master.size());
  std::ranges::transform(master, rounded.begin(), to_bf16);
  trial.expect_same<bf16>("weight", weight, rounded);
}

}  // namespace

std::string AdamWCase::describe() const {
  return fmt::format(
      "{} of [{}, {}] {}, {} gradients, {} moments{}, step {}, weight decay {}, learning rate times {}{}", matrices,
      rows, cols, has_master ? "with a master" : "in bf16 alone", name(gradients), name(moments),
      measures ? ", measured" : "", step, weight_decay, lr_scale, non_finite ? ", NaN and infinity" : "");
}

void OpCheck<AdamW>::run(Trial& trial, const AdamWCase& c) {
  const Index count = c.all_rows() * c.cols;
  auto values = random_f32("gradient", count);
  if (c.non_finite) add_non_finite(values);
  const RoundedInput gradient(trial, "gradient", c.gradients, values);
  const StepScalars scalars = make_scalars(c.step);
  const Kept parameter(trial, c.has_master ? "master" : "weight", c.has_master ? DType::f32 : DType::bf16,
                       random_f32("master", count, 0.1));
  const Kept m(trial, "m", c.moments, random_f32("m", count, 0.3));
  const Kept v(trial, "v", c.moments, round_to_f32(magnitudes(reference::widen(random_f32("v", count, 0.3)))));
  const auto weight = c.has_master ? trial.output<bf16>("weight", count) : parameter.as_bf16();
  const auto row_amax = trial.output<bf16>("row_amax", c.measures ? c.all_rows() : 0);
  const auto column_amax = trial.output<bf16>("column_amax", c.measures ? c.matrices * c.cols : 0);
  trial.run(AdamW{.master = c.has_master ? parameter.f32().data() : nullptr,
                  .weight = weight.data(),
                  .gradient = gradient.data,
                  .m = m.data(),
                  .v = v.data(),
                  .scalars = trial.input("scalars", std::vector{scalars}),
                  .row_amax = c.measures ? row_amax.data() : nullptr,
                  .column_amax = c.measures ? column_amax.data() : nullptr,
                  .rows = c.rows,
                  .cols = c.cols,
                  .stream = kStream,
                  .gradients = c.gradients,
                  .moments = c.moments,
                  .has_master = c.has_master,
                  .measures = c.measures,
                  .beta1 = kBeta1,
                  .beta2 = kBeta2,
                  .eps = kAdamEps,
                  .weight_decay = c.weight_decay,
                  .lr_scale = c.lr_scale,
                  .matrices = c.matrices});

  const AdamWState before{parameter.before(), m.before(), v.before()};
  const auto step = widen(scalars, c);
  const AdamWState want = reference::adamw(before, gradient.values, step);
  const AdamWState terms = step_terms(before, gradient.values, step);
  const auto bits_of = [&](auto which) { return random_bits(c, scalars.rounding_key, which); };
  // A handful of roundings each; v squares the clipped gradient; the update divides m by the root of v.
  m.expect(trial, want.m, fraction(4 * kRoundoffF32, terms.m), bits_of(&RoundingBits::m));
  v.expect(trial, want.v, fraction(6 * kRoundoffF32, terms.v), bits_of(&RoundingBits::v));
  parameter.expect(trial, want.parameter, fraction(16 * kRoundoffF32, terms.parameter), bits_of(&RoundingBits::weight));
  if (c.has_master) expect_weight_of(trial, weight, parameter.f32());
  if (!c.measures) return;
  trial.expect_same<bf16>("row_amax", row_amax, reference::row_maxima(weight, c.all_rows(), c.cols));
  for (Index i = 0; i < c.matrices; ++i) {
    const auto of_matrix = weight.subspan(i * c.rows * c.cols, c.rows * c.cols);
    trial.expect_same<bf16>("column_amax", column_amax.subspan(i * c.cols, c.cols),
                            reference::column_maxima(of_matrix, c.rows, c.cols));
  }
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
  const RoundedInput input(trial, "x", c.dtype, x);
  const auto first = trial.output<std::int64_t>("first", 1);
  trial.run(FindNonFinite{input.data, first.data(), c.count, c.dtype});
  trial.expect_same<std::int64_t>("first", first, {c.first});
}

}  // namespace octet::ops::selftest
