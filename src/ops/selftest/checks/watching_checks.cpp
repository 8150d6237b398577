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

/// As an input of the op's dtype, and what that holds.
template <typename T>
const T* put(Trial& trial, std::string_view name, const std::vector<T>& values, Vector& wide) {
  wide = reference::widen(values);
  return trial.input(name, values);
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
  Vector wide_wanted;
  Vector wide_x;
  const void* wanted_data = nullptr;
  const void* x_data = nullptr;
  if (c.dtype == DType::f32) {
    wanted_data = put(trial, "reference", wanted, wide_wanted);
    x_data = put(trial, "x", x, wide_x);
  } else {
    wanted_data = put(trial, "reference", round_to_bf16(reference::widen(wanted)), wide_wanted);
    x_data = put(trial, "x", round_to_bf16(reference::widen(x)), wide_x);
  }
  trial.run(Difference{wanted_data, x_data, energies.data(), c.count, c.dtype});

  const reference::Energies sums = reference::difference(wide_wanted, wide_x);
  const Vector want{kInitialSignal + sums.signal, kInitialNoise + sums.noise};
  // The oracle adds in double as well: its own error counts too.
  trial.expect_near("energies", energies, want, fraction(2 * static_cast<double>(c.count + 3) * kRoundoffF64, want));
}

}  // namespace octet::ops::selftest
