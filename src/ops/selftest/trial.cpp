// The rules of comparison.
#include "ops/selftest/trial.h"

#include <algorithm>
#include <limits>

namespace octet::ops::selftest {
namespace {

/// The distance from |x| to the next larger bf16; x is finite.
double ulp_bf16(double x) {
  constexpr int kMantissaBits = 8;  // the leading one included
  constexpr int kSmallestExponent = -133;
  int exponent = 0;
  (void)std::frexp(x, &exponent);
  return std::ldexp(1.0, std::max(exponent - kMantissaBits, kSmallestExponent));
}

/// Both rounding to infinity and stopping at the largest finite number lie within an ulp of what overflows.
bool overflow_matches(double got, double rounded) {
  const double largest = 0x1.FEp127;
  return std::signbit(got) == std::signbit(rounded) && std::abs(got) >= largest;
}

/// The plain cast of x [rows, cols] under the maxima of `codes`, transposed.
reference::Codes cast_columns(const ColumnCodes& codes, std::span<const bf16> x, Index rows, Index cols) {
  return reference::cast_rows(reference::transpose(x, rows, cols), {codes.amax, static_cast<std::size_t>(cols)}, cols,
                              rows, codes.rule);
}

}  // namespace

Allowance fraction(double factor, View x) {
  Vector each(x.begin(), x.end());
  for (double& value : each) value *= factor;
  return each;
}

RowCodes Trial::row_codes(const std::optional<fp8::ScaleRule>& rule, bool measured, Index rows, Index cols) {
  RowCodes codes;
  if (!rule) return codes;
  codes.rule = *rule;
  codes.wanted = true;
  codes.codes = output<std::uint8_t>("codes", rows * cols).data();
  codes.scale_inverse = output<float>("scale_inverse", rows).data();
  if (measured) codes.amax = output<bf16>("row_amax", rows).data();
  return codes;
}

ColumnCodes Trial::column_codes(const fp8::ScaleRule& rule, const std::vector<bf16>& amax, Index rows) {
  const Index cols = std::ssize(amax);
  return {.codes = output<std::uint8_t>("codes transposed", rows * cols).data(),
          .scale_inverse = output<float>("scale_inverse transposed", cols).data(),
          .amax = input("column_amax", amax),
          .rule = rule,
          .wanted = true};
}

ColumnMaxima Trial::column_maxima(bool measured, Index cols) {
  if (!measured) return {};
  return {.amax = output<bf16>("column_amax", cols).data(), .wanted = true};
}

void Trial::expect_row_codes(const RowCodes& codes, std::span<const bf16> values, Index rows, Index cols) {
  if (!codes.wanted) return;
  const reference::Codes want = reference::quantize_rows(values, rows, cols, codes.rule);
  expect_same<float>("scale_inverse", {codes.scale_inverse, want.scale_inverse.size()}, want.scale_inverse);
  expect_same<std::uint8_t>("codes", {codes.codes, want.codes.size()}, want.codes);
  if (codes.amax == nullptr) return;
  const auto maxima = reference::row_maxima(values, rows, cols);
  expect_same<bf16>("row_amax", {codes.amax, maxima.size()}, maxima);
}

void Trial::expect_column_maxima(const ColumnMaxima& columns, std::span<const bf16> values, Index rows, Index cols) {
  if (!columns.wanted) return;
  const auto maxima = reference::column_maxima(values, rows, cols);
  expect_same<bf16>("column_amax", {columns.amax, maxima.size()}, maxima);
}

void Trial::expect_column_codes(const ColumnCodes& codes, std::span<const bf16> values, Index rows, Index cols) {
  const reference::Codes want = cast_columns(codes, values, rows, cols);
  expect_same<float>("scale_inverse transposed", {codes.scale_inverse, want.scale_inverse.size()}, want.scale_inverse);
  expect_same<std::uint8_t>("codes transposed", {codes.codes, want.codes.size()}, want.codes);
}

// Casts are monotone: a code stands for a number between those of the ends of what the value may be.
void Trial::expect_column_codes_near(const ColumnCodes& codes, View want, const Allowance& beyond, Index rows,
                                     Index cols) {
  const auto end = [&](double sign) {
    std::vector<bf16> values;
    for (Index i = 0; i < std::ssize(want); ++i) {
      const double rounded = to_float(round_to_bf16(want[i]));
      const double off = std::isfinite(rounded) ? sign * (ulp_bf16(rounded) + beyond[i]) : 0;
      values.push_back(round_to_bf16(rounded + off));
    }
    return cast_columns(codes, values, rows, cols);
  };
  const reference::Codes low = end(-1);
  const fp8::Format format = codes.rule.format();
  const Vector least = reference::decode(low.codes, format);
  const Vector most = reference::decode(end(1).codes, format);
  const Vector got = reference::decode({codes.codes, least.size()}, format);
  expect_same<float>("scale_inverse transposed", {codes.scale_inverse, low.scale_inverse.size()}, low.scale_inverse);
  for (Index i = 0; i < std::ssize(got); ++i) {
    if (std::isnan(least[i]) ? std::isnan(got[i]) : least[i] <= got[i] && got[i] <= most[i]) continue;
    return fail(fmt::format("codes transposed[{}] stands for {}, expected {} to {}", i, got[i], least[i], most[i]));
  }
}

bool Trial::expect_element(std::string_view name, Index i, double got, double want, double allowed) {
  bool holds = !std::isfinite(got);
  if (std::isfinite(want)) {
    const double error = std::abs(got - want);
    holds = error <= allowed;  // false for NaN
    const double relative = error == 0 ? 0 : error / allowed;
    worst_error_ = std::max(worst_error_, std::isnan(relative) ? std::numeric_limits<double>::infinity() : relative);
  }
  if (!holds) fail(fmt::format("{}[{}] is {}, expected {} within {:.3g}", name, i, got, want, allowed));
  return holds;
}

void Trial::expect_bf16(std::string_view name, std::span<const bf16> got, View want, const Allowance& beyond) {
  for (Index i = 0; i < std::ssize(got); ++i) {
    const auto value = static_cast<double>(to_float(got[i]));
    const auto rounded = static_cast<double>(to_float(round_to_bf16(want[i])));
    if (std::isfinite(want[i]) && !std::isfinite(rounded)) {
      if (overflow_matches(value, rounded)) continue;
      return fail(fmt::format("{}[{}] is {}, expected {}", name, i, value, rounded));
    }
    if (!expect_element(name, i, value, rounded, ulp_bf16(rounded) + beyond[i])) return;
  }
}

void Trial::expect_near(std::string_view name, std::span<const float> got, View want, const Allowance& allowed) {
  for (Index i = 0; i < std::ssize(got); ++i) {
    if (!expect_element(name, i, static_cast<double>(got[i]), want[i], allowed[i])) return;
  }
}

void Trial::expect_near(std::string_view name, std::span<const double> got, View want, const Allowance& allowed) {
  for (Index i = 0; i < std::ssize(got); ++i) {
    if (!expect_element(name, i, got[i], want[i], allowed[i])) return;
  }
}

// Stochastic rounding is monotone once its random bits are chosen: what fp32 made of `want` lies between the ends of
// the allowance, hence the rounded result between the rounded ends.
void Trial::expect_stochastic(std::string_view name, std::span<const bf16> got, View want, const Allowance& allowed,
                              std::span<const std::uint16_t> random) {
  for (Index i = 0; i < std::ssize(got); ++i) {
    const float value = to_float(got[i]);
    const auto rounded = [&](double end) { return to_float(round_stochastically(static_cast<float>(end), random[i])); };
    const float least = rounded(want[i] - allowed[i]);
    const float most = rounded(want[i] + allowed[i]);
    const bool holds = std::isfinite(want[i]) ? least <= value && value <= most : !std::isfinite(value);
    if (holds) continue;
    return fail(fmt::format("{}[{}] is {}, expected {} rounded with {:#06x}, {} to {}", name, i, value, want[i],
                            random[i], least, most));
  }
}

void Trial::expect_visible(std::string_view name, std::span<const bf16> got, View want) {
  for (Index i = 0; i < std::ssize(got); ++i) {
    if (std::isfinite(want[i])) continue;
    if (!expect_element(name, i, static_cast<double>(to_float(got[i])), want[i], 0)) return;
  }
}

std::uint64_t Trial::mix_outputs(std::uint64_t digest) const {
  constexpr std::uint64_t kPrime = 0x100000001b3U;  // FNV-1a's
  for (const std::span<std::byte> bytes : outputs_) {
    for (const std::byte byte : bytes) digest = (digest ^ static_cast<std::uint8_t>(byte)) * kPrime;
  }
  return digest;
}

void Trial::look_for_damage() {
  for (const GuardedBuffer& buffer : buffers_) {
    if (std::string damage = buffer.damage(); !damage.empty()) return fail(std::move(damage));
  }
}

RoundedInput::RoundedInput(Trial& trial, std::string_view name, DType dtype, const std::vector<float>& exact) {
  if (dtype == DType::f32) {
    values = reference::widen(exact);
    data = trial.input(name, exact);
  } else {
    const std::vector<bf16> rounded = round_to_bf16(reference::widen(exact));
    values = reference::widen(rounded);
    data = trial.input(name, rounded);
  }
}

}  // namespace octet::ops::selftest
