// Cross entropy and the sums against the oracle.
#include "ops/selftest/checks/loss_checks.h"

#include "ops/reference/loss.h"
#include "ops/reference/optimizer.h"

namespace octet::ops::selftest {
namespace {

constexpr double kInitialTotal = 2.5;

/// Every third row is ignored.
std::vector<std::int32_t> make_targets(const CrossEntropyCase& c) {
  auto targets = random_tokens("targets", c.rows, c.vocab);
  for (Index r = 2; r < c.rows; r += 3) targets[r] = -1;
  return targets;
}

}  // namespace

void OpCheck<CrossEntropy>::run(Trial& trial, const CrossEntropyCase& c) {
  constexpr float kGradientScale = 0.37F;
  auto before = random_bf16("logits", c.rows * c.vocab, c.spread);
  if (c.non_finite) add_non_finite(before);
  const auto targets = make_targets(c);
  const auto logits = trial.updated("logits", before);
  const auto loss = trial.output<float>("loss", c.rows);
  trial.run(CrossEntropy{logits.data(), trial.input("targets", targets), loss.data(), c.rows, c.vocab, kGradientScale,
                         c.gradient});

  const Vector wide = reference::widen(before);
  auto want = reference::cross_entropy(wide, targets, c.rows, c.vocab);
  // The sum of exponentials: `vocab` additions and the argument's rounding, which grows with the spread of the logits.
  const double largest = largest_magnitude(wide);
  const double sum_error = (static_cast<double>(c.vocab) + 4 + 2 * largest) * kRoundoffF32;
  trial.expect_near("loss", loss, want.loss, sum_error + 4 * kRoundoffF32 * largest);
  if (!c.gradient) return trial.expect_same<bf16>("logits", logits, before);
  for (double& gradient : want.dlogits) gradient *= static_cast<double>(kGradientScale);
  // Of probabilities at most 1; where the target's is nearly 1 it cancels.
  trial.expect_bf16("dlogits", logits, want.dlogits, static_cast<double>(kGradientScale) * 2 * sum_error);
}

void OpCheck<SumFloats>::run(Trial& trial, const SumCase& c) {
  constexpr double kScale = 0.3;
  auto x = random_f32("x", c.count);
  if (c.non_finite) add_non_finite(x);
  const auto total = trial.updated("total", std::vector<double>{kInitialTotal});
  trial.run(SumFloats{trial.input("x", x), total.data(), c.count, kScale});

  const Vector wide = reference::widen(x);
  const Vector want{kInitialTotal + kScale * reference::sum(wide)};
  const double terms = kInitialTotal + kScale * reference::sum(magnitudes(wide));
  // The oracle adds in double as well: its own error counts too.
  trial.expect_near("total", total, want, 2 * static_cast<double>(c.count + 2) * kRoundoffF64 * terms);
}

void OpCheck<SumOfSquares>::run(Trial& trial, const SumOfSquaresCase& c) {
  auto x = random_f32("x", c.sum.count, c.magnitude);
  if (c.sum.non_finite) add_non_finite(x);
  const double before = kInitialTotal * c.magnitude * c.magnitude;  // no more than the sum
  const RoundedInput input(trial, "x", c.dtype, x);
  const auto total = trial.updated("total", std::vector<double>{before});
  trial.run(SumOfSquares{input.data, total.data(), c.sum.count, c.dtype});

  const Vector want{before + reference::sum_of_squares(input.values)};
  trial.expect_near("total", total, want, fraction(2 * static_cast<double>(c.sum.count + 2) * kRoundoffF64, want));
}

}  // namespace octet::ops::selftest
