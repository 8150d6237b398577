// Copies byte by byte, differences against the oracle.
#include "ops/selftest/checks/watching_checks.h"

#include "ops/reference/difference.h"

namespace octet::ops::selftest {
namespace {

/// Added to, not written.
constexpr double kInitialSignal = 1.5;
constexpr double kInitialNoise = 0.25;

std::vector<std::uint8_t> random_bytes(Index count) {
  std::vector<std::uint8_t> bytes;
  for (const std::int32_t token : random_tokens("bytes", count, 256)) bytes.push_back(static_cast<std::uint8_t>(token));
  return bytes;
}

}  // namespace

void OpCheck<Copy>::run(Trial& trial, const CopyCase& c) {
  const auto bytes = random_bytes(c.bytes);
  const auto to = trial.output<std::uint8_t>("to", c.bytes);
  trial.run(Copy{trial.input("from", bytes), to.data(), c.bytes});
  trial.expect_same<std::uint8_t>("to", to, bytes);
}

void OpCheck<Difference>::run(Trial& trial, const DifferenceCase& c) {
  const auto wanted = random_f32("reference", c.count);
  auto x = random_f32("x", c.count, c.distance);
  for (Index i = 0; i < c.count; ++i) x[i] += wanted[i];
  if (c.non_finite) add_non_finite(x);
  const auto energies = trial.updated("energies", std::vector<double>{kInitialSignal, kInitialNoise});
  const RoundedInput expected(trial, "reference", c.dtype, wanted);
  const RoundedInput compared(trial, "x", c.dtype, x);
  trial.run(Difference{expected.data, compared.data, energies.data(), c.count, c.dtype});

  const reference::Energies sums = reference::difference(expected.values, compared.values);
  const Vector want{kInitialSignal + sums.signal, kInitialNoise + sums.noise};
  // The oracle adds in double as well: its own error counts too.
  trial.expect_near("energies", energies, want, fraction(2 * static_cast<double>(c.count + 3) * kRoundoffF64, want));
}

}  // namespace octet::ops::selftest
